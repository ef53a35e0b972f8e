"""What cloud code costs: creates in classes with and without hooks, and functions. One server, in turns."""
import json
import os
import statistics
import tempfile
from pathlib import Path

from load import wrk
from server import API, ROOT, Hermes, Program, free_port, say

# The application of Sources/benchhooks serves all that Hermes serves, with compiled hooks on one class.
PROGRAM = ROOT / ".build/release/benchhooks"

JAVASCRIPT = """
Parse.Cloud.beforeSave('ConJavaScript', () => {});
Parse.Cloud.define('eco', ({ params }) => params);
"""

BODY = json.dumps({"Tema": "El camino de Santiago en bicicleta", "votos": 7, "etiquetas": ["bici", "norte"]})


class Case:
    def __init__(self, key, title, path, target, against="plain"):
        self.key, self.title, self.path, self.target, self.against = key, title, path, target, against

    def write(self, folder):
        self.file = folder / f"hooks-{self.key}.lua"
        text = BODY.replace('"', '\\"')
        self.file.write_text(
            'return { headers = {["X-Parse-Application-Id"] = "bench", ["Content-Type"] = "application/json"}, '
            f'requests = {{ {{"POST", "{self.path}", "{text}"}} }} }}\n')


CASES = [
    Case("plain", "create, no hook", f"{API}/classes/SinGanchos", None),
    Case("swift", "create, Swift before and after", f"{API}/classes/ConSwift", 0.9),
    Case("javascript", "create, JavaScript before", f"{API}/classes/ConJavaScript", 0.6),
    Case("webhook", "create, webhook before", f"{API}/classes/ConWebhook", 0.2),
    Case("function", "JavaScript function that answers its parameters", f"{API}/functions/eco", 20_000),
]


def run(options, versions, machine):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        script = Path(folder) / "main.js"
        script.write_text(JAVASCRIPT)
        os.chmod(folder, 0o755)
        hermes = Hermes(PROGRAM, more=["--cloud", script])
        hook = None
        try:
            port = free_port()
            hook = Program([ROOT / ".build/release/hello", str(port), str(os.cpu_count())])
            hook.wait_ready(port, "/hook")
            fields = {"Tema": {"type": "String"}, "votos": {"type": "Number"}, "etiquetas": {"type": "Array"}}
            for name in ("SinGanchos", "ConSwift", "ConJavaScript", "ConWebhook"):
                hermes.request("POST", f"{API}/schemas/{name}", json.dumps({"className": name, "fields": fields}),
                               master=True)
            hermes.request("POST", f"{API}/hooks/triggers", json.dumps(
                {"className": "ConWebhook", "triggerName": "beforeSave", "url": f"http://127.0.0.1:{port}/hook"}),
                master=True)
            rounds = {}
            for case in CASES:
                case.write(hermes.folder)
            for number in range(options.rounds):
                for case in CASES if number % 2 == 0 else CASES[::-1]:
                    say(f"round {number + 1} of {options.rounds}: {case.title}")
                    rounds.setdefault(case.key, []).append(
                        wrk(hermes.port, case.file, max(options.clients), options.seconds))
                    hermes.program.settle()
            rows = []
            for case in CASES:
                rate = statistics.median(m["rate"] for m in rounds[case.key])
                ratio = statistics.median(
                    m["rate"] / p["rate"] for m, p in zip(rounds[case.key], rounds[case.against]))
                rows.append({
                    "key": case.key, "title": case.title, "rate": rate, "ratio": ratio, "target": case.target,
                    "p50": statistics.median(m["p50"] for m in rounds[case.key]),
                    "p99": statistics.median(m["p99"] for m in rounds[case.key])})
            hermes.binary = ROOT / ".build/release/hermes"  # which knows its version
            return {**versions(hermes, options, machine), "rows": rows}
        finally:
            if hook:
                hook.end()
            hermes.close()


def table(result):
    lines = [f"{'':48} {'rate/s':>9} {'ratio':>6} {'target':>7} {'p50 ms':>7} {'p99 ms':>7}"]
    for row in result["rows"]:
        target = "" if row["target"] is None else f"{row['target']:g}"
        lines.append(f"{row['title']:48} {row['rate']:9,.0f} {row['ratio']:6.2f} {target:>7} "
                     f"{row['p50']:7.2f} {row['p99']:7.2f}")
    return "\n".join(lines)
