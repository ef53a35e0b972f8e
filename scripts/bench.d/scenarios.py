"""What is asked: a scenario is one entry of `standard` or `large`."""
import json
from dataclasses import dataclass
from urllib.parse import quote

from server import API, headers

MEMBERS, TOPICS, COMMENTS = 200, 1000, 100_000
# Topics get ids that are numbers, which pgbench can draw by chance, and one minute each.
FIRST = 1_000_000_001
BEGIN = "2024-01-01T00:00:00Z"


@dataclass
class Scenario:
    key: str
    title: str
    requests: list  # (method, path, body)
    target: float = None  # the least share of the yardstick's rate at 64 clients
    signed_in: bool = True
    base: str = "sql"  # the yardstick: the SQL of the same name, or bcrypt
    only_most_clients: bool = False
    tidy: tuple = ()  # SQL that takes back what it wrote, so that the next round meets the same database

    def write(self, folder, session):
        """The requests as a Lua table, for wrk."""
        def text(value):
            return "nil" if value is None else '"' + "".join(
                chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03d}" for b in value.encode()) + '"'
        self.file = folder / f"{self.key.replace(' ', '-')}.lua"
        self.session = session if self.signed_in else None
        head = ", ".join(f"[{text(k)}] = {text(v)}" for k, v in headers(self.session).items())
        lines = [f"  {{{text(m)}, {text(p)}, {text(b)}}}," for m, p, b in self.requests]
        self.file.write_text("return { headers = {" + head + "}, requests = {\n" + "\n".join(lines) + "\n} }\n")


def pointer(class_name, object_id):
    return {"__type": "Pointer", "className": class_name, "objectId": object_id}


def date(iso):
    return {"__type": "Date", "iso": iso}


def get(class_name, object_id):
    return ("GET", f"{API}/classes/{class_name}/{object_id}", None)


def find(class_name, order, limit, where=None, skip=0, include=None):
    parts = [f"order={order}", f"limit={limit}"]
    if where:
        parts.insert(0, "where=" + quote(json.dumps(where, separators=(",", ":"))))
    if skip:
        parts.append(f"skip={skip}")
    if include:
        parts.append(f"include={include}")
    return ("GET", f"{API}/classes/{class_name}?{'&'.join(parts)}", None)


def create_comment(number, topic):
    return ("POST", f"{API}/classes/Comentarios", json.dumps({
        "Texto": f"El tramo {number} está embarrado; mejor por la carretera vieja.", "Tema": pointer("Temas", topic),
        "Votos": 0, "ACL": {"*": {"read": True}, "role:moderadores": {"read": True, "write": True}}}))


# The comments that `seed` makes are older.
NO_NEW_COMMENTS = ("""DELETE FROM "Comentarios" WHERE "createdAt" > '2025-06-01'""", 'VACUUM "Comentarios"', "CHECKPOINT")


def pages():
    """The moments that 1,000 pages of 50 topics begin at; every one is full."""
    for number in range(1000):
        second = 50 * 60 + number * 57
        yield f"2024-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.000Z"


def standard(names):
    # Spread, so that neighbours in time aren't neighbours in the table.
    ids = [str(FIRST + n * 577 % TOPICS) for n in range(TOPICS)]
    passwords = [(name, f"viaje-{name.rsplit('.', 1)[1]}") for name in names]
    return [
        Scenario("get", "get by id", [get("Temas", i) for i in ids], target=0.50),
        Scenario("find", "50 topics",
                 [find("Temas", "-createdAt", 50, {"createdAt": {"$lte": date(moment)}}) for moment in pages()],
                 target=0.55),
        Scenario("comments", "20 comments with authors",
                 [find("Comentarios", "createdAt", 20, {"Tema": pointer("Temas", i)}, include="Autor") for i in ids],
                 target=0.50),
        Scenario("create", "create", [create_comment(n, i) for n, i in enumerate(ids)], target=0.55, tidy=NO_NEW_COMMENTS),
        Scenario("update", "update", [("PUT", f"{API}/classes/Temas/{i}", '{"Votos":{"__op":"Increment","amount":1}}')
                                      for i in ids], target=0.75, tidy=('VACUUM "Temas"', "CHECKPOINT")),
        Scenario("login", "log-in",
                 [("POST", f"{API}/login", json.dumps({"username": u, "password": p})) for u, p in passwords],
                 target=0.9, signed_in=False, base="bcrypt", tidy=('VACUUM "_Session"',)),
        Scenario("same get", "get by id, identical requests", [get("Temas", FIRST)], only_most_clients=True),
        Scenario("same find", "50 newest topics, identical requests", [find("Temas", "-createdAt", 50)],
                 only_most_clients=True),
    ]


def large(hermes):
    """Requests that must not become slower with the number of objects: the same in a small forum and in a large one."""
    topics = hermes.sql("""SELECT "Tema" FROM "Comentarios" GROUP BY 1 HAVING count(*) >= 420 ORDER BY md5("Tema") LIMIT 1000""")
    authors = hermes.sql("""SELECT "objectId" FROM "_User" u ORDER BY md5("objectId") LIMIT 1000""")
    moments = hermes.sql("""SELECT to_char("createdAt" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM (SELECT
        "createdAt" FROM "Temas" ORDER BY "createdAt" OFFSET 50) t ORDER BY md5("createdAt"::text) LIMIT 1000""")
    # By chance, but without reading ten million rows.
    comments = hermes.sql("""SELECT "objectId" FROM (SELECT md5(n::text) AS md5 FROM generate_series(1, 1000) n) drawn
        CROSS JOIN LATERAL (SELECT "objectId" FROM "Comentarios" WHERE "objectId" >= left(md5, 4) COLLATE "C"
        ORDER BY "objectId" LIMIT 1) c""")

    def of_topic(order, skip=0):
        return [find("Comentarios", order, 20, {"Tema": pointer("Temas", i)}, skip, "Autor") for i in topics]
    return [
        Scenario("get", "get by id", [get("Comentarios", i) for i in comments]),
        Scenario("topics", "50 topics", [find("Temas", "-createdAt", 50, {"createdAt": {"$lte": date(m)}}) for m in moments]),
        Scenario("newest of topic", "newest 20 comments of a topic, with authors", of_topic("-createdAt")),
        Scenario("oldest of topic", "oldest 20 comments of a topic, with authors", of_topic("createdAt")),
        Scenario("page 20", "page 20 of a topic, with authors", of_topic("-createdAt", skip=380)),
        Scenario("of author", "newest 20 comments of an author",
                 [find("Comentarios", "-createdAt", 20, {"Autor": pointer("_User", i)}) for i in authors]),
        Scenario("newest", "newest 20 comments, page 1 to 50",
                 [find("Comentarios", "-createdAt", 20, skip=page * 20) for page in range(50)]),
        Scenario("create", "create", [create_comment(n, i) for n, i in enumerate(topics)], tidy=NO_NEW_COMMENTS),
    ]
