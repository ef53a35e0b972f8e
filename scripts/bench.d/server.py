"""The server that is measured, its database, and what its statements are."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = {"appId": "bench", "masterKey": "bench-master"}
API = "/parse"


def say(message):
    print(f"bench: {message}", file=sys.stderr, flush=True)


def stop(message):
    sys.exit(f"bench: {message}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def clean_environment():
    """Without what would configure Hermes."""
    return {name: value for name, value in os.environ.items()
            if name != "DATABASE_URL" and not name.startswith(("HERMES_", "PARSE_"))}


def cpu_seconds(process):
    """Processor time of a process, and of its children that have ended, and its parent's number."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    tick = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / tick, (int(fields[13]) + int(fields[14])) / tick, int(fields[1])


class Program:
    """A program that serves HTTP on a port of its own."""

    def __init__(self, command, environment=None, log=None):
        self.began = time.perf_counter()
        # In a session of its own, as all are that are measured, and PostgreSQL's processes are anyway: Linux may deal
        # out the processor by session.
        self.process = subprocess.Popen(
            command, env={**clean_environment(), **(environment or {})}, stdout=log or subprocess.DEVNULL,
            stderr=subprocess.STDOUT, start_new_session=True)

    def wait_ready(self, port, path, patience=60):
        """Milliseconds from the start of the process to its first answer."""
        while time.perf_counter() - self.began < patience:
            if self.process.poll() is not None:
                stop(f"{self.process.args[0]} ended at once, status {self.process.returncode}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", path)
                connection.getresponse().read()
                return (time.perf_counter() - self.began) * 1000
            except OSError:
                time.sleep(0.001)
        stop(f"{self.process.args[0]} did not answer")

    @property
    def memory(self):
        """Resident megabytes: now, and the most so far."""
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return tuple(int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)[0]

    def settle(self, patience=60):
        """Waits until it has nothing left to do: passwords of clients that are gone are still being hashed, say."""
        before, until = self.cpu_seconds(), time.monotonic() + patience
        while time.monotonic() < until:
            time.sleep(0.2)
            now = self.cpu_seconds()
            if now - before < 0.03:
                return
            before = now

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Hermes:
    """A server with a private cluster of its own, in a temporary folder or in one that is kept."""

    def __init__(self, binary, keep=None, more=()):
        self.binary, self.keep, self.more = binary, keep, list(more)
        self.folder = Path(keep or tempfile.mkdtemp(prefix="hermes-bench-", dir="/var/tmp"))
        self.folder.mkdir(parents=True, exist_ok=True)
        # PostgreSQL's own user must be able to get there.
        self.folder.chmod(0o755)
        self.config = self.folder / "config.json"
        self.config.write_text(json.dumps(KEYS))
        self.log = open(self.folder / "hermes.log", "wb")
        self.program = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        self.port = free_port()
        self.program = self.run(self.folder / "data", self.port)
        self.program.wait_ready(self.port, "/parse/health", patience=300)

    def run(self, data, port, environment=None, more=()):
        return Program([self.binary, "serve", "--config", self.config, "--data", data, "--port", str(port), *self.more, *more],
                       environment, self.log)

    def restart(self):
        self.program.end()
        self.start()

    def close(self):
        if self.program:
            self.program.end()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def postmaster(self):
        return (self.folder / "data/postgres/postmaster.pid").read_text().split("\n")

    @property
    def database(self):
        """libpq's address of the private cluster."""
        lines = self.postmaster
        return f"host='{lines[4]}' port={lines[3]} user=postgres dbname=hermes"

    def postgres_processes(self):
        """The numbers of the cluster's processes, the postmaster's first."""
        first = int(self.postmaster[0])
        found = [first]
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if cpu_seconds(folder.name)[2] == first:
                    found.append(int(folder.name))
            except OSError:
                pass  # ended in between
        return found

    def postgres_cpu_seconds(self):
        """Processor time of the whole cluster: its processes, and those that have ended."""
        processes = self.postgres_processes()
        own, ended, _ = cpu_seconds(processes[0])
        total = own + ended
        for process in processes[1:]:
            try:
                total += cpu_seconds(process)[0]
            except OSError:
                pass
        return total

    def seed(self, members, topics, comments):
        subprocess.run(
            [sys.executable, ROOT / "scripts/seed", "--server", f"http://127.0.0.1:{self.port}/parse",
             "--app-id", KEYS["appId"], "--master-key", KEYS["masterKey"], "--copy", "--data", self.folder / "data",
             "--members", str(members), "--topics", str(topics), "--comments", str(comments)],
            env=clean_environment(), check=True)

    def start_times(self, count):
        """Milliseconds until a second server on the same, running PostgreSQL answers, several times."""
        return [self.start_time("second", {"DATABASE_URL": self.database}) for _ in range(count)]

    def first_start_times(self, count):
        """Milliseconds until a server answers that has to make its PostgreSQL cluster first, several times."""
        times = []
        for _ in range(count):
            times.append(self.start_time("from-nothing", None))
            shutil.rmtree(self.folder / "from-nothing")
        return times

    def start_time(self, name, environment):
        port = free_port()
        program = self.run(self.folder / name, port, environment)
        try:
            return program.wait_ready(port, "/parse/health")
        finally:
            program.end()

    def request(self, method, path, body=None, session=None, master=False, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        connection.request(method, path, body, headers(session, master))
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            stop(f"{method} {path} was answered with {answer.status} {content[:200]!r}")
        return json.loads(content)

    def sql(self, *texts):
        """The lines that psql prints; each text is sent by itself."""
        commands = [part for text in texts for part in ("-c", text)]
        done = subprocess.run(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.database, *commands], capture_output=True, text=True)
        if done.returncode:
            stop(f"psql: {done.stderr.strip()}")
        return done.stdout.splitlines()

    def prewarm(self):
        """Reads the database into PostgreSQL's cache, as after a day's work: what rounds of some seconds touch for the
        first time comes from the disk's cache otherwise."""
        self.sql("SET statement_timeout = 0", "CREATE EXTENSION IF NOT EXISTS pg_prewarm",
                 "SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace")

    def statements(self, first, request, session):
        """What Hermes says to PostgreSQL for a request, by PostgreSQL's log; `first` is asked before, to warm it up.

        A second server is asked: the first one's connections forbid statements in the log of a private cluster, by an
        option of their own (`log_min_messages`) that no other session can take back.
        """
        port = free_port()
        program = self.run(self.folder / "logged", port, {"DATABASE_URL": self.database}, ["--workers", "1"])
        try:
            program.wait_ready(port, "/parse/health")
            self.sql("ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()")
            time.sleep(0.5)
            self.request(*first, session, port=port)
            log = self.folder / "data/postgres.log"
            size = log.stat().st_size
            self.request(*request, session, port=port)
            time.sleep(0.3)
            with open(log, encoding="utf-8", errors="replace") as file:
                file.seek(size)
                text = file.read()
        finally:
            self.sql("ALTER SYSTEM RESET log_statement", "SELECT pg_reload_conf()")
            program.end()
        # The further lines of a statement begin with a tab.
        found = re.findall(r"LOG:  (?:execute [^:]+|statement): (.*(?:\n\t.*)*)", text)
        # What servers ask ten times a second, to hear of each other's changes.
        found = [statement for statement in found if statement != "SELECT pg_listening_channels()"]
        if not found:
            stop(f"PostgreSQL's log shows no statement of {request[0]} {request[1]}")
        return [" ".join(statement.split()) for statement in found]


def headers(session=None, master=False):
    result = {"X-Parse-Application-Id": KEYS["appId"], "Content-Type": "application/json"}
    if session:
        result["X-Parse-Session-Token"] = session
    if master:
        result["X-Parse-Master-Key"] = KEYS["masterKey"]
    return result
