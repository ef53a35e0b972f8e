"""--profile: one scenario under perf; where the processor time of Hermes goes, by room, and PostgreSQL's by function."""
import re
import shutil
import subprocess
from collections import Counter

from load import Costs, wrk
from server import Hermes, say, stop

ROOMS = ["Core", "Postgres", "HTTP", "Wire", "Schema", "Store", "Accounts", "Server", "hermes"]
# A mangled name begins with the module: $s5Store… ; of a type of the library that a room extends, it follows later.
MODULE = re.compile(r"(?:" + "|".join(f"{len(room)}{room}" for room in ROOMS) + r")(?=[A-Z]|\d)")


def room_of(symbol):
    if symbol.startswith(("$s", "$S")):
        match = MODULE.search(symbol)
        return match and re.sub(r"^\d+", "", match[0])
    return None


def samples(script):
    """Each sample's frames, innermost first: [(symbol, object)]."""
    frames = []
    for line in script:
        if not line.strip():
            if frames:
                yield frames
            frames = []
        elif match := re.match(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*?)\)\s*$", line):
            frames.append((match[1], match[2].rsplit("/", 1)[-1]))
    if frames:
        yield frames


def demangled(symbols):
    if not symbols or not shutil.which("swift-demangle"):
        return {s: s for s in symbols}
    done = subprocess.run(["swift-demangle", "--simplified", "--compact"], input="\n".join(symbols), capture_output=True, text=True)
    return dict(zip(symbols, done.stdout.splitlines()))


def where(frame):
    """What kind of code the innermost frame is."""
    symbol, binary = frame
    if "kernel" in binary or binary in ("[unknown]", "[vdso]"):
        return "kernel"
    if binary.startswith("lib"):
        return re.sub(r"\.so.*", "", binary)
    if symbol.startswith(("swift_", "_swift", "$ss", "$sS", "$ss")) and not room_of(symbol) or "swift" in symbol[:12]:
        return "Swift's runtime"
    return "own code"


def record(process_ids, seconds, file):
    return subprocess.Popen(
        ["perf", "record", "-q", "-F", "997", "--call-graph", "dwarf,8192", "-p", ",".join(map(str, process_ids)), "-o", file,
         "--", "sleep", str(seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def read(file):
    script = subprocess.Popen(["perf", "script", "-i", file, "-F", "ip,sym,symoff,dso", "--no-inline"], text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    yield from samples(script.stdout)
    script.wait()


class Profile:
    def __init__(self, file):
        self.total, self.rooms, self.kinds, self.own, self.within = 0, Counter(), {}, Counter(), {}
        for frames in read(file):
            self.total += 1
            room = next((r for symbol, _ in frames if (r := room_of(symbol))), "nobody's")
            self.rooms[room] += 1
            self.kinds.setdefault(room, Counter())[where(frames[0])] += 1
            self.own[(room, frames[0][0])] += 1
            for symbol in {symbol for symbol, _ in frames}:
                self.within.setdefault(room_of(symbol) or where((symbol, "")), Counter())[symbol] += 1
        if not self.total:
            stop("perf took no samples")

    def share(self, count):
        return f"{count / self.total:6.1%}"

    def show(self, title, most=12, inclusive=ROOMS):
        names = {s for _, s in self.own} | {s for counter in self.within.values() for s in counter}
        readable = demangled(sorted(names))
        print(f"\n{title}: {self.total:,} samples")
        if self.rooms.keys() - {"nobody's"}:
            print("\nby the room that the work is done for (and the code that runs):")
            for room, count in self.rooms.most_common():
                kinds = ", ".join(f"{kind} {self.share(n).strip()}" for kind, n in self.kinds[room].most_common(5))
                print(f"{self.share(count)}  {room:<10} {kinds}")
        print("\nfunctions by themselves, for whom:")
        for (room, symbol), count in self.own.most_common(most * 3):
            print(f"{self.share(count)}  {room:<10} {readable[symbol][:130]}")
        for room in inclusive:
            if room in self.within:
                print(f"\n{room}, with all that they call:")
                for symbol, count in self.within[room].most_common(most):
                    print(f"{self.share(count)}  {readable[symbol][:140]}")


def profile(options, prepare):
    """Runs the scenarios that `options.profile` names, one after the other, and prints where their time goes."""
    if not shutil.which("perf"):
        stop("--profile needs perf: apt-get install linux-perf")
    options.only = options.profile.split(",")
    hermes = Hermes(options.program)
    try:
        chosen, _ = prepare(hermes, options)
        for scenario in chosen:
            show(hermes, scenario, max(options.clients), max(options.seconds, 5))
    finally:
        hermes.close()


def show(hermes, scenario, clients, seconds):
    say(f"{scenario.title}: the statements of one request")
    request = scenario.requests[len(scenario.requests) // 2]
    sent = hermes.statements(scenario.requests[0], request, scenario.session)
    wrk(hermes.port, scenario.file, clients, 2)
    # Before each measurement: passwords of clients that are gone may still be hashed, and no more are taken meanwhile.
    hermes.program.settle()
    say(f"{scenario.title}: {clients} clients")
    costs = Costs(cpu=hermes.program.cpu_seconds, postgres=hermes.postgres_cpu_seconds)
    bare = costs.of(lambda: wrk(hermes.port, scenario.file, clients, seconds))
    files = {}
    hermes.program.settle()
    for name, processes in (("Hermes", [hermes.program.process.pid]), ("PostgreSQL", hermes.postgres_processes())):
        say(f"{scenario.title}: {clients} clients, {name} under perf")
        files[name] = hermes.folder / f"{name}.perf"
        perf = record(processes, seconds, files[name])
        wrk(hermes.port, scenario.file, clients, seconds + 1)
        _, said = perf.communicate()
        if perf.returncode:
            stop(f"perf: {said.decode()}")
        hermes.program.settle()
    print(f"{scenario.title}, {clients} clients, without perf: {bare['rate']:,.0f}/s, Hermes {bare['cpu']:.1f} µs, "
          f"PostgreSQL {bare['postgres']:.1f} µs a request, p50 {bare['p50']:.2f} ms, p99 {bare['p99']:.2f} ms")
    print("\nPostgreSQL is asked:")
    for statement, count in Counter(sent).items():
        print(f"  {count} × {statement}")
    Profile(files["Hermes"]).show("Hermes")
    Profile(files["PostgreSQL"]).show("PostgreSQL", inclusive=["own code"], most=20)
    hermes.sql(*scenario.tidy, "SELECT")
