"""The guides at `/docs/guides`: the Markdown files of `docs/guides`, each made into a page once.

`edge/docs/guides` is a link to that folder, so that there is one copy; the wheel holds the files.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from laari.edge.pages.assets import URLS

HOME = "/docs/guides"
_DOCS = Path(__file__).parent / "docs"
FOLDER = _DOCS / "guides"

# In reading order. Code hosts show the first one for the folder.
GUIDES = (
    "README",
    "quick-start",
    "checkout",
    "payment-requests",
    "authorizations",
    "refunds-and-payouts",
    "webhooks",
    "idempotency",
    "sandbox",
    "going-live",
    "errors",
)
PATHS = {HOME if name == "README" else f"{HOME}/{name}": name for name in GUIDES}


class GuideEntry(NamedTuple):
    path: str
    title: str


def guide_page(path: str) -> bytes:
    """The page at one of `PATHS`."""
    # Imported late: payments need neither Markdown nor coloured code.
    from laari.edge.reference import guide_text  # noqa: PLC0415

    entries = _entries()
    place = list(PATHS).index(path)
    text = guide_text.render(
        _source(PATHS[path]), {f"{name}.md": path for path, name in PATHS.items()}
    )
    page = _template().render(
        guide=entries[place],
        text=text,
        guides=entries,
        before=entries[place - 1] if place else None,
        after=entries[place + 1] if place + 1 < len(entries) else None,
        asset=URLS.__getitem__,
    )
    return page.encode()


def _source(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


@cache
def _entries() -> tuple[GuideEntry, ...]:
    return tuple(GuideEntry(path, _title(_source(name))) for path, name in PATHS.items())


def _title(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("# ")).removeprefix("# ")


@cache
def _template() -> Template:
    return Environment(
        loader=FileSystemLoader(_DOCS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("guide.html")
