"""A run's figures as a table for the terminal, and in docs/benchmarks.md with its chart."""

import chart

P99_OF_GET, MEMORY_REST, MEMORY_LOAD, START = 6, 40, 100, 100


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def time(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def micro(row, name):
    return f"{row[name]:,.0f}" if row.get(name, 0) >= 20 else f"{row[name]:.1f}" if name in row else ""


def size(count):
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


HEAD = ["request", "clients", "best SQL or bcrypt, /s", "Hermes, /s", "ratio", "target", "p50, ms", "p99, ms",
        "p99 with the best SQL, ms", "Hermes, µs", "PostgreSQL, µs", "PostgreSQL with the best SQL, µs"]
SHORT = ["request", "clients", "best/s", "Hermes/s", "ratio", "target", "p50 ms", "p99 ms", "p99 best ms",
         "Hermes µs", "PG µs", "PG best µs"]


def cells(row):
    return [
        row["title"], str(row["clients"]), number(row["base"]) if "base" in row else "", number(row["rate"]),
        f"{row['ratio']:.2f}" if "ratio" in row else "", f"{row['target']:.2f}" if row.get("target") else "",
        time(row["p50"]), time(row["p99"]), time(row["base_p99"]) if "base_p99" in row else "", micro(row, "cpu"),
        micro(row, "postgres"), micro(row, "base_postgres"),
    ]


def others(result):
    """Figures beside the throughput: what, measured, bound, whether it is kept."""
    def under(name, value, bound, unit):
        shown = f"{value:.1f}" if value < 10 else f"{value:.0f}"
        return name, f"{shown} {unit}", f"under {bound} {unit}", value < bound
    get = [r["p99"] for r in result["rows"] if r["key"] == "get" and r["clients"] == 64]
    return [under("99th percentile of a get, 64 clients", value, P99_OF_GET, "ms") for value in get] + [
        under("resident memory at rest", result["memory_rest"], MEMORY_REST, "MB"),
        under("most resident memory under load", result["memory_load"], MEMORY_LOAD, "MB"),
        under("start, PostgreSQL running, to the first answer", result["start"], START, "ms"),
        ("start from nothing, initdb included, to the first answer", f"{result['first_start'] / 1000:.1f} s", "", True),
    ]


def missed(result):
    """What was aimed at and not reached."""
    return result["faults"] + [
        f"{row['title']}, {row['clients']} clients: {row['ratio']:.2f} of the yardstick, not {row['target']:.2f}"
        for row in result["rows"] if row.get("target") and row["ratio"] < row["target"]
    ] + [f"{name}: {value}, not {bound}" for name, value, bound, kept in others(result) if not kept]


def text_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) for row in rows]


def trials(result):
    """Of the yardstick's variants, which one was taken."""
    for key, found in result["yardstick"].items():
        if found["trial"]:
            title = next(row["title"] for row in result["rows"] if row["key"] == key)
            rates = ", ".join(f"{variant} {number(rate)}/s" for variant, rate in found["trial"].items())
            yield f"{title}: the yardstick is *{found['best']}* (in the trial: {rates})."


def table(result):
    lines = text_table([SHORT] + [cells(row) for row in result["rows"]])
    lines += [""] + [f"{name}: {value}{f' ({bound})' if bound else ''}" for name, value, bound, _ in others(result)]
    return "\n".join(lines + [line.replace("*", "") for line in trials(result)])


def markdown_table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| --- |" + " ---: |" * (len(rows[0]) - 1)] + lines[1:])


def waits(machine):
    """What the machine itself does to a 99th percentile."""
    found = machine["gaps"]
    return (f"a program that only looked at the clock was kept waiting for {found['share']:.1%} of the time before the run, "
            f"{found['rate']:.0f} times a second for a millisecond or more on each core, {time(found['longest'])} ms at most")


def circumstances(result):
    """Where and how it was measured."""
    used = "" if result["busy"] <= 0.1 else (
        f" **Other programs used {result['busy']:.0%} of the processors when the run began: these figures say little.**")
    return (f"{result['date']}; Hermes {result['hermes']}, PostgreSQL {result['postgresql']}, Swift {result['swift']}; "
            f"{result['cores']} cores and {result['memory']} GB of memory for Hermes, PostgreSQL and the load generator "
            f"together. Median of {result['rounds']} rounds of {result['seconds']} s, in turns. On this machine "
            f"{waits(result)}.{used}")


def markdown(result):
    figures = [["", "measured", "target"]] + [list(row[:3]) for row in others(result)]
    return "\n\n".join([
        circumstances(result), markdown_table([HEAD] + [cells(row) for row in result["rows"]]),
        *trials(result), markdown_table(figures)])


# The page

def replace(page, name, text):
    """Puts `text` between the page's marks of that name; the rest of it is written by hand."""
    marks = [f"<!-- {name}: written by scripts/bench -->", f"<!-- {name}: end -->"]
    before, rest = page.read_text().split(marks[0], 1)
    after = rest.split(marks[1], 1)[1]
    page.write_text(f"{before}{marks[0]}\n\n{text}\n\n{marks[1]}{after}")


def write(result, folder):
    replace(folder / "benchmarks.md", "rounds", markdown(result))
    (folder / "benchmarks.svg").write_text(chart.draw(result))
