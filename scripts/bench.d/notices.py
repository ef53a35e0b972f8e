"""--notices: what opening a topic costs where 10 members are told of it and where 100,000 are, when those are told, and
what becomes of it when the server is killed in the middle."""
import json
import statistics
import time

import report
from server import API, Hermes, say, stop

AUTHORS = 10
# Of a forum at rest, and of one that is busy with the notices of the topics before.
AT_REST, BUSY = 8, 4
# One member in ten wants no notices.
WILLING = "n % 10 > 0"
LIMIT, TARGET = 60, 1.5


class Forum:
    def __init__(self, options):
        self.hermes = Hermes(options.program, more=["--app", "forum"])
        self.opened = 0

    def sign_up(self):
        """The authors: members who have been here for a day, so that the limits of new ones are not theirs."""
        self.sessions = []
        for number in range(AUTHORS):
            made = self.hermes.request("POST", f"{API}/functions/registrar", json.dumps({
                "usuario": f"autor{number}", "contraseña": "viaje-2026", "correo": f"autor{number}@example.com",
                "nombre": "Ana", "movil": "600100200", "ciudad": "Soria"}))
            self.sessions.append(made["result"]["sessionToken"])
        self.hermes.sql("""UPDATE "_User" SET "createdAt" = now() - interval '2 days'""")
        self.hermes.request("POST", f"{API}/jobs/ascender", "{}", master=True)
        self.wait()

    def fill(self, members):
        """So many members in all, past all rules."""
        self.hermes.sql(
            f"""INSERT INTO "_User" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "username", "email", "clave")
                SELECT 'u' || lpad(n::text, 9, '0'), now(), now(), ARRAY['*'], ARRAY['u' || lpad(n::text, 9, '0')],
                    'socio' || n, 'socio' || n || '@example.com', 'socio' || n
                FROM generate_series(1, {members - AUTHORS}) AS n""",
            f"""INSERT INTO "Persona" ("objectId", "createdAt", "updatedAt", "usuario", "avisos", "localizable", "Nombre",
                    "ciudad", "Correo", "Movil", "idioma")
                SELECT 'p' || md5(n::text), now(), now(), 'u' || lpad(n::text, 9, '0'), {WILLING}, true, 'Luz', 'Jaca',
                    'socio' || n || '@example.com', '600' || lpad(n::text, 6, '0'), 'es'
                FROM generate_series(1, {members - AUTHORS}) AS n""",
            "VACUUM ANALYZE", "CHECKPOINT")

    def open(self):
        """Opens a topic; its id, and the milliseconds until the answer."""
        self.opened += 1
        body = json.dumps({"tema": f"Rincones de la provincia número {self.opened}", "comentario": f"¿Qué tal {self.opened}?"})
        began = time.perf_counter()
        made = self.hermes.request(
            "POST", f"{API}/functions/abrirTema", body, self.sessions[self.opened % AUTHORS])
        return made["result"]["tema"], (time.perf_counter() - began) * 1000

    def wait(self, patience=600):
        """Until no job is left to do."""
        until = time.monotonic() + patience
        while int(self.hermes.sql(
                """SELECT count(*) FROM "_Job" WHERE "kind" = 'parse' AND "state" IN ('waiting', 'running')""")[0]):
            if time.monotonic() > until:
                stop(f"the notices are not finished after {patience} s")
            time.sleep(0.05)

    def seconds(self, topic):
        """How long after the topic the last of its notices came."""
        return float(self.hermes.sql(
            f"""SELECT extract(epoch FROM max(a."createdAt") - max(t."createdAt")) FROM "Avisos" a, "Temas" t
                WHERE a."objeto" = '{topic}' AND t."objectId" = '{topic}'""")[0])

    def faults(self, topic):
        """What is wrong with the notices of a topic: who has none, more than one, or did not want it."""
        rows = self.hermes.sql(
            f"""SELECT count(*) FILTER (WHERE wanted AND told = 0), count(*) FILTER (WHERE told > 1),
                    count(*) FILTER (WHERE NOT wanted AND told > 0)
                FROM (SELECT p."avisos" AND p."usuario" <> t."autor" AS wanted,
                        (SELECT count(*) FROM "Avisos" a WHERE a."para" = p."usuario" AND a."objeto" = t."objectId") AS told
                    FROM "Persona" p, "Temas" t WHERE t."objectId" = '{topic}') AS members""")[0].split("|")
        what = ["were not told", "were told twice", "were told and wanted nothing"]
        return [f"{topic}: {count} members {words}" for count, words in zip(rows, what) if int(count)]

    def measure(self):
        rest, told, busy, faults = [], [], [], []
        for _ in range(AT_REST):
            topic, took = self.open()
            rest.append(took)
            self.wait()
            told.append(self.seconds(topic))
        faults += self.faults(topic)
        topics = []
        for _ in range(BUSY):
            topic, took = self.open()
            busy.append(took)
            topics.append(topic)
            time.sleep(0.2)
        self.wait()
        for topic in topics:
            faults += self.faults(topic)
        return {"rest": rest, "busy": busy, "told": told, "told busy": max(map(self.seconds, topics)), "faults": faults}

    def kill(self):
        """The server is killed while it tells, and started again."""
        topic, _ = self.open()
        count = f"""SELECT count(*) FROM "Avisos" WHERE "objeto" = '{topic}'"""
        while not (before := int(self.hermes.sql(count)[0])):
            pass
        self.hermes.program.process.kill()
        self.hermes.program.process.wait()
        self.hermes.start()
        between = int(self.hermes.sql(count)[0])
        self.wait()
        return {"before": before, "between": between, "after": int(self.hermes.sql(count)[0]),
                "seconds": self.seconds(topic), "faults": self.faults(topic)}


