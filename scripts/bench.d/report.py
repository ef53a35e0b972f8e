"""A run's figures as a table for the terminal, as docs/benchmarks.md and as docs/benchmarks.svg."""
from html import escape

# At 64 clients: the least share of pgbench's rate, or of bcrypt's.
TARGETS = {"get": 0.40, "find": 0.40, "create": 0.5, "login": 0.9}
NOTES = "<!-- Below this line scripts/bench changes nothing. -->"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def time(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cells(row):
    target = TARGETS.get(row["key"]) if row["clients"] == 64 else None
    return [
        row["title"], str(row["clients"]), number(row["base"]) if "base" in row else "", number(row["rate"]),
        f"{row['ratio']:.2f}" if "ratio" in row else "", f"{target:.2f}" if target else "",
        time(row["p50"]), time(row["p99"]), f"{row['cpu']:.0f}" if "cpu" in row else "",
    ]


HEAD = ["request", "clients", "PostgreSQL or bcrypt alone, /s", "Hermes, /s", "ratio", "target", "p50, ms", "p99, ms", "CPU, µs"]


def others(result):
    """Figures beside the throughput: what, measured, target."""
    get = next((r for r in result["rows"] if r["key"] == "get" and r["clients"] == 64), None)
    rows = [("99th percentile of a get, 64 clients", f"{get['p99']:.1f} ms", "under 10 ms")] if get else []
    return rows + [
        ("resident memory at rest", f"{result['memory_rest']:.0f} MB", "under 40 MB"),
        ("most resident memory under load", f"{result['memory_load']:.0f} MB", "under 100 MB"),
        ("start, PostgreSQL running, to the first answer", f"{result['start']:.0f} ms", "under 100 ms"),
    ]


def table(result):
    rows = [HEAD] + [cells(row) for row in result["rows"]]
    rows[0] = ["request", "clients", "alone/s", "Hermes/s", "ratio", "target", "p50 ms", "p99 ms", "CPU µs"]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join(lines + [""] + [f"{name}: {value} ({target})" for name, value, target in others(result)])


def markdown_table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| --- |" + " ---: |" * (len(rows[0]) - 1)] + lines[1:])


def markdown(result):
    statements = "\n\n".join(
        f"{row['title']}:\n\n" + "\n".join("    " + line for line in result["sql"][row["key"]])
        for row in result["rows"] if row["clients"] == max(r["clients"] for r in result["rows"]) and row["key"] in result["sql"])
    return f"""# Benchmarks

This page and its chart are made by `scripts/bench` ({result['date']}; {result['cores']} cores, {result['memory']} GB of
memory, shared by Hermes, PostgreSQL and the load generator; Hermes {result['hermes']}, PostgreSQL
{result['postgresql']}, Swift {result['swift']}). Median of {result['rounds']} rounds of {result['seconds']} s, all of
them taking turns in one run; the ratio is the median of the rounds' ratios. The machine's load average was
{result['load']:.1f} at the end: where it is far above what {result['cores']} cores do, other programs were running, and the figures say little.

![Hermes beside PostgreSQL alone](benchmarks.svg)

{markdown_table([HEAD] + [cells(row) for row in result["rows"]])}

{markdown_table([("", "measured", "target")] + others(result))}

## What is measured

A forum of 200 members, 1,000 topics and 10,000 comments, filled by `scripts/seed`. Hermes is asked over HTTP with its
application id and a session token; class permissions and ACLs are checked; wrk draws on 1,000 different requests.

- *PostgreSQL alone* is pgbench with prepared statements over the same Unix socket, on the same database, with the
  statements that Hermes itself sent (taken down from PostgreSQL's log; below).
- For the log-in it is bcrypt alone: hashes of cost 10 computed by as many processes as there are cores.
- *bare hello* is the same HTTP room answering 13 bytes, without a database.
- *CPU* is Hermes' own processor time for each request, all threads together; it depends least on what else runs.

{statements}
"""


def write(result, folder):
    page = folder / "benchmarks.md"
    notes = ""
    if page.exists() and NOTES in page.read_text():
        notes = "\n" + NOTES + page.read_text().split(NOTES, 1)[1]
    page.write_text(markdown(result) + notes)
    (folder / "benchmarks.svg").write_text(chart(result))


def chart(result):
    """Bars at the highest number of clients: the rate beside PostgreSQL's (or bcrypt's) own, which is 1."""
    clients = max(row["clients"] for row in result["rows"])
    rows = [row for row in result["rows"] if row["clients"] == clients and "ratio" in row]
    left, full, height = 230, 420, 44
    width, top = left + full + 130, 64
    end = top + height * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {end + 40}" font-family="sans-serif" font-size="14">',
        f'<rect width="{width}" height="{end + 40}" fill="#fff"/>',
        f'<text x="16" y="26" font-size="17" font-weight="bold" fill="#222">Requests each second at {clients} clients</text>',
        '<text x="16" y="46" fill="#666">Hermes (blue) beside the same statements by pgbench alone, or bcrypt alone (grey); '
        'line: the target</text>',
    ]
    for index, row in enumerate(rows):
        y = top + index * height
        share = full * min(row["ratio"], 1.15)
        parts += [
            f'<text x="{left - 10}" y="{y + 24}" text-anchor="end" fill="#222">{escape(row["title"])}</text>',
            f'<rect x="{left}" y="{y + 4}" width="{full}" height="12" fill="#c8ccd0"/>',
            f'<text x="{left + full + 8}" y="{y + 15}" fill="#666" font-size="12">{number(row["base"])}</text>',
            f'<rect x="{left}" y="{y + 18}" width="{share:.0f}" height="14" fill="#2f6fd0"/>',
            f'<text x="{left + share + 8:.0f}" y="{y + 30}" fill="#222" font-size="12">'
            f'{number(row["rate"])} ({row["ratio"]:.2f})</text>',
        ]
        if row["key"] in TARGETS and clients == 64:
            x = left + full * TARGETS[row["key"]]
            parts.append(f'<path d="M{x:.0f} {y + 2}v32" stroke="#d04040" stroke-width="2"/>')
    parts.append(f'<text x="16" y="{end + 24}" fill="#666" font-size="12">{result["date"]}, {result["cores"]} cores shared '
                 'with PostgreSQL and the load generator</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"
