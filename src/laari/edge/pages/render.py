"""Templates, and how amounts and times are written for people."""

import asyncio
import time
from datetime import datetime, timedelta
from datetime import time as time_of_day

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from laari.edge.pages.assets import URLS
from laari.edge.pages.bidi import closed, escaped_json, isolated
from laari.edge.pages.language import LANGUAGES, Language
from laari.rules.calendar import MALDIVES, show
from laari.rules.money import rufiyaa

SLICE_REST_SECONDS = 0.004
SLICE_SECONDS = 0.002  # a long page is written in slices; requests of others come in between


def money_text(laari: int) -> str:
    """`MVR 1,250.00`, kept together."""
    sign = "\N{MINUS SIGN}" if laari < 0 else ""
    whole, hundredths = divmod(abs(laari), 100)
    return f"{sign}MVR\N{NO-BREAK SPACE}{whole:,}.{hundredths:02d}"


def money(laari: int) -> Markup:
    """The same, left to right in any text."""
    # It has nothing to escape, and `Markup.format` would take eight times as long.
    return Markup(f'<bdi dir="ltr" class="money">{money_text(laari)}</bdi>')  # noqa: S704


def percent(basis_points: int) -> str:
    """`1.5 %` for 150, kept together."""
    number = f"{basis_points // 100}.{basis_points % 100:02d}".rstrip("0").rstrip(".")
    return f"{number}\N{NO-BREAK SPACE}%"


def day(moment: datetime, language: Language) -> Markup:
    """`31 December 2026`, in Maldives time."""
    local = moment.astimezone(MALDIVES)
    month = language.text(f"month.{local.month}")
    return Markup('<time datetime="{}">{} {} {}</time>').format(
        show(moment), local.day, month, local.year
    )


def moment(moment: datetime, language: Language) -> Markup:
    """`31 December 2026, 14:30`, in Maldives time."""
    local = moment.astimezone(MALDIVES)
    month = language.text(f"month.{local.month}")
    return Markup('<time datetime="{}">{} {} {}, <bdi>{:%H:%M}</bdi></time>').format(
        show(moment), local.day, month, local.year, local
    )


def last_moment(end: datetime, language: Language) -> Markup:
    """The end as people read "until": the last whole day where it is midnight, else the minute."""
    local = end.astimezone(MALDIVES)
    if local.time() == time_of_day(0):
        return day(end - timedelta(seconds=1), language)
    return moment(end, language)


def stamp(moment: datetime) -> Markup:
    """`31 Dec 2026, 14:30`, in Maldives time, in English: for lists."""
    local = moment.astimezone(MALDIVES)
    return Markup('<time datetime="{}">{} {:%b %Y, %H:%M}</time>').format(
        show(moment), local.day, local
    )


@pass_context
def _text(context: Context, name: str, /, **values: object) -> Markup:
    language: Language = context["language"]
    return language.text(name, **values)


@pass_context
def _moment(context: Context, value: datetime) -> Markup:
    return moment(value, context["language"])


def own(text: str) -> Markup:
    """Text that somebody else wrote: its direction is its own and reaches no further."""
    return Markup('<bdi dir="auto">{}</bdi>').format(closed(text))


def exact(text: str) -> Markup:
    """A value that a form sends back or a link leads to: every character stays."""
    return escape(text)


def _finalize(value: object) -> object:
    """Every value that a template writes: text that turns direction keeps that to itself."""
    return isolated(value) if type(value) is str else value


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("laari.edge.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_finalize,
    )
    environment.globals.update(t=_text, asset=URLS.__getitem__, languages=LANGUAGES)
    environment.filters.update(money=money, rufiyaa=rufiyaa, moment=_moment, stamp=stamp)
    environment.filters.update(own=own, exact=exact, percent=percent, json_text=escaped_json)
    return environment


_ENVIRONMENT = _environment()


def render(template: str, language: Language, **values: object) -> str:
    return _ENVIRONMENT.get_template(template).render(language=language, **values)


async def render_long(template: str, language: Language, **values: object) -> str:
    """The same for a page with many rows, which would keep the event loop for too long."""
    pieces: list[str] = []
    began = time.perf_counter()
    for piece in _ENVIRONMENT.get_template(template).generate(language=language, **values):
        pieces.append(piece)
        if time.perf_counter() - began >= SLICE_SECONDS:
            # A payment takes several turns of the event loop, and must not meet a slice in each.
            await asyncio.sleep(SLICE_REST_SECONDS)
            began = time.perf_counter()
    return "".join(pieces)
