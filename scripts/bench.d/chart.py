"""docs/benchmarks.svg: Hermes beside the best SQL and beside Parse Server, one group of bars a request."""
from html import escape

# What Parse Server, the reference, did at 64 clients when it was measured once on the same machine: requests each
# second, least and most.
REFERENCE = {"get": (1640, 1870), "find": (520, 640), "comments": (710, 830), "create": (1690, 1690)}

# Colours that tell the bars apart on white and on black, also for those who don't see red and green as two.
STYLE = """
    text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 13px; fill: #59636e; }
    .title { font-size: 17px; font-weight: 600; fill: #1f2328; }
    .name { font-size: 14px; font-weight: 600; fill: #1f2328; }
    .value { fill: #1f2328; }
    .best { fill: #afb8c1; } .hermes { fill: #2f6fd0; } .parse { fill: #d97b29; }
    .line { stroke: #d1d9e0; stroke-width: 1; }
    @media (prefers-color-scheme: dark) {
        text { fill: #9198a1; }
        .title, .name, .value { fill: #f0f6fc; }
        .best { fill: #59636e; } .hermes { fill: #5b9bf5; } .parse { fill: #e8964a; }
        .line { stroke: #3d444d; }
    }"""

LEFT, FULL, RIGHT = 240, 400, 195
TOP, BAR, GAP, GROUP = 128, 13, 3, 22


def draw(result):
    """Bars at the highest number of clients; the best SQL (or bcrypt) is as long in each group."""
    clients = max(row["clients"] for row in result["rows"])
    rows = [row for row in result["rows"] if row["clients"] == clients and "ratio" in row and not row["key"].startswith("same")]
    parts, y = [], TOP
    for row in rows:
        base = "bcrypt" if "base_postgres" not in row else "the best SQL"
        bars = [("best", row["base"], number(row["base"])),
                ("hermes", row["rate"], f"{number(row['rate'])} · {row['ratio']:.2f} of {base}")]
        if reference := REFERENCE.get(row["key"]):
            low, high = reference
            bars.append(("parse", (low + high) / 2, number(low) + (f"–{number(high)}" if high > low else "")))
        height = len(bars) * (BAR + GAP) - GAP
        parts.append(f'<text class="name" x="{LEFT - 14}" y="{y + height / 2 + 5:g}" text-anchor="end">{escape(row["title"])}</text>')
        for style, value, label in bars:
            width = max(2, FULL * min(value / row["base"], 1.2))
            parts.append(f'<rect class="{style}" x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR}" rx="2"/>')
            parts.append(f'<text class="value" x="{LEFT + width + 8:.0f}" y="{y + 11}">{escape(label)}</text>')
            y += BAR + GAP
        y += GROUP - GAP
    axis = f'<path class="line" d="M{LEFT - .5} {TOP - 10}V{y - GROUP + 10}"/>'
    y += 10
    legend = []
    for index, (style, label) in enumerate((
            ("best", "the best SQL by pgbench, without HTTP (log-in: bcrypt)"), ("hermes", "Hermes, over HTTP"),
            ("parse", "Parse Server, over HTTP, as measured earlier on the same machine"))):
        legend += [f'<rect class="{style}" x="16" y="{46 + index * 20}" width="12" height="12" rx="2"/>',
                   f'<text x="36" y="{57 + index * 20}">{label}</text>']
    notes = [f"{result['date']}, {result['cores']} cores shared by load generator, server and PostgreSQL; median of "
             f"{result['rounds']} rounds of {result['seconds']} s."]
    if result["busy"] > 0.1:
        notes.append(f"Other programs used {result['busy']:.0%} of the processors when it began: these figures say little.")
    width = LEFT + FULL + RIGHT
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 20 * len(notes) - 4}" role="img">',
        f"<title>Requests each second at {clients} clients</title>", f"<style>{STYLE}\n</style>",
        f'<text class="title" x="16" y="30">Requests each second at {clients} clients</text>',
        *legend, axis, *parts,
        *(f'<text x="16" y="{y + 20 * line}">{note}</text>' for line, note in enumerate(notes)), "</svg>"]) + "\n"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
