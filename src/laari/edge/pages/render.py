"""Templates, and the format of amounts and times."""

import asyncio
import time
from datetime import date, datetime, timedelta
from datetime import time as time_of_day

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from laari.edge.pages.assets import URLS
from laari.edge.pages.bidi import closed, escaped_json, isolated_value
from laari.edge.pages.language import LANGUAGES, Language
from laari.rules.banking.banks import BANKS
from laari.rules.calendar import MALDIVES, show, start_of
from laari.rules.day_ranges import PRESETS
from laari.rules.limits import tills
from laari.rules.limits.payments import PAYMENT_LIFE_HOURS
from laari.rules.merchants.spoken_amounts import spoken
from laari.rules.money import money_text, rufiyaa

SLICE_REST_SECONDS = 0.004
SLICE_SECONDS = 0.002  # a long page is rendered in slices, with other requests in between
LONG_AMOUNT = 10_000_000  # laari: its digits do not fit the largest letters of a phone


def money(laari: int) -> Markup:
    """The amount, left to right in any text."""
    # Nothing to escape: `Markup.format` would take eight times as long.
    kind = "money" if abs(laari) < LONG_AMOUNT else "money long"
    return Markup(f'<bdi dir="ltr" class="{kind}">{money_text(laari)}</bdi>')  # noqa: S704


def _spoken(laari: int, language: str) -> str:
    """The names of the words for an amount, with spaces between them."""
    return " ".join(spoken(laari, language))


def percent(basis_points: int) -> str:
    """`1.5 %` for 150, kept together."""
    number = f"{basis_points // 100}.{basis_points % 100:02d}".rstrip("0").rstrip(".")
    return f"{number}\N{NO-BREAK SPACE}%"


def day(moment: datetime, language: Language) -> Markup:
    """`31 December 2026`, in Maldives time."""
    return _time(moment, _day(moment, language))


def moment(moment: datetime, language: Language) -> Markup:
    """`31 December 2026, 14:30`, in Maldives time."""
    clock = f"{moment.astimezone(MALDIVES):%H:%M}"
    return _time(moment, _day(moment, language) + Markup(", <bdi>{}</bdi>").format(clock))


def _day(moment: datetime, language: Language) -> Markup:
    local = moment.astimezone(MALDIVES)
    return Markup("{} {} {}").format(local.day, language.text(f"month.{local.month}"), local.year)


def _time(moment: datetime, text: str) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(show(moment), text)


def last_moment(end: datetime, language: Language) -> Markup:
    """The end for "until": the day before if it is midnight, else the minute."""
    local = end.astimezone(MALDIVES)
    if local.time() == time_of_day(0):
        return day(end - timedelta(seconds=1), language)
    return moment(end, language)


def stamp(moment: datetime) -> Markup:
    """`31 Dec 2026, 14:30`, in Maldives time and in English, for lists."""
    local = moment.astimezone(MALDIVES)
    return _time(moment, f"{local.day} {local:%b %Y, %H:%M}")


def short_day(day: date) -> str:
    """`31 Dec 2026`, in English: a day of a calendar, without a time."""
    return f"{day:%-d %b %Y}"


@pass_context
def _text(context: Context, name: str, /, **values: object) -> Markup:
    language: Language = context["language"]
    return language.text(name, **values)


@pass_context
def _moment(context: Context, value: datetime) -> Markup:
    return moment(value, context["language"])


@pass_context
def _whole_day(context: Context, value: date) -> Markup:
    language: Language = context["language"]
    return day(start_of(value), language)


def own(text: str) -> Markup:
    """Text that somebody else wrote: its direction does not affect the text around it."""
    return Markup('<bdi dir="auto">{}</bdi>').format(closed(text))


_ENVIRONMENT = Environment(
    loader=PackageLoader("laari.edge.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
    finalize=isolated_value,
)
_ENVIRONMENT.globals.update(
    t=_text,
    asset=URLS.__getitem__,
    languages=LANGUAGES,
    periods=PRESETS,
    banks=BANKS,
    till_limits=tills,
    payment_life_hours=PAYMENT_LIFE_HOURS,
)
_ENVIRONMENT.filters.update(money=money, rufiyaa=rufiyaa, moment=_moment, stamp=stamp)
_ENVIRONMENT.filters.update(short_day=short_day, whole_day=_whole_day, spoken=_spoken)
# `exact` keeps every character: for the value of a form field and the address of a link.
_ENVIRONMENT.filters.update(own=own, exact=escape, percent=percent, json_text=escaped_json)


def render(templates: list[str], language: Language, **values: object) -> str:
    """Renders the first of these templates that exists."""
    return _ENVIRONMENT.select_template(templates).render(language=language, **values)


async def render_long(templates: list[str], language: Language, **values: object) -> str:
    """Renders a page with many rows without blocking the event loop.

    A macro comes in one piece. So a table of rows is a template to include.
    """
    pieces: list[str] = []
    began = time.perf_counter()
    for piece in _ENVIRONMENT.select_template(templates).generate(language=language, **values):
        pieces.append(piece)
        if time.perf_counter() - began >= SLICE_SECONDS:
            # A payment takes several turns of the event loop and must not wait for a slice in each.
            await asyncio.sleep(SLICE_REST_SECONDS)
            began = time.perf_counter()
    return "".join(pieces)
