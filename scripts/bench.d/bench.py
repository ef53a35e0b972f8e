#!/usr/bin/env python3
"""Measures Hermes beside the best SQL for the same answers, in turns: see docs/benchmarks.md for what and how.

Called by scripts/bench, which builds first.
"""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import forum  # noqa: E402
import growth  # noqa: E402
import hooks  # noqa: E402
import notices  # noqa: E402
import profiling  # noqa: E402
import report  # noqa: E402
import scenarios  # noqa: E402
import storm  # noqa: E402
import yardstick  # noqa: E402
from load import BcryptBase, Costs, SQLBase, busy, gaps, wrk  # noqa: E402
from scenarios import BEGIN, COMMENTS, FIRST, MEMBERS, TOPICS  # noqa: E402
from server import API, ROOT, Hermes, Program, free_port, say, stop  # noqa: E402

PROGRAM = ROOT / ".build/release/hermes"


def in_order_of_creation(table):
    """SQL that writes a table anew as it lies in a forum that grew: the changes of ids brought topics' comments together."""
    return f"""DO $$ BEGIN EXECUTE (SELECT format('CLUSTER "{table}" USING %s', indexrelid::regclass) FROM pg_index
        WHERE indrelid = '"{table}"'::regclass AND pg_get_indexdef(indexrelid) LIKE '%("createdAt", "objectId")'); END $$"""


def prepare(hermes, options):
    """Fills the database; the scenarios, ready to be sent."""
    hermes.seed(MEMBERS, TOPICS, COMMENTS)
    hermes.sql(f"""
        CREATE TEMP TABLE new AS SELECT "objectId" AS old, row_number() OVER (ORDER BY "createdAt") AS n FROM "Temas";
        UPDATE "Temas" t SET "objectId" = {FIRST - 1} + n, "createdAt" = timestamptz '{BEGIN}' + n * interval '1 minute'
            FROM new WHERE new.old = t."objectId";
        UPDATE "Comentarios" c SET "Tema" = {FIRST - 1} + n FROM new WHERE new.old = c."Tema";""",
               *map(in_order_of_creation, ("Temas", "Comentarios")), "VACUUM (FULL, ANALYZE)", "CHECKPOINT")
    names = hermes.sql("""SELECT "username" FROM "_User" ORDER BY split_part("username", '.', -1)::int""")
    # The first member is a moderator, and has the roles' rights on everything.
    user = hermes.request("POST", f"{API}/login", json.dumps({"username": names[0], "password": "viaje-0"}))
    chosen = [s for s in scenarios.standard(names) if not options.only or s.key in options.only]
    if not chosen:
        stop("no such scenario: " + ", ".join(options.only))
    for scenario in chosen:
        scenario.write(hermes.folder, user["sessionToken"])
    hermes.restart()
    for scenario in chosen:
        hermes.request(*scenario.requests[0], scenario.session)
        for text in scenario.tidy:
            hermes.sql(text)
    return chosen, user["objectId"]


def bases(hermes, chosen, me, options):
    """The yardstick of each scenario, which of its variants it is, and what is wrong with them."""
    authors = hermes.sql(f"""SELECT array_agg(DISTINCT "Autor") FROM (SELECT "Autor" FROM "Comentarios"
        WHERE "Tema" = '{FIRST + TOPICS // 2}' ORDER BY "createdAt", "objectId" LIMIT 20) c""")[0]
    literals = {"viewer": rf"U&'{{*,{me},role\003Amoderadores,role\003Amiembros}}'::text[]", "me": f"'{me}'",
                "authors": f"'{authors}'::text[]"}
    written, result, names, faults = yardstick.read(literals), {}, {}, []
    for scenario in chosen:
        if scenario.base == "bcrypt":
            result[scenario.key] = BcryptBase()
            continue
        candidates = [SQLBase(hermes, variant) for variant in written[scenario.key]]
        for candidate in candidates:
            faults += yardstick.faults(candidate.variant, hermes.sql) + differences(hermes, scenario, candidate.variant)
        rates = {}
        for candidate in candidates * 3 if len(candidates) > 1 else ():
            rates.setdefault(candidate.variant.title, []).append(candidate.measure(max(options.clients), 2)["rate"])
        trial = {title: statistics.median(some) for title, some in rates.items()}
        best = max(candidates, key=lambda c: trial.get(c.variant.title, 0))
        result[scenario.key] = best
        names[scenario.key] = {"best": best.variant.title, "trial": trial}
        for text in scenario.tidy:
            hermes.sql(text)
    for fault in faults:
        print(f"yardstick: {fault}", file=sys.stderr)
    return result, names, faults


