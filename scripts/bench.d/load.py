"""Load: wrk on Hermes, pgbench on PostgreSQL, bcrypt on the cores."""
import json
import multiprocessing
import os
import re
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

from server import stop


def wrk(port, file, clients, seconds):
    """Requests each second, how many, 50th and 99th percentile in milliseconds."""
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


def pgbench(database, file, settings, clients, *length):
    """Transactions each second, how many, and the 99th percentile in milliseconds, in sessions with these settings of
    PostgreSQL."""
    command = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, 2)), *map(str, length)]
    with tempfile.TemporaryDirectory() as logs:
        # One transaction in ten is told: to write them all would slow it down.
        told = ["--log", f"--log-prefix={logs}/told", "--sampling-rate=0.1"]
        done = subprocess.run(
            [*command, *told, "-f", str(file), database], capture_output=True, text=True, start_new_session=True,
            env={**os.environ, "PGOPTIONS": " ".join(f"-c {setting}" for setting in settings)})
        times = sorted(int(line.split()[2]) for log in Path(logs).iterdir() for line in log.read_text().splitlines())
    rate = re.search(r"^tps = ([\d.]+)", done.stdout, re.M)
    count = re.search(r"^number of transactions actually processed: (\d+)", done.stdout, re.M)
    if done.returncode or not rate or not count:
        stop(f"pgbench: {done.stdout}{done.stderr}")
    return {"rate": float(rate[1]), "count": int(count[1]),
            "p99": times[len(times) * 99 // 100] / 1000 if times else None}


class SQLBase:
    """The yardstick by pgbench, on the database of a running Hermes."""

    def __init__(self, hermes, variant):
        self.variant, self.file, self.database = variant, variant.write(hermes.folder), hermes.database
        self.costs, self.openings = Costs(postgres=hermes.postgres_cpu_seconds), {}

    def pgbench(self, clients, *length):
        return self.costs.of(lambda: pgbench(self.database, self.file, self.variant.settings, clients, *length))

    def measure(self, clients, seconds):
        """Rate, count, and PostgreSQL's µs a transaction without what opening the connections costs."""
        if clients not in self.openings:
            answer = self.pgbench(clients, "-t", 1)
            self.openings[clients] = answer["postgres"] * answer["count"]
        answer = self.pgbench(clients, "-T", seconds)
        answer["postgres"] = max(0, answer["postgres"] - self.openings[clients] / answer["count"])
        return answer


class BcryptBase:
    """Hashes of cost 10, as many as the cores compute."""

    def measure(self, clients, seconds):
        return bcrypt(clients, seconds)


def hash_passwords(seconds, results):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import crypt
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        crypt.crypt("viaje-0", "$2b$10$CwTycUXWue0Thq9StjUM0u")
        count += 1
    results.put((count, time.perf_counter() - began))


def on_cores(work, arguments):
    """What `work` puts into a queue, done by a process for each of the arguments, all at once."""
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(*some, results)) for some in arguments]
    for process in processes:
        process.start()
    parts = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return parts


def bcrypt(clients, seconds):
    """Hashes of cost 10 that the cores compute each second."""
    parts = on_cores(hash_passwords, [(seconds,)] * min(clients, os.cpu_count()))
    return {"rate": sum(count / took for count, took in parts), "count": sum(count for count, _ in parts)}


class Costs:
    """Processor time and load of one request: runs `load` and adds µs a request of each named program to its answer."""

    def __init__(self, **programs):
        self.programs = programs

    def of(self, load):
        before = {name: seconds() for name, seconds in self.programs.items()}
        answer = load()
        # What has ended is counted only after its parent has noticed.
        time.sleep(0.1)
        for name, seconds in self.programs.items():
            answer[name] = (seconds() - before[name]) / max(answer["count"], 1) * 1e6
        return answer


def busy(seconds=1):
    """The share of the processors' time that is being used."""
    def times():
        fields = [int(f) for f in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]
    total, idle = times()
    time.sleep(seconds)
    all_after, idle_after = times()
    return 1 - (idle_after - idle) / max(all_after - total, 1)


def look_at_clock(core, seconds, results):
    os.sched_setaffinity(0, {core})
    found, last = [], time.perf_counter()
    until = last + seconds
    while last < until:
        now = time.perf_counter()
        if now - last > 0.001:
            found.append(now - last)
        last = now
    results.put(found)


def gaps(seconds):
    """For how long the machine keeps a program waiting that does nothing but look at the clock, on each core: the share
    of the time that gaps of a millisecond or more take, how many there are each second, the longest in milliseconds."""
    found = on_cores(look_at_clock, [(core, seconds) for core in os.sched_getaffinity(0)])
    all_gaps = [gap for some in found for gap in some]
    return {"share": sum(all_gaps) / seconds / len(found), "rate": len(all_gaps) / seconds / len(found),
            "longest": max(all_gaps, default=0) * 1000}
