#!/usr/bin/env python3
"""Measures Hermes beside pgbench and a bare HTTP server, taking turns: see docs/benchmarks.md for what and how.

Called by scripts/bench, which builds first.
"""
import argparse
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent))
import report  # noqa: E402
from server import KEYS, ROOT, Hermes, Program, free_port, headers, stop  # noqa: E402

MEMBERS, TOPICS, COMMENTS = 200, 1000, 10000
# Objects get ids that are numbers, which pgbench can draw by chance.
FIRST = 1_000_000_001
API = "/parse"


def pointer(class_name, object_id):
    return {"__type": "Pointer", "className": class_name, "objectId": object_id}


class Operation:
    """One kind of request: what Hermes is asked, and pgbench's scripts with what Hermes then asks of PostgreSQL."""

    def __init__(self, key, title, requests, tables=(), samples=1):
        self.key, self.title, self.requests = key, title, requests
        self.tables, self.samples, self.scripts = tables, samples, []

    def record(self, hermes, session, folder):
        """Takes the SQL down from a few requests. Where one sample is enough, its id varies in pgbench."""
        for number in range(self.samples):
            method, path, body = self.requests[number]
            answer, statements = hermes.statements(self.tables, lambda: hermes.request(method, path, body, session))
            if not statements:
                stop(f"no statement of {self.title} was found in PostgreSQL's log")
            ids = {}
            if match := re.search(r"/(\d{10})$", path):
                ids[match[1]] = ("id", FIRST, FIRST + TOPICS - 1)
            if method == "POST":
                ids[answer["objectId"]] = ("new", 10**14, 10**15 - 1)
            lines, variables = [f"\\set {name} random({low}, {high})" for name, low, high in ids.values()], []
            for text, parameters in statements:
                def variable(match):
                    value = parameters[int(match[1]) - 1]
                    if value in ids:
                        return f":{ids[value][0]}"
                    if value is None:
                        return "NULL"
                    variables.append(f"s{number}v{len(variables)}={value}")
                    return ":" + variables[-1].split("=")[0]
                lines.append(re.sub(r"\$(\d+)", variable, " ".join(text.split())) + ";")
            file = folder / f"{self.key}-{number}.sql"
            file.write_text("\n".join(lines) + "\n")
            self.scripts.append((file, variables))

    def write_requests(self, folder, session):
        """The requests as a Lua table, for wrk."""
        def text(value):
            return "nil" if value is None else '"' + "".join(
                chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03d}" for b in value.encode()) + '"'
        self.file = folder / f"{self.key}.lua"
        lines = [f"  {{{text(m)}, {text(p)}, {text(b)}}}," for m, p, b in self.requests]
        head = ", ".join(f"[{text(k)}] = {text(v)}" for k, v in headers(session).items())
        self.file.write_text("return { headers = {" + head + "}, requests = {\n" + "\n".join(lines) + "\n} }\n")


def operations(names, topics):
    users = [(name, f"viaje-{name.rsplit('.', 1)[1]}") for name in names]
    ids = [str(FIRST + n * 577 % TOPICS) for n in range(TOPICS)]
    def comments(topic):
        where = quote(json.dumps({"Tema": pointer("Temas", topic)}, separators=(",", ":")))
        return f"{API}/classes/Comentarios?where={where}&order=createdAt&limit=20&include=Autor"
    def comment(number):
        return json.dumps({"Texto": f"El tramo {number} está embarrado; mejor por la carretera vieja.",
                           "Tema": pointer("Temas", ids[number]), "Votos": 0,
                           "ACL": {"*": {"read": True}, "role:moderadores": {"read": True, "write": True}}})
    return [
        Operation("get", "get by id", [("GET", f"{API}/classes/Temas/{i}", None) for i in ids], ["Temas"]),
        Operation("find", "50 topics", [("GET", f"{API}/classes/Temas?order=-createdAt&limit=50", None)], ["Temas"]),
        Operation("comments", "20 comments, authors included", [("GET", comments(t), None) for t in topics],
                  ["Comentarios"], samples=20),
        Operation("create", "create", [("POST", f"{API}/classes/Comentarios", comment(n)) for n in range(TOPICS)],
                  ["Comentarios"]),
        Operation("update", "update",
                  [("PUT", f"{API}/classes/Temas/{i}", '{"Votos":{"__op":"Increment","amount":1}}') for i in ids],
                  ["Temas"]),
        Operation("login", "log-in",
                  [("POST", f"{API}/login", json.dumps({"username": u, "password": p})) for u, p in users]),
    ]