def differences(hermes, scenario, variant):
    """Whether the yardstick of a read answers the same as Hermes."""
    if scenario.requests[0][0] != "GET":
        return []
    wrong = []
    for index in (0, 1, len(scenario.requests) // 2, len(scenario.requests) - 1):
        if index >= len(scenario.requests):
            continue
        request = scenario.requests[index]
        sample = {"second": index * 57}
        if match := re.search(r"1\d{9}(?!\d)", request[1]):
            sample.update(id=match[0], topic=match[0])
        answer = hermes.request(*request, scenario.session)
        objects = answer.get("results", [answer])
        rows = yardstick.rows(variant, hermes.sql, sample)
        same = ["objectId", "Texto", "Idioma", "Votos", "Etiquetas", "Abierto"]
        mine, theirs = ([[o.get(name) for name in same] for o in some] for some in (objects, rows))
        if mine != theirs:
            wrong.append(f"{scenario.title}: Hermes answers {len(mine)} objects, the SQL {len(theirs)}, and they differ: "
                         f"{request[1]}")
        if "Nombre" in (rows[0] if rows else ()) and [o["Autor"]["Nombre"] for o in objects] != [r["Nombre"] for r in rows]:
            wrong.append(f"{scenario.title}: the authors differ")
    return wrong


def measure(hermes, hello, chosen, base_of, options):
    """The rounds: {(key, clients): [{hermes: …, base: …}]}."""
    rounds = {}
    hermes_costs = Costs(cpu=hermes.program.cpu_seconds, postgres=hermes.postgres_cpu_seconds)
    for number in range(options.rounds):
        for clients in options.clients:
            row = {"hermes": Costs(cpu=hello[1].cpu_seconds).of(
                lambda: wrk(hello[0], chosen[0].file, clients, options.seconds))}
            rounds.setdefault(("hello", clients), []).append(row)
            for scenario in chosen:
                if scenario.only_most_clients and clients != max(options.clients):
                    continue
                say(f"round {number + 1} of {options.rounds}, {clients} clients: {scenario.title}")
                row = {}
                # Whoever goes second finds warmer caches: in turns.
                for who in ("base", "hermes") if number % 2 == 0 else ("hermes", "base"):
                    if who == "hermes":
                        row[who] = hermes_costs.of(lambda: wrk(hermes.port, scenario.file, clients, options.seconds))
                    else:
                        row[who] = base_of[scenario.key].measure(clients, options.seconds)
                    hermes.program.settle()
                    hermes.sql(*scenario.tidy, "SELECT")
                rounds.setdefault((scenario.key, clients), []).append(row)
    return rounds


def medians(rounds, chosen, names):
    """One row for each scenario and number of clients."""
    titles = {"hello": "bare hello", **{s.key: s.title for s in chosen}}
    targets = {s.key: s.target for s in chosen}
    rows = []
    for (key, clients), measured in rounds.items():
        def of(name, who="hermes"):
            return statistics.median(m[who][name] for m in measured)
        row = {"key": key, "title": titles[key], "clients": clients, "variant": names.get(key, {}).get("best", ""),
               **{name: of(name) for name in ("rate", "p50", "p99", "cpu", "postgres") if name in measured[0]["hermes"]}}
        if "base" in measured[0]:
            row["base"] = of("rate", "base")
            if "postgres" in measured[0]["base"]:
                row["base_postgres"], row["base_p99"] = of("postgres", "base"), of("p99", "base")
            row["ratio"] = statistics.median(m["hermes"]["rate"] / m["base"]["rate"] for m in measured)
            row["target"] = targets[key] if clients == 64 else None
        rows.append(row)
    order = list(titles)
    return sorted(rows, key=lambda r: (order.index(r["key"]), r["clients"]))


def versions(hermes, options, machine):
    def first(command):
        return (subprocess.run(command, capture_output=True, text=True).stdout.splitlines() or [""])[0]
    swift = re.search(r"Swift version ([\d.]+)", first(["swift", "--version"]))
    # The commit, where it is the one that scripts/bench has just built.
    own = hermes.binary == PROGRAM
    commit = first(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]) if own else "another build"
    changed = own and first(["git", "-C", str(ROOT), "status", "--porcelain", "Sources", "Package.swift"])
    return {
        "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "rounds": options.rounds, "seconds": options.seconds,
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "hermes": first([str(hermes.binary), "version"]).split()[-1] + f" ({commit}{' with changes' if changed else ''})",
        "postgresql": hermes.sql("SHOW server_version")[0].split()[0], "swift": swift[1] if swift else "?", **machine,
    }


