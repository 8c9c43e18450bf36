"""The first page: what the last days came to."""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import reduce
from itertools import groupby
from typing import NamedTuple

from laari.edge.pages.dashboard.chart import bars, stacked
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.render import money_text
from laari.http.messages import Reply
from laari.rules.calendar import local_day
from laari.rules.lifecycle import shown_state
from laari.store.reads import payments
from laari.store.reads.figures import Figures, Span
from laari.store.reads.listing import Window

DAYS = 30
NEWEST = 5


async def show(desk: Desk, secret_key: str | None = None) -> Reply:
    """`secret_key` is that of a merchant which has just signed up: it is shown only now."""
    days = await _days(desk)
    newest = await desk.backend.page(
        payments.of_tenant(desk.tenant.id, desk.now, Window(limit=NEWEST))
    )
    figures = list(days.values())
    names = [f"{day:%-d %b}" for day in days]
    told = list(zip(names, figures, strict=True))
    volume = stacked([each.gross for each in figures])
    counts = stacked([each.payments for each in figures], [each.refunds for each in figures])
    return await desk.long_page(
        "overview.html",
        secret_key=secret_key,
        span=Span(desk.tenant.id, min(days), max(days)),
        names=names,
        days=list(_moved(days)),
        spans={"Today": _sum(figures[-1:]), "7 days": _sum(figures[-7:]), "30 days": _sum(figures)},
        volume=volume,
        volume_bars=bars(volume, [f"{name}: {money_text(each.gross)}" for name, each in told]),
        counts=counts,
        count_bars=bars(
            counts,
            [f"{name}: {each.payments} paid, {each.refunds} refunded" for name, each in told],
        ),
        rows=newest.rows,
        state_of=shown_state,
    )


class Days(NamedTuple):
    """A row of the table: one day, or days in a row on which nothing moved."""

    first: date
    last: date
    figures: Figures | None  # None if nothing moved


def _moved(days: dict[date, Figures]) -> Iterator[Days]:
    """The newest first."""
    newest_first = reversed(days.items())
    for empty, group in groupby(newest_first, key=lambda each: each[1] == Figures()):
        rows = list(group)
        if empty:
            yield Days(rows[-1][0], rows[0][0], None)
        else:
            yield from (Days(day, day, figures) for day, figures in rows)


async def _days(desk: Desk) -> dict[date, Figures]:
    """Every one of the last days, also those on which nothing happened, oldest first."""
    last = local_day(desk.now)
    first = last - timedelta(days=DAYS - 1)
    every = {first + timedelta(days=place): Figures() for place in range(DAYS)}
    for found in await desk.backend.days(Span(desk.tenant.id, first, last)):
        every[found.day] = every[found.day].plus(found.figures)
    return every


def _sum(figures: Iterable[Figures]) -> Figures:
    return reduce(Figures.plus, figures)


ROUTES = [desk_route("", get=show)]
