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


def stop(message):
    sys.exit(f"bench: {message}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Program:
    """A program that serves HTTP on a port of its own."""

    def __init__(self, command, environment=None, log=None):
        self.began = time.perf_counter()
        # In a session of its own, as all are that are measured, and PostgreSQL's processes are anyway: Linux may deal
        # out the processor by session.
        self.process = subprocess.Popen(
            command, env={**os.environ, **(environment or {})}, stdout=log or subprocess.DEVNULL,
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
        """Resident megabytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024

    @property
    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def settle(self, patience=60):
        """Waits until it has nothing left to do: passwords of clients that are gone are still being hashed, say."""
        before, until = self.cpu_seconds, time.monotonic() + patience
        while time.monotonic() < until:
            time.sleep(0.2)
            now = self.cpu_seconds
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
    def __init__(self, binary):
        self.binary = binary
        self.folder = Path(tempfile.mkdtemp(prefix="hermes-bench-", dir="/var/tmp"))
        # PostgreSQL's own user must be able to get there.
        self.folder.chmod(0o755)
        self.config = self.folder / "config.json"
        self.config.write_text(json.dumps(KEYS))
        self.port = free_port()
        self.log = open(self.folder / "hermes.log", "wb")
        self.start()

    def start(self):
        self.program = Program(
            [self.binary, "serve", "--config", self.config, "--data", self.folder / "data", "--port", str(self.port)],
            log=self.log)
        self.program.wait_ready(self.port, "/parse/health")

    def restart(self):
        self.program.end()
        self.start()

    def close(self):
        self.program.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def database(self):
        """libpq's address of the private cluster."""
        lines = (self.folder / "data/postgres/postmaster.pid").read_text().split("\n")
        return f"host='{lines[4]}' port={lines[3]} user=postgres dbname=hermes"

    def seed(self, members, topics, comments):
        subprocess.run(
            [sys.executable, ROOT / "scripts/seed", "--server", f"http://127.0.0.1:{self.port}/parse",
             "--app-id", KEYS["appId"], "--master-key", KEYS["masterKey"],
             "--members", str(members), "--topics", str(topics), "--comments", str(comments)], check=True)

    def start_times(self, count):
        """Milliseconds until a second server on the same, running PostgreSQL answers, several times."""
        times = []
        for _ in range(count):
            port = free_port()
            program = Program(
                [self.binary, "serve", "--config", self.config, "--data", self.folder / "second", "--port", str(port)],
                {"DATABASE_URL": self.database})
            times.append(program.wait_ready(port, "/parse/health"))
            program.end()
        return times

    def request(self, method, path, body=None, session=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers(session))
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            stop(f"{method} {path} was answered with {answer.status} {content[:200]!r}")
        return json.loads(content)

    def sql(self, text):
        done = subprocess.run(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.database, "-c", text], capture_output=True, text=True)
        if done.returncode:
            stop(f"psql: {done.stderr.strip()}")
        return done.stdout.splitlines()

    # What Hermes says to PostgreSQL

    def record(self, on):
        """Has PostgreSQL log each statement, with a mark before each entry."""
        for setting in ("log_statement = 'all'", "log_line_prefix = '\x1e%p\x1f'") if on else ():
            self.sql(f"ALTER SYSTEM SET {setting}")
        for setting in () if on else ("log_statement", "log_line_prefix"):
            self.sql(f"ALTER SYSTEM RESET {setting}")
        self.sql("SELECT pg_reload_conf()")
        time.sleep(0.5)

    def statements(self, tables, action):
        """What `action` returns, and the statements that it led to: [(text, [parameter])]."""
        log = self.folder / "data/postgres.log"
        size = log.stat().st_size
        result = action()
        time.sleep(0.15)
        with open(log, encoding="utf-8", errors="replace") as file:
            file.seek(size)
            entries = [entry.split("\x1f", 1) for entry in file.read().split("\x1e") if "\x1f" in entry]
        found, last = {}, {}
        for process, entry in entries:
            if match := re.match(r"LOG:  (?:execute \S+|statement): (.*)", entry, re.S):
                last[process] = [match[1].rstrip("\n"), []]
                found.setdefault(process, []).append(last[process])
            elif (match := re.match(r"DETAIL:  parameters: (.*)", entry, re.S)) and process in last:
                last[process][1] = [
                    None if value == "NULL" else value[1:-1].replace("''", "'")
                    for value in re.findall(r"\$\d+ = (NULL|'(?:[^']|'')*')", match[1], re.S)]
        mine = [statements for statements in found.values()
                if any(f'"{table}"' in text for text, _ in statements for table in tables)]
        return result, [statement for statements in mine for statement in statements]


def headers(session=None):
    result = {"X-Parse-Application-Id": KEYS["appId"], "Content-Type": "application/json"}
    if session:
        result["X-Parse-Session-Token"] = session
    return result
