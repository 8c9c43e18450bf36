"""English and Dhivehi: which one a visitor reads, and the texts from their message files."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from laari.edge.pages.bidi import isolated

_MOST_LISTED = 20  # languages that a browser may ask for
_FOLDER = Path(__file__).parent / "messages"


class Language(NamedTuple):
    """A language with its texts, by names such as `checkout.pay`."""

    code: str
    direction: str
    name: str  # in the language itself
    texts: dict[str, str]

    def text(self, name: str, /, **values: object) -> Markup:
        """The text with its values put in, everything escaped that is not markup already."""
        template = escape(self.texts[name])
        apart = {name: _kept_apart(value) for name, value in values.items()}
        return template.format(**apart) if apart else template


def _kept_apart(value: object) -> object:
    return isolated(value) if type(value) is str else value


def _read(code: str, direction: str) -> Language:
    tables = tomllib.loads((_FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    texts = {
        f"{table}.{name}": text
        for table, entries in tables.items()
        for name, text in entries.items()
    }
    return Language(code, direction, texts["language.name"], texts)


ENGLISH = _read("en", "ltr")
DHIVEHI = _read("dv", "rtl")
LANGUAGES = {language.code: language for language in (ENGLISH, DHIVEHI)}


def choose(chosen: str | None, accepted: str) -> Language:
    """What the visitor chose, else the first of the browser's languages that we have."""
    if chosen in LANGUAGES:
        return LANGUAGES[chosen]
    ranked: list[tuple[float, int, str]] = []
    for place, item in enumerate(accepted.split(",", _MOST_LISTED)[:_MOST_LISTED]):
        tag, _, parameters = item.partition(";")
        code = tag.strip().lower().partition("-")[0]
        if code in LANGUAGES:
            ranked.append((-_weight(parameters), place, code))
    return LANGUAGES[min(ranked)[2]] if ranked else ENGLISH


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
