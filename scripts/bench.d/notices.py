"""--notices: what opening a topic costs where 10 members are told of it and where 100,000 are, when those are told, and
what becomes of it when the server is killed in the middle."""
import json
import statistics
import time

import members
import report
from server import API, Hermes, say

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
        self.sessions = members.sign_up(self.hermes, AUTHORS)

    def fill(self, count):
        """So many members in all."""
        members.add(self.hermes, count - AUTHORS, WILLING)
        self.hermes.sql("VACUUM ANALYZE", "CHECKPOINT")

    def open(self):
        """Opens a topic; its id, and the milliseconds until the answer."""
        self.opened += 1
        body = json.dumps({"tema": f"Rincones de la provincia número {self.opened}", "comentario": f"¿Qué tal {self.opened}?"})
        began = time.perf_counter()
        made = self.hermes.request(
            "POST", f"{API}/functions/abrirTema", body, self.sessions[self.opened % AUTHORS])
        return made["result"]["tema"], (time.perf_counter() - began) * 1000

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
            members.wait(self.hermes)
            told.append(self.seconds(topic))
        faults += self.faults(topic)
        topics = []
        for _ in range(BUSY):
            topic, took = self.open()
            busy.append(took)
            topics.append(topic)
            time.sleep(0.2)
        members.wait(self.hermes)
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
        members.wait(self.hermes)
        return {"before": before, "between": between, "after": int(self.hermes.sql(count)[0]),
                "seconds": self.seconds(topic), "faults": self.faults(topic)}


def run(options, versions, machine):
    forum = Forum(options)
    try:
        forum.sign_up()
        rows = []
        for count in (AUTHORS, options.members):
            if count > AUTHORS:
                forum.fill(count)
            say(f"{count:,} members")
            rows.append({"members": count, **forum.measure()})
        say("killed in the middle")
        return {**versions(forum.hermes, options, machine), "rows": rows, "kill": forum.kill()}
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
