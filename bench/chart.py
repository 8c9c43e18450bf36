"""The chart of the docs: bars of requests per second, the service beside the others."""

from typing import Any
from xml.sax.saxutils import escape

CLIENTS = 64
WIDTH, LABELS, BAR, GAP = 760, 270, 16, 14
COLOURS = {"laari": "#0f766e", "pgbench": "#94a3b8", "echo": "#cbd5e1"}
PEER = "#d6a77a"
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1e293b}.quiet{fill:#64748b}"
    "@media(prefers-color-scheme:dark){text{fill:#e2e8f0}.quiet{fill:#94a3b8}}"
)


def draw(results: dict[str, Any]) -> str:
    """Each workload's bars on a scale of their own: what counts is one beside the other."""
    parts: list[str] = []
    top = 40
    for row in results["rows"]:
        if row["clients"] != CLIENTS or len(row["figures"]) == 1:
            continue
        top = _group(parts, row, top)
    machine = results["machine"]
    title = f"Requests per second, {CLIENTS} clients, {machine['processors']} processors"
    about = "Bars of the service beside the others that were measured in turn with it."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">'
        f"<title>{escape(title)}</title><desc>{about}</desc><style>{STYLE}</style>"
        f'<text x="0" y="20" font-weight="600">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _group(parts: list[str], row: dict[str, Any], top: int) -> int:
    figures: dict[str, dict[str, float]] = row["figures"]
    most = max(figure["highest"] for figure in figures.values())
    room = WIDTH - LABELS - 90
    for number, (name, figure) in enumerate(figures.items()):
        y = top + number * (BAR + 3)
        length = max(2, round(room * figure["per_second"] / most))
        low, high = (round(LABELS + room * figure[end] / most) for end in ("lowest", "highest"))
        label = row["title"] if name == "laari" else name
        middle, text, end = y + BAR / 2, y + BAR - 4, high + 8
        quiet = ' class="quiet"' if number else ""
        parts.append(
            f'<text x="{LABELS - 8}" y="{text}" text-anchor="end"{quiet}>'
            f"{escape(label)}</text>"
            f'<rect x="{LABELS}" y="{y}" width="{length}" height="{BAR}" rx="2" '
            f'fill="{COLOURS.get(name, PEER)}"/>'
            f'<path d="M{low} {middle}H{high}" stroke="#1e293b" opacity=".5"/>'
            f'<text x="{end}" y="{text}" class="quiet">'
            f"{figure['per_second']:,.0f}</text>"
        )
    return top + len(figures) * (BAR + 3) + GAP
