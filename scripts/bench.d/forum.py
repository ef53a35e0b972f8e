"""--large, too: the forum itself with 1,000,000 topics and 10,000,000 comments, asked by one client, who is a stranger or a
member; and what page 1,000 costs by cursor."""
import contextlib
import http.client
import json
import os
import statistics
import sys
import time
import unicodedata
from pathlib import Path
from urllib.parse import quote

import members
import report
from load import Costs, wrk
from scenarios import Scenario, pointer
from server import API, ROOT, Hermes, Program, free_port, headers, say, stop

sys.path.insert(0, str(ROOT / "scripts"))
import indexes  # noqa: E402
from forum_texts import Texts, mix  # noqa: E402

MEMBERS = 100_000
COMMENTS_OF_A_TOPIC = 10
# Nine topics have one comment in 33 of all: with 10,000,000 more than 30,000 each, which is 1,500 pages.
HOT, OTHERS = 9, 33
TEXTS = 20_000
BEGIN = ["SET statement_timeout = 0", "SET maintenance_work_mem = '1GB'", "SET work_mem = '256MB'",
         "SET synchronous_commit = off"]
DEEP = 1000
GROWTH = 1.2
VIEWERS = ("stranger", "member")


# Filling

def fill(hermes, count, me):
    """Rows as the forum's own rules write them. A topic is opened by the tenth comment; comments come to new topics more
    than to old ones, and to every tenth topic most of all."""
    say(f"forum: {MEMBERS:,} members")
    members.add(hermes, MEMBERS)
    tools(hermes, count)
    say(f"forum: {count:,} comments")
    with without_indexes(hermes, "Comentarios", known_words(hermes)):
        fill_comments(hermes, count)
    hermes.sql(*BEGIN, 'VACUUM (ANALYZE) "Comentarios"')
    say(f"forum: {count // COMMENTS_OF_A_TOPIC:,} topics")
    with without_indexes(hermes, "Temas"):
        fill_topics(hermes, count // COMMENTS_OF_A_TOPIC)
    say("forum: who has read what")
    with without_indexes(hermes, "Lecturas"):
        fill_readings(hermes, count, me)
    hermes.sql("DROP SCHEMA bench CASCADE", "SET statement_timeout = 0", "VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")


@contextlib.contextmanager
def without_indexes(hermes, table, making=contextlib.nullcontext()):
    drops, makes = indexes.of(table, hermes.sql)
    hermes.sql(*drops)
    yield
    with making:
        for number, make in enumerate(makes, 1):
            say(f"forum: index {number} of {len(makes)} of {table}")
            hermes.sql(*BEGIN, make)


@contextlib.contextmanager
def known_words(hermes):
    """The comments are few texts, many times each: their words are looked for once, or the index of all words would take
    an hour."""
    definition = hermes.sql("SELECT pg_get_functiondef('hermes_words(text, regconfig, regconfig)'::regprocedure)")
    hermes.sql(
        """CREATE TABLE bench.words AS SELECT DISTINCT ON (text) text, hermes_words(text, 'spanish', 'english') AS words
            FROM bench.texts""",
        "CREATE UNIQUE INDEX ON bench.words (text)", "ANALYZE bench.words",
        """CREATE OR REPLACE FUNCTION hermes_words(text, regconfig, regconfig) RETURNS tsvector LANGUAGE sql
            IMMUTABLE PARALLEL SAFE STRICT AS $$ SELECT words FROM bench.words WHERE text = $1 COLLATE "default" $$""")
    try:
        yield
    finally:
        hermes.sql("\n".join(definition))


def tools(hermes, count):
    """Functions and tables for the filling."""
    folder = hermes.folder
    texts = Texts(1)
    titles = texts.titles["es"] + texts.titles["en"]
    (folder / "titles.tsv").write_text("".join(f"{n}\t{title}\t{plain(title)}\n" for n, title in enumerate(titles)))
    (folder / "texts.tsv").write_text("".join(f"{n}\t{texts.comment(mix(1, 2, n))}\n" for n in range(TEXTS)))
    hermes.sql(
        "CREATE SCHEMA bench",
        "CREATE TABLE bench.titles (n int PRIMARY KEY, title text, plain text)",
        "CREATE TABLE bench.texts (n int PRIMARY KEY, text text)",
        f"COPY bench.titles FROM '{folder}/titles.tsv'", f"COPY bench.texts FROM '{folder}/texts.tsv'",
        "ANALYZE bench.titles, bench.texts",
        # Ten letters and digits that look drawn by chance.
        """CREATE FUNCTION bench.id(kind text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT left(translate(encode(decode(md5(kind || n::text), 'hex'), 'base64'), '+/', 'Aa'), 10) $$""",
        # From 0 to 1, another one for each `kind`.
        """CREATE FUNCTION bench.chance(kind int, n bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
            SELECT (hashint8extended(n, kind) & 1048575)::float8 / 1048576 $$""",
        # A few members write most of what is written.
        f"""CREATE FUNCTION bench.author(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT 'u' || lpad((1 + floor({MEMBERS} * bench.chance(1, n) ^ 2))::int::text, 9, '0') $$""",
        # Within four years.
        f"""CREATE FUNCTION bench.moment(n bigint) RETURNS timestamptz(3) LANGUAGE sql STABLE AS $$
            SELECT timestamptz 'epoch' + (({time.time() - 3600} - 126230400) + n * {126230400 / count}::float8)
                * interval '1 second' $$""")


def fill_comments(hermes, count):
    hermes.sql(
        *BEGIN,
        f"""INSERT INTO "Comentarios" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Tema", "usuario",
                "comentario", "fecha", "oculto")
            SELECT bench.id('c', n), moment, moment,
                CASE WHEN hidden THEN ARRAY['role:moderadores', author] ELSE ARRAY['*', 'role:moderadores', author] END,
                CASE WHEN hidden THEN ARRAY['role:moderadores'] ELSE ARRAY['role:moderadores', author] END,
                bench.id('t', CASE WHEN n % {COMMENTS_OF_A_TOPIC} = 0 THEN newest
                    WHEN n % {OTHERS} = 1 AND newest >= {HOT} THEN n / {OTHERS} % {HOT}
                    WHEN bench.chance(2, n) < 0.5 THEN recent / 10 * 10 ELSE recent END),
                author, (SELECT text FROM bench.texts AS t (place, text)
                    WHERE place = floor(bench.chance(5, n) * {TEXTS})::int), moment, hidden
            FROM generate_series(0, {count - 1}) AS n,
                LATERAL (SELECT bench.moment(n) AS moment, bench.author(n) AS author, n / {COMMENTS_OF_A_TOPIC} AS newest,
                    n / {COMMENTS_OF_A_TOPIC} - floor(n / {COMMENTS_OF_A_TOPIC} * bench.chance(3, n) ^ 4)::int AS recent,
                    n % 1009 = 7 AND n % {COMMENTS_OF_A_TOPIC} > 0 AS hidden) AS row""")


def fill_topics(hermes, count):
    titles = int(hermes.sql("SELECT count(*) FROM bench.titles")[0])
    hermes.sql(
        *BEGIN,
        f"""INSERT INTO "Temas" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Tema", "clave", "autor",
                "comentarios", "ultimo", "ultimoAutor", "cerrado", "fijado")
            SELECT id, opened, opened, ARRAY['*'], ARRAY['role:moderadores', author], title || ' (' || t.n || ')',
                plain || ' (' || t.n || ')', author, visible, latest."fecha", latest."usuario", t.n % 100 = 7,
                t.n IN ({count // 3}, {count // 2}, {count - 9})
            FROM (SELECT "Tema" AS id, count(*) FILTER (WHERE NOT "oculto") AS visible FROM "Comentarios" GROUP BY 1) AS counts
                JOIN (SELECT n, bench.id('t', n) AS id, bench.author(n * {COMMENTS_OF_A_TOPIC}) AS author,
                    bench.moment(n * {COMMENTS_OF_A_TOPIC}) AS opened FROM generate_series(0, {count - 1}) AS n) AS t USING (id)
                JOIN bench.titles ON titles.n = t.n % {titles}
                CROSS JOIN LATERAL (SELECT "fecha", "usuario" FROM "Comentarios" WHERE "Tema" = id AND NOT "oculto"
                    ORDER BY "fecha" DESC LIMIT 1) AS latest
            ORDER BY opened""")


def fill_readings(hermes, count, me):
    hermes.sql(
        *BEGIN,
        # Who writes has read: of the last fifth of what was written. The member who asks has read every tenth topic.
        f"""INSERT INTO "Lecturas" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "usuario", "tema", "vistos")
            SELECT bench.id('l', row_number() OVER ()), now(), now(), '{{}}', '{{}}', reader, topic,
                greatest(1, "comentarios" - abs(hashtext(topic)) % 4)
            FROM (SELECT "usuario" AS reader, "Tema" AS topic FROM "Comentarios"
                    WHERE "fecha" >= bench.moment({count * 4 // 5})
                UNION SELECT '{me}', bench.id('t', n) FROM generate_series(0, {count // COMMENTS_OF_A_TOPIC - 1}, 10) AS n) AS readings
                JOIN "Temas" ON "objectId" = topic""")


def plain(name):
    """A name as the forum compares it, without case and accents; ñ is a letter of its own."""
    return "".join(c if c == "ñ" else "".join(p for p in unicodedata.normalize("NFD", c) if unicodedata.category(p) != "Mn")
                   for c in name.lower())


def open_forum(options):
    """The forum, filled, or as it was left; the session of a member."""
    hermes = Hermes(options.program, Path(options.keep) / "forum" if options.keep else None, more=["--app", "forum"])
    try:
        filled = hermes.folder / "filled"
        if not filled.exists():
            session = members.sign_up(hermes, 1)[0]
            fill(hermes, options.comments, hermes.sql("""SELECT "objectId" FROM "_User" WHERE "username" = 'autor0'""")[0])
            filled.write_text(session)
            hermes.restart()
        say("forum: reading it into PostgreSQL's cache")
        hermes.prewarm()
        return hermes, filled.read_text()
    except BaseException:
        hermes.close()
        raise


# Measuring

def find(class_name, cursor=None, where=None):
    """As the forum's clients ask: order, limit and what is included are the class's own."""
    parts = [f"where={quote(json.dumps(where, separators=(',', ':')))}"] if where else []
    parts += [f"cursor={cursor}"] if cursor is not None else []
    return ("GET", f"{API}/classes/{class_name}" + (f"?{'&'.join(parts)}" if parts else ""), None)


def walk(hermes, class_name, pages, where=None):
    """The cursor of page number `pages`, which nobody knows who has not seen those before it."""
    cursor = ""
    for number in range(pages - 1):
        cursor = hermes.request(*find(class_name, cursor, where))["cursor"]
        if cursor is None:
            stop(f"{class_name} have only {number + 1} pages")
    return cursor


def scenarios(hermes, comments):
    def of_topic(id):
        return {"Tema": pointer("Temas", id)}
    topics = hermes.sql("""SELECT "objectId" FROM "Temas" WHERE "comentarios" BETWEEN 20 AND 200 ORDER BY md5("objectId") LIMIT 1000""")
    hot = hermes.sql(f"""SELECT "objectId" FROM "Temas" ORDER BY "comentarios" DESC LIMIT {HOT}""")
    topic_pages = min(DEEP, comments // COMMENTS_OF_A_TOPIC // 50)
    pages = min(DEEP, comments // OTHERS // HOT // 25)
    say(f"forum: going to page {topic_pages:,} of the topics and page {pages:,} of {len(hot)} topics")
    deep = [find("Comentarios", walk(hermes, "Comentarios", pages, of_topic(i)), of_topic(i)) for i in hot]
    return [
        Scenario("topics", "50 topics", [find("Temas")], target=5),
        Scenario("topics first", "50 topics, page 1 by cursor", [find("Temas", "")], target=5),
        Scenario("topics deep", f"50 topics, page {topic_pages:,} by cursor",
                 [find("Temas", walk(hermes, "Temas", topic_pages))], target=5),
        Scenario("comments", "20 comments of a topic", [find("Comentarios", where=of_topic(i)) for i in topics], target=3),
        Scenario("comments first", "20 comments, page 1 by cursor",
                 [find("Comentarios", "", of_topic(i)) for i in hot], target=3),
        Scenario("comments deep", f"20 comments, page {pages:,} by cursor", deep, target=3),
    ]


def own_time(hermes, scenario, session):
    """Milliseconds: the 99th percentile of the scenario's pages, each by the median of nine answers. What the machine adds
    now and then is not in it; a page that is slow by itself is."""
    connection, sent = http.client.HTTPConnection("127.0.0.1", hermes.port, timeout=60), headers(session)

    def once(method, path, body):
        began = time.perf_counter()
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            stop(f"{path}: {response.status}")
        return (time.perf_counter() - began) * 1000
    pages = scenario.requests[:200]
    rounds = [[once(*page) for page in pages] for _ in range(10)][1:]
    connection.close()
    times = sorted(statistics.median(times) for times in zip(*rounds))
    return times[len(times) * 99 // 100]


def run(options, versions, machine):
    hermes, session = open_forum(options)
    hello = None
    try:
        asked, rounds = scenarios(hermes, options.comments), {}
        costs = Costs(cpu=hermes.program.cpu_seconds, postgres=hermes.postgres_cpu_seconds)
        # What this machine makes of an answer that takes no work at all, in the same rounds.
        port = free_port()
        hello = Program([ROOT / ".build/release/hello", str(port), str(os.cpu_count())])
        hello.wait_ready(port, "/")
        bare = Scenario("hello", "bare hello", [("GET", "/", None)], signed_in=False)
        bare.write(hermes.folder, None)
        # Round 0 only fills what caches are left.
        for number in range(options.rounds + 1):
            for viewer in VIEWERS:
                say(f"round {number} of {options.rounds}: bare hello")
                figures = Costs(cpu=hello.cpu_seconds).of(lambda: wrk(port, bare.file, 1, options.seconds if number else 1))
                if number:
                    rounds.setdefault((None, bare.key), []).append(figures)
                for scenario in asked:
                    say(f"round {number} of {options.rounds}, a {viewer}: {scenario.title}")
                    scenario.write(hermes.folder, session if viewer == "member" else None)
                    figures = costs.of(lambda: wrk(hermes.port, scenario.file, 1, options.seconds if number else 1))
                    if number:
                        rounds.setdefault((viewer, scenario.key), []).append(figures)

        own = {(viewer, s.key): own_time(hermes, s, session if viewer == "member" else None)
               for s in asked for viewer in VIEWERS}

        def of(viewer, key, name):
            return statistics.median(figures[name] for figures in rounds[viewer, key])

        def growth(viewer, key):
            """How many times as long a deep page takes as the first one, round by round."""
            first = rounds[viewer, key.replace("deep", "first")]
            return statistics.median(d["p50"] / f["p50"] for d, f in zip(rounds[viewer, key], first))
        rows = [{"key": bare.key, "title": bare.title, "target": None, "viewer": None,
                 **{name: of(None, bare.key, name) for name in ("p50", "p99", "cpu")}}]
        rows += [{"key": s.key, "title": s.title, "target": s.target, "viewer": viewer,
                  **{name: of(viewer, s.key, name) for name in ("p50", "p99", "cpu", "postgres")},
                  "own": own[viewer, s.key],
                  **({"growth": growth(viewer, s.key)} if s.key.endswith("deep") else {})}
                 for s in asked for viewer in VIEWERS]
        return {**versions(hermes, options, machine), "rows": rows, "comments": options.comments,
                "size": int(hermes.sql("SELECT pg_database_size('hermes')")[0]),
                "measured": [{"viewer": v, "key": k, **m} for (v, k), ms in rounds.items() for m in ms]}
    finally:
        if hello:
            hello.end()
        hermes.close()


HEAD = ["request", "who asks", "p50, ms", "p99, ms", "target: p99 under, ms", "p99 of each page's median, ms",
        "Hermes, µs", "PostgreSQL, µs", "times as long as page 1"]


def cells(row):
    return [row["title"], f"a {row['viewer']}" if row["viewer"] else "", report.time(row["p50"]), report.time(row["p99"]),
            str(row["target"] or ""), report.time(row["own"]) if "own" in row else "",
            report.micro(row, "cpu"), report.micro(row, "postgres"), f"{row['growth']:.2f}" if "growth" in row else ""]


def table(result):
    return "\n".join(report.text_table([HEAD] + [cells(row) for row in result["rows"]]))


def markdown(result):
    return "\n\n".join([
        f"{report.circumstances(result)} One client; {result['comments'] // COMMENTS_OF_A_TOPIC:,} topics and "
        f"{result['comments']:,} comments, a database of {report.size(result['size'])}.",
        report.markdown_table([HEAD] + [cells(row) for row in result["rows"]])])


def missed(result):
    found = [f"{row['title']}, a {row['viewer']}: the 99th percentile is {row['p99']:.2f} ms, not under {row['target']} ms"
             for row in result["rows"] if row["target"] and row["p99"] >= row["target"]]
    return found + [f"{row['title']}, a {row['viewer']}: takes {row['growth']:.2f} times as long as page 1, not {GROWTH} at most"
                    for row in result["rows"] if row.get("growth", 0) > GROWTH]
