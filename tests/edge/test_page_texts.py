"""The pages' texts: both languages complete, values escaped, amounts and times as people write."""

import re
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

import pytest

from laari.edge.pages import language
from laari.edge.pages.language import DHIVEHI, ENGLISH, choose
from laari.edge.pages.render import day, moment, money, own

PAGES = Path(language.__file__).parent
NBSP = "\N{NO-BREAK SPACE}"


def braces(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def plain(markup: str) -> str:
    return re.sub(r"<[^>]*>", "", markup)


def test_both_languages_have_the_same_texts_and_values() -> None:
    assert DHIVEHI.texts.keys() == ENGLISH.texts.keys()
    differing = [n for n in ENGLISH.texts if braces(ENGLISH.texts[n]) != braces(DHIVEHI.texts[n])]
    assert differing == []


def test_dhivehi_is_written_in_thaana() -> None:
    assert [n for n, text in DHIVEHI.texts.items() if not re.search(r"[ހ-ޱ]", text)] == []


def test_every_text_is_used() -> None:
    """By its name, or by a name that is put together (`checkout.limit_` and what follows)."""
    sources = [*PAGES.glob("**/*.py"), *PAGES.glob("templates/**/*.html")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    stems = set(re.findall(r'"([a-z]+\.[a-z_]*)(?:\{|" ~)', code))
    unused = [
        name
        for name in ENGLISH.texts
        if f'"{name}"' not in code
        and f"'{name}'" not in code
        and not any(name.startswith(stem) for stem in stems)
    ]
    assert unused == []


def test_every_text_that_a_page_names_exists() -> None:
    sources = [*PAGES.glob("**/*.py"), *PAGES.glob("templates/**/*.html")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    named = set(re.findall(r"""\b(?:t|text|refuse)\(["']([a-z]+\.[a-z_]+)["'][,)]""", code))
    assert len(named) > 100
    assert named - ENGLISH.texts.keys() == set()


NOT_TEXT = re.compile(r"{% block (?:shape|kept|body_attributes) %}.*?{% endblock %}", re.DOTALL)
TEMPLATE = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}", re.DOTALL)
MARKUP = re.compile(r"<.*?>|&[a-z]+;|Laari", re.DOTALL)


def words_of(path: Path) -> list[str]:
    """The words that a template has itself, without those of its markup."""
    text = TEMPLATE.sub("", NOT_TEXT.sub("", path.read_text(encoding="utf-8")))
    return re.findall(r"[A-Za-z]{2,}", MARKUP.sub(" ", text))


def test_the_wallets_pages_have_no_words_of_one_language() -> None:
    found = {path.name: words_of(path) for path in PAGES.glob("templates/app/**/*.html")}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("chosen", "accepted", "code"),
    [
        (None, "", "en"),
        (None, "dv", "dv"),
        (None, "dv-MV,en;q=0.5", "dv"),
        (None, "en-GB,dv;q=0.9", "en"),
        (None, "fr,dv;q=0.3,en;q=0.2", "dv"),
        (None, "dv;q=x,en;q=0.1", "en"),
        (None, "*;q=0.1,,;;==", "en"),
        ("dv", "en", "dv"),
        ("en", "dv", "en"),
        ("../dv", "en", "en"),
    ],
)
def test_the_visitors_choice_comes_before_the_browsers(chosen, accepted, code) -> None:
    assert choose(chosen, accepted).code == code


def test_values_are_escaped_and_braces_in_them_are_text() -> None:
    text = ENGLISH.text("checkout.asks", merchant=own("<b>{x}</b> & Co"))
    assert text == '<bdi dir="auto">&lt;b&gt;{x}&lt;/b&gt; &amp; Co</bdi> asks you to pay'
    assert "<i>" not in ENGLISH.text("checkout.asks", merchant="<i>")


@pytest.mark.parametrize(
    ("laari", "shown"),
    [
        (1, f"MVR{NBSP}0.01"),
        (12_500, f"MVR{NBSP}125.00"),
        (9_999_999_999, f"MVR{NBSP}99,999,999.99"),
        (-5, f"\N{MINUS SIGN}MVR{NBSP}0.05"),
        (999_999_999_999_999_999, f"MVR{NBSP}9,999,999,999,999,999.99"),
    ],
)
def test_amounts(laari: int, shown: str) -> None:
    assert plain(money(laari)) == shown


def test_times_are_those_of_the_maldives() -> None:
    late = datetime(2026, 12, 31, 19, 30, tzinfo=UTC)
    assert plain(day(late, ENGLISH)) == "1 January 2027"
    assert plain(moment(late, ENGLISH)) == "1 January 2027, 00:30"
    assert 'datetime="2027-01-01T00:30:00+05:00"' in moment(late, ENGLISH)