# Load

def wrk(port, file, clients, seconds):
    """Requests each second, 50th and 99th percentile in milliseconds."""
    done = subprocess.run(
        ["wrk", "-t", str(min(clients, 2)), "-c", str(clients), "-d", f"{seconds}s", "--timeout", "60s",
         "-s", str(Path(__file__).with_name("load.lua")), f"http://127.0.0.1:{port}"],
        env={**os.environ, "REQUESTS": str(file)}, capture_output=True, text=True, start_new_session=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"requests"')]
    if done.returncode or not lines:
        stop(f"wrk: {done.stdout}{done.stderr}")
    answer = json.loads(lines[0])
    if answer["refused"] or answer["broken"]:
        stop(f"{answer['refused']} requests were refused, {answer['broken']} broken off: {file.name}")
    return {"rate": answer["requests"] / answer["duration"] * 1e6, "count": answer["requests"],
            "p50": answer["p50"] / 1000, "p99": answer["p99"] / 1000}


def pgbench(database, scripts, clients, seconds):
    """Transactions each second."""
    command = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, 2)), "-T", str(seconds)]
    for file, variables in scripts:
        command += ["-f", str(file)]
        for variable in variables:
            command += ["-D", variable]
    done = subprocess.run([*command, database], capture_output=True, text=True, start_new_session=True)
    match = re.search(r"^tps = ([\d.]+)", done.stdout, re.M)
    if done.returncode or not match:
        stop(f"pgbench: {done.stdout}{done.stderr}")
    return float(match[1])


def hash_passwords(seconds, results):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import crypt
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        crypt.crypt("viaje-0", "$2b$10$CwTycUXWue0Thq9StjUM0u")
        count += 1
    results.put(count / (time.perf_counter() - began))


def bcrypt(clients, seconds):
    """Hashes of cost 10 that the cores compute each second."""
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=hash_passwords, args=(seconds, results))
                 for _ in range(min(clients, os.cpu_count()))]
    for process in processes:
        process.start()
    total = sum(results.get() for _ in processes)
    for process in processes:
        process.join()
    return total


