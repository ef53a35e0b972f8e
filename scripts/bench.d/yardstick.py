"""The hand-written SQL of yardstick.sql, as scripts for pgbench; and whether it does what it claims."""
import json
import re
from pathlib import Path

from server import stop


class Variant:
    """One pgbench script: what it draws by chance, its statements, and what their plans must show."""

    def __init__(self, name, title):
        self.name, self.title, self.draws, self.plans, self.lines = name, title, {}, [], []
        # Planned once for each connection.
        self.settings = ["plan_cache_mode=force_generic_plan"]

    @property
    def statements(self):
        return [text.strip() for text in re.split(r";\s*$", "\n".join(self.lines), flags=re.M) if text.strip()]

    def prepared(self, statement, sample):
        """The statement with $1, $2 … as pgbench prepares it, and the sample's values as arguments of EXECUTE."""
        names = []

        def number(match):
            if match[1] not in self.draws:
                return match[0]
            if match[1] not in names:
                names.append(match[1])
            return f"${names.index(match[1]) + 1}"

        text = re.sub(r"(?<!:):([a-z]+)\b", number, statement)
        arguments = ", ".join(f"'{sample[name]}'" for name in names)
        return text, f"({arguments})" if names else ""

    def write(self, folder):
        file = folder / (re.sub(r"\W+", "-", f"{self.name} {self.title}").strip("-") + ".sql")
        draws = [f"\\set {name} random({low}, {high})" for name, (low, high) in self.draws.items()]
        file.write_text("\n".join(draws + [statement + ";" for statement in self.statements]) + "\n")
        return file


def read(literals):
    """The variants of each name, with the literals written in."""
    found, variant = {}, None
    for line in Path(__file__).with_name("yardstick.sql").read_text().splitlines():
        if match := re.match(r"-- name: (.*)", line):
            variant = Variant(match[1], "")
            found[match[1]] = [variant]
        elif match := re.match(r"-- variant: (.*)", line):
            if not variant.title:
                variant.title = match[1]
            else:
                variant = Variant(variant.name, match[1])
                found[variant.name].append(variant)
        elif match := re.match(r"-- plan: (.*)", line):
            variant.plans.append(match[1])
        elif match := re.match(r"-- set: (.*)", line):
            variant.settings += match[1].split()
        elif match := re.match(r"\\set (\w+) random\((\d+), (\d+)\)", line):
            variant.draws[match[1]] = (int(match[2]), int(match[3]))
        elif variant and not line.startswith("--"):
            variant.lines.append(re.sub(r"(?<!:):([a-z]+)\b", lambda m: literals.get(m[1], m[0]), line))
    for variant in (v for variants in found.values() for v in variants):
        for name in re.findall(r"(?<!:):(\w+)", "\n".join(variant.lines)):
            if name not in variant.draws:
                stop(f"yardstick.sql, {variant.name}: pgbench would take :{name} for a variable")
    return found


def faults(variant, sql):
    """Where the generic plans are not as the file says."""
    plans = []
    settings = " ".join(f"SET {setting};" for setting in variant.settings)
    for statement in variant.statements:
        text, arguments = variant.prepared(statement, {name: high for name, (_, high) in variant.draws.items()})
        plans += sql(f"{settings} PREPARE y AS {text}; EXPLAIN (COSTS OFF) EXECUTE y{arguments}")
    wrong = []
    for expected in variant.plans:
        unwanted, part = expected.startswith("not "), expected.removeprefix("not ")
        if any(part in line for line in plans) == unwanted:
            what = ", ".join(filter(None, (variant.name, variant.title)))
            wrong.append(f"{what}: the plan {'has' if unwanted else 'lacks'} “{part}”:\n" + "\n".join(plans))
    return wrong


def rows(variant, sql, sample):
    """What the first statement answers for a sample, as JSON objects; of columns with one name, the first."""
    def value(match):
        given = sample.get(match[1])
        return match[0] if given is None else str(given) if isinstance(given, int) else f"'{given}'"

    def first(pairs):
        return dict(reversed(pairs))

    text = re.sub(r"(?<!:):([a-z]+)\b", value, variant.statements[0])
    return [json.loads(line, object_pairs_hook=first) for line in sql(f"SELECT to_json(y) FROM ({text}) y")]