def standard(options, machine):
    hermes = Hermes(options.program)
    hello = None
    try:
        chosen, me = prepare(hermes, options)
        base_of, names, faults = bases(hermes, chosen, me, options)
        port = free_port()
        hello = Program([ROOT / ".build/release/hello", str(port), str(os.cpu_count())])
        hello.wait_ready(port, "/")
        start, first_start = hermes.start_times(5), hermes.first_start_times(3)
        hermes.restart()
        hermes.request(*chosen[0].requests[0], chosen[0].session)
        time.sleep(1)
        rest = hermes.program.memory[0]
        rounds = measure(hermes, (port, hello), chosen, base_of, options)
        return {
            **versions(hermes, options, machine), "rows": medians(rounds, chosen, names), "start": statistics.median(start),
            "first_start": statistics.median(first_start), "memory_rest": rest, "memory_load": hermes.program.memory[1],
            "yardstick": names, "faults": faults,
            "measured": [{"key": key, "clients": clients, **m} for (key, clients), ms in rounds.items() for m in ms],
        }
    finally:
        if hello:
            hello.end()
        hermes.close()


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="64 clients only, shorter rounds: two or three minutes")
    parser.add_argument("--large", action="store_true", help="compare 10,000,000 comments with 100,000, and measure the forum itself, instead")
    parser.add_argument("--hooks", action="store_true", help="measure what cloud code costs instead")
    parser.add_argument("--storm", action="store_true", help="measure gets beside 200 clients that log in instead")
    parser.add_argument("--notices", action="store_true", help="measure how many members are told of a topic instead")
    parser.add_argument("--profile", metavar="NAMES", help="run scenarios under perf: where their time goes, by room")
    parser.add_argument("--check", action="store_true", help="exit with status 1 where a target is missed")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, those of each round included")
    parser.add_argument("--only", help="scenarios: get,find,comments,create,update,login,same get,same find; with --large forum")
    parser.add_argument("--clients", help="how many clients: 1,8,64; with --large 8")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=int, help="for each measurement")
    parser.add_argument("--comments", type=int, default=10_000_000, help="of the large forum")
    parser.add_argument("--members", type=int, default=100_000, help="of the forum of --notices")
    parser.add_argument("--keep", metavar="DIR", help="with --large: leave the databases there, and use them if there")
    parser.add_argument("--program", default=PROGRAM, help="another build of Hermes")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/ as it is")
    options = parser.parse_args()
    options.rounds = options.rounds or 3
    options.seconds = options.seconds or (2 if options.quick else 4)
    default = "8" if options.large or options.storm else "64" if options.quick or options.profile or options.hooks else "1,8,64"
    options.clients = [int(c) for c in (options.clients or default).split(",")]
    options.only = options.only.split(",") if options.only else []
    return options


def main():
    options = arguments()
    # So that servers and folders are cleared away then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by a signal"))
    if options.profile:
        profiling.profile(options, prepare)
        return
    machine = {"busy": busy(3), "gaps": gaps(3)}
    if machine["busy"] > 0.1:
        say(f"other programs use {machine['busy']:.0%} of the processors: these figures will say little")
    say(report.waits(machine))
    results, found = {}, []
    # What is asked, whether it has targets, and what of docs/benchmarks.md it writes.
    for part, is_asked, has_targets, place in (
            (hooks, options.hooks, False, None), (storm, options.storm, True, None),
            (notices, options.notices, True, "notices"),
            (growth, options.large and options.only != ["forum"], True, "growth"),
            (forum, options.large and (not options.only or "forum" in options.only), True, "forum")):
        if not is_asked:
            continue
        result = part.run(options, versions, machine)
        print(part.table(result))
        results[place] = result
        is_whole = not options.only or part is forum
        if place and is_whole and not options.no_docs:
            report.replace(ROOT / "docs/benchmarks.md", place, part.markdown(result))
        found += part.missed(result) if has_targets else []
    if not results:
        results[None] = result = standard(options, machine)
        print(report.table(result))
        if not (options.no_docs or options.only):
            report.write(result, ROOT / "docs")
        found = report.missed(result)
    if options.json:
        kept = results if len(results) > 1 else next(iter(results.values()))
        Path(options.json).write_text(json.dumps(kept, indent=1) + "\n")
    if options.check and found:
        sys.exit("\n".join(f"bench: {line}" for line in found))


if __name__ == "__main__":
    main()