class MemoryWatch:
    """The most resident memory of a program while it is open."""

    def __init__(self, program):
        self.program, self.most, self.ended = program, program.memory, threading.Event()

    def __enter__(self):
        def watch():
            while not self.ended.wait(0.1):
                self.most = max(self.most, self.program.memory)
        self.thread = threading.Thread(target=watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


# The run

def prepare(hermes, only):
    hermes.seed(MEMBERS, TOPICS, COMMENTS)
    hermes.sql(f"""
        CREATE TEMP TABLE new AS SELECT "objectId" AS old, ({FIRST - 1} + row_number() OVER (ORDER BY "createdAt"))::text
            AS id FROM "Temas";
        UPDATE "Temas" t SET "objectId" = new.id FROM new WHERE new.old = t."objectId";
        UPDATE "Comentarios" c SET "Tema" = new.id FROM new WHERE new.old = c."Tema";""")
    hermes.sql("VACUUM FULL ANALYZE")
    names = hermes.sql("""SELECT "username" FROM "_User" ORDER BY split_part("username", '.', -1)::int""")
    topics = hermes.sql("""SELECT "Tema" FROM "Comentarios" GROUP BY 1 HAVING count(*) >= 20 ORDER BY "Tema" LIMIT 200""")
    # The first member is a moderator, and has the roles' rights on everything.
    body = json.dumps({"username": names[0], "password": "viaje-0"})
    session = hermes.request("POST", f"{API}/login", body)["sessionToken"]
    chosen = [o for o in operations(names, topics) if not only or o.key in only]
    hermes.record(True)
    for operation in chosen:
        if operation.tables:
            # Twice: the first request may load what is remembered afterwards.
            hermes.request(*operation.requests[0], session)
            operation.record(hermes, session, hermes.folder)
        operation.write_requests(hermes.folder, None if operation.key == "login" else session)
    hermes.record(False)
    hermes.restart()
    for operation in chosen:
        hermes.request(*operation.requests[0], None if operation.key == "login" else session)
    return chosen


def measure(hermes, hello_port, chosen, options):
    rounds = {}
    most = 0
    for number in range(options.rounds):
        for clients in options.clients:
            seconds = options.seconds
            row = {"hermes": wrk(hello_port, chosen[0].file, clients, seconds)}
            rounds.setdefault(("hello", clients), []).append(row)
            for operation in chosen:
                print(f"round {number + 1} of {options.rounds}, {clients} clients: {operation.title}", file=sys.stderr)
                # Whoever goes second finds warmer caches: in turns.
                row = {}
                for who in ("base", "hermes") if number % 2 == 0 else ("hermes", "base"):
                    if who == "hermes":
                        with MemoryWatch(hermes.program) as watch:
                            cpu = hermes.program.cpu_seconds
                            row["hermes"] = wrk(hermes.port, operation.file, clients, seconds)
                            cpu = hermes.program.cpu_seconds - cpu
                        row["hermes"]["cpu"] = cpu / row["hermes"]["count"] * 1e6
                        most = max(most, watch.most)
                    elif operation.scripts:
                        row["base"] = pgbench(hermes.database, operation.scripts, clients, seconds)
                    else:
                        row["base"] = bcrypt(clients, seconds)
                    hermes.program.settle()
                rounds.setdefault((operation.key, clients), []).append(row)
        hermes.sql("VACUUM ANALYZE")
    return rounds, most


def medians(rounds, chosen):
    """One row for each operation and number of clients."""
    titles = {"hello": "bare hello", **{o.key: o.title for o in chosen}}
    rows = []
    for (key, clients), measured in rounds.items():
        of = lambda name: statistics.median(m["hermes"][name] for m in measured)
        row = {"key": key, "title": titles[key], "clients": clients, "rate": of("rate"), "p50": of("p50"), "p99": of("p99")}
        if "base" in measured[0]:
            row["base"] = statistics.median(m["base"] for m in measured)
            row["ratio"] = statistics.median(m["hermes"]["rate"] / m["base"] for m in measured)
            row["cpu"] = of("cpu")
        rows.append(row)
    order = list(titles)
    return sorted(rows, key=lambda r: (order.index(r["key"]), r["clients"]))


def versions(hermes):
    def first(command):
        return (subprocess.run(command, capture_output=True, text=True).stdout.splitlines() or [""])[0]
    swift = re.search(r"Swift version ([\d.]+)", first(["swift", "--version"]))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "memory": round(memory),
        "hermes": first([str(hermes.binary), "version"]).split()[-1],
        "postgresql": hermes.sql("SHOW server_version")[0].split()[0],
        "swift": swift[1] if swift else "?", "load": os.getloadavg()[0],
    }


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="64 clients only, shorter and fewer rounds: a minute or two")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, those of each round included")
    parser.add_argument("--only", help="operations: get,find,comments,create,update,login")
    parser.add_argument("--clients", help="how many clients: 1,8,64")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=int, help="for each measurement")
    parser.add_argument("--program", default=ROOT / ".build/release/hermes", help="another build of Hermes")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/ as it is")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 3)
    options.seconds = options.seconds or (2 if options.quick else 3)
    options.clients = [int(c) for c in (options.clients or ("64" if options.quick else "1,8,64")).split(",")]
    options.only = options.only.split(",") if options.only else []
    return options


def main():
    options = arguments()
    hermes = Hermes(options.program)
    hello = None
    try:
        chosen = prepare(hermes, options.only)
        hello_port = free_port()
        hello = Program([ROOT / ".build/release/hello", str(hello_port), str(os.cpu_count())])
        hello.wait_ready(hello_port, "/")
        start = hermes.start_times(5)
        time.sleep(1)
        rest = hermes.program.memory
        rounds, most = measure(hermes, hello_port, chosen, options)
        result = {
            **versions(hermes), "rounds": options.rounds, "seconds": options.seconds,
            "rows": medians(rounds, chosen), "start": statistics.median(start), "memory_rest": rest, "memory_load": most,
            "sql": {o.key: [line for line in o.scripts[0][0].read_text().splitlines()] for o in chosen if o.scripts},
            "measured": [{"key": key, "clients": clients, **m} for (key, clients), ms in rounds.items() for m in ms],
        }
    finally:
        if hello:
            hello.end()
        hermes.close()
    print(report.table(result))
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    if not (options.no_docs or options.only):
        report.write(result, ROOT / "docs")


if __name__ == "__main__":
    main()