def run(options, versions, used):
    forum = Forum(options)
    try:
        forum.sign_up()
        rows = []
        for members in (AUTHORS, options.members):
            if members > AUTHORS:
                forum.fill(members)
            say(f"{members:,} members")
            rows.append({"members": members, **forum.measure()})
        say("killed in the middle")
        return {**versions(forum.hermes, options, used), "rows": rows, "kill": forum.kill()}
    finally:
        forum.hermes.close()


HEAD = ["members", "opening a topic, ms", "slowest", "while others are being told, ms", "slowest", "all told after, s",
        f"of {BUSY} topics at once, s"]


def cells(row):
    return [f"{row['members']:,}", report.time(statistics.median(row["rest"])), report.time(max(row["rest"])),
            report.time(statistics.median(row["busy"])), report.time(max(row["busy"])), report.time(max(row["told"])),
            report.time(row["told busy"])]


def sentence(result):
    kill = result["kill"]
    right = "" if kill["faults"] else ", nobody twice"
    return (f"Killed with SIGKILL when {kill['between']:,} were told, and started again: {kill['after']:,} were told "
            f"{report.time(kill['seconds'])} s after the topic was opened{right}.")


def table(result):
    return "\n".join(report.text_table([HEAD] + [cells(row) for row in result["rows"]]) + ["", sentence(result)])


def markdown(result):
    head, rest = report.circumstances(result).split(" Median of", 1)
    # Whether other programs were at work.
    warning = rest.partition(" **")[1] + rest.partition(" **")[2]
    return "\n\n".join([
        f"{head} Medians of {AT_REST} topics in a forum at rest, and of {BUSY} that are opened one after the other.{warning}",
        report.markdown_table([HEAD] + [cells(row) for row in result["rows"]]), sentence(result)])


def missed(result):
    small, large = (statistics.median(row["rest"]) for row in result["rows"])
    found = [fault for part in (*result["rows"], result["kill"]) for fault in part["faults"]]
    if large > small * TARGET:
        found.append(f"opening a topic takes {large / small:.2f} times as long with the more members; {TARGET} at most")
    return found + [f"{row['members']:,} members are told after {max(row['told']):.1f} s; {LIMIT} at most"
                    for row in result["rows"] if max(row["told"]) > LIMIT]
