"""What a storm of log-ins does to reads: gets by id beside 200 clients that log in again and again, and without them."""
import asyncio
import json
import statistics
import threading

from load import wrk
from server import API, KEYS, Hermes, say
from scenarios import Scenario, get

CLIENTS = 200
# One member for each client, so that neither sessions nor rows stand in each other's way.
MEMBERS = CLIENTS
TARGET = 2


class Storm:
    """Clients that log in, each from an address of its own, until the storm is ended."""

    def __init__(self, port, names):
        self.port, self.names = port, names
        self.answers, self.times, self.is_over = {}, [], False
        self.begun = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.blow()))

    async def blow(self):
        await asyncio.gather(*(self.client(number) for number in range(CLIENTS)))

    async def client(self, number):
        body = json.dumps({"username": self.names[number], "password": f"viaje-{self.names[number].split('.')[-1]}"})
        head = (f"POST {API}/login HTTP/1.1\r\nHost: localhost\r\nX-Parse-Application-Id: {KEYS['appId']}\r\n"
                f"X-Forwarded-For: 10.0.{number // 250}.{number % 250 + 1}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body.encode())}\r\n\r\n")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        loop = asyncio.get_running_loop()
        while not self.is_over:
            sent = loop.time()
            writer.write((head + body).encode())
            self.begun.set()
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(int(line.split(":")[1]) for line in answer.split("\r\n")
                          if line.lower().startswith("content-length:"))
            await reader.readexactly(length)
            status = answer.split()[1]
            self.answers[status] = self.answers.get(status, 0) + 1
            self.times.append(loop.time() - sent)
        writer.close()

    def __enter__(self):
        self.thread.start()
        self.begun.wait(30)
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


def run(options, versions, machine):
    hermes = Hermes(options.program, more=["--trust-proxy", "true"])
    try:
        hermes.seed(MEMBERS, 1000, 1000)
        names = hermes.sql("""SELECT "username" FROM "_User" ORDER BY split_part("username", '.', -1)::int""")
        ids = hermes.sql("""SELECT "objectId" FROM "Temas" """)
        gets = Scenario("get", "get by id", [get("Temas", one) for one in ids], signed_in=False)
        gets.write(hermes.folder, None)
        rows = []
        for clients in options.clients:
            rounds = []
            for number in range(options.rounds):
                say(f"round {number + 1} of {options.rounds}, {clients} clients")
                calm = wrk(hermes.port, gets.file, clients, options.seconds)
                with Storm(hermes.port, names) as storm:
                    stormy = wrk(hermes.port, gets.file, clients, options.seconds)
                    answers, times = dict(storm.answers), list(storm.times)
                hermes.program.settle()
                rounds.append({"calm": calm, "stormy": stormy, "answers": answers,
                               "logins": answers.get("200", 0) / options.seconds,
                               "login_p50": statistics.median(times) if times else None})
            rows.append({
                "clients": clients, "rounds": rounds,
                **{f"{name} {value}": statistics.median(r[name][value] for r in rounds)
                   for name in ("calm", "stormy") for value in ("rate", "p50", "p99")},
                "logins": statistics.median(r["logins"] for r in rounds),
                "ratio": statistics.median(r["stormy"]["p99"] / r["calm"]["p99"] for r in rounds)})
        return {**versions(hermes, options, machine), "rows": rows}
    finally:
        hermes.close()


def table(result):
    lines = [f"{'gets by id':>12} {'rate/s':>16} {'p50 ms':>16} {'p99 ms':>16} {'p99 ratio':>10} {'log-ins/s':>10}",
             f"{'clients':>12} {'without':>8}{'with':>8} {'without':>8}{'with':>8} {'without':>8}{'with':>8}"]
    for row in result["rows"]:
        lines.append(
            f"{row['clients']:12} {row['calm rate']:8,.0f}{row['stormy rate']:8,.0f} {row['calm p50']:8.2f}"
            f"{row['stormy p50']:8.2f} {row['calm p99']:8.2f}{row['stormy p99']:8.2f} {row['ratio']:10.2f} "
            f"{row['logins']:10.0f}")
        refused = {status: count for r in row["rounds"] for status, count in r["answers"].items() if status != "200"}
        if refused:
            lines.append(f"{'':12} answers that were no log-ins: {refused}")
    return "\n".join(lines)


def missed(result):
    return [f"{row['clients']} clients: the p99 of gets is {row['ratio']:.2f} times as long in a storm; {TARGET} at most"
            for row in result["rows"] if row["ratio"] > TARGET]
