"""--large: the same requests in a forum of 100,000 comments and in one of 10,000,000, in turns."""
import json
import statistics
from pathlib import Path

import report
import scenarios
from load import Costs, wrk
from server import API, Hermes, say

SMALL = 100_000
A_TOPIC = 500  # comments, in both forums: what one request touches is the same
MEMBERS = 200
GROWTH = 1.5


def open_forum(name, comments, options):
    """A server with a forum of so many comments; a kept one as it was left."""
    hermes = Hermes(options.program, Path(options.keep) / name if options.keep else None)
    try:
        done = hermes.folder / "filled"
        if not done.exists():
            say(f"{name}: filling {comments // A_TOPIC:,} topics and {comments:,} comments")
            hermes.seed(MEMBERS, comments // A_TOPIC, comments)
            say(f"{name}: VACUUM")
            hermes.sql("SET statement_timeout = 0", "VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")
            done.write_text("")
            hermes.restart()
        say(f"{name}: reading it into PostgreSQL's cache")
        # Page 20 of a topic lies on 400 pages of it.
        hermes.prewarm()
        name = hermes.sql("""SELECT "username" FROM "_User" WHERE "username" LIKE '%.0'""")[0]
        body = json.dumps({"username": name, "password": "viaje-0"})
        session = hermes.request("POST", f"{API}/login", body)["sessionToken"]
        hermes.scenarios = [s for s in scenarios.large(hermes) if not options.only or s.key in options.only]
        for scenario in hermes.scenarios:
            scenario.write(hermes.folder, session)
        return hermes
    except BaseException:
        hermes.close()
        raise


def run(options, versions, machine):
    forums = {}
    try:
        for name, comments in (("small", SMALL), ("large", options.comments)):
            forums[name] = open_forum(name, comments, options)
        sizes = {name: int(hermes.sql("SELECT pg_database_size('hermes')")[0]) for name, hermes in forums.items()}
        rounds = {}
        # Round 0 only fills what caches are left.
        for number in range(options.rounds + 1):
            for clients in options.clients:
                for pair in zip(*(hermes.scenarios for hermes in forums.values())):
                    say(f"round {number} of {options.rounds}, {clients} clients: {pair[0].title}")
                    row = {}
                    turns = list(zip(forums.items(), pair))
                    for (name, hermes), scenario in turns if number % 2 == 0 else reversed(turns):
                        costs = Costs(cpu=hermes.program.cpu_seconds, postgres=hermes.postgres_cpu_seconds)
                        row[name] = costs.of(lambda: wrk(hermes.port, scenario.file, clients, options.seconds if number else 1))
                        hermes.sql(*scenario.tidy, "SELECT")
                    if number:
                        rounds.setdefault((pair[0].key, pair[0].title, clients), []).append(row)
        return {
            **versions(forums["large"], options, machine), "comments": options.comments, "small": SMALL, "sizes": sizes,
            "rows": [medians(*key, measured) for key, measured in rounds.items()],
            "measured": [{"key": key, "clients": clients, **m} for (key, _, clients), ms in rounds.items() for m in ms],
        }
    finally:
        for hermes in forums.values():
            hermes.close()


def medians(key, title, clients, measured):
    def of(name, figure):
        return statistics.median(m[name][figure] for m in measured)
    return {"key": key, "title": title, "clients": clients,
            **{name: {figure: of(name, figure) for figure in ("rate", "p50", "p99", "cpu", "postgres")} for name in measured[0]},
            "ratio": statistics.median(m["small"]["rate"] / m["large"]["rate"] for m in measured)}


def cells(row):
    result = [row["title"], str(row["clients"])]
    for name in ("small", "large"):
        figures = row[name]
        result += [report.number(figures["rate"]), report.time(figures["p50"]), report.time(figures["p99"]),
                   report.micro(figures, "postgres")]
    return result + [f"{row['ratio']:.2f}"]


def head(result):
    names = [f"{result['small']:,}", f"{result['comments']:,}"]
    return ["request", "clients"] + [f"{name}: {figure}" for name in names
                                     for figure in ("/s", "p50, ms", "p99, ms", "PostgreSQL, µs")] + ["ratio"]


def table(result):
    short = ["request", "clients"] + ["small/s", "p50 ms", "p99 ms", "PG µs", "large/s", "p50 ms", "p99 ms", "PG µs", "ratio"]
    return "\n".join(report.text_table([short] + [cells(row) for row in result["rows"]]))


def missed(result):
    return [f"{row['title']}: takes {row['ratio']:.2f} times as long with {result['comments']:,} comments, not {GROWTH} at most"
            for row in result["rows"] if row["ratio"] > GROWTH]


def markdown(result):
    sizes = [report.size(count) for count in result["sizes"].values()]
    return "\n\n".join([
        f"{report.circumstances(result)} The databases take {sizes[0]} and {sizes[1]}.",
        report.markdown_table([head(result)] + [cells(row) for row in result["rows"]])])
