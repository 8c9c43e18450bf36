"""English and Dhivehi: the choice of the language, and the texts of the message files."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from laari.edge.pages.bidi import isolated_value

_MOST_LISTED = 20  # languages in a browser's list
_FOLDER = Path(__file__).parent / "messages"


class Language(NamedTuple):
    """A language with its texts, by names such as `checkout.pay`."""

    code: str
    direction: str
    name: str  # in the language itself
    texts: dict[str, str]

    def text(self, name: str, /, **values: object) -> Markup:
        """The text with its values; everything except markup is escaped."""
        template = escape(self.texts[name])
        shown = {name: isolated_value(value) for name, value in values.items()}
        return template.format(**shown) if shown else template


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
    """The language that the person chose, else the best of the browser's languages."""
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
