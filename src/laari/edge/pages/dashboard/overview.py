"""The first page: the figures of the last 30 days."""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import reduce
from itertools import groupby
from typing import NamedTuple

from laari.edge.pages.dashboard.chart import bars, stacked
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.calendar import local_day
from laari.rules.lifecycle import shown_state
from laari.rules.money import money_text
from laari.store.reads import payments
from laari.store.reads.figures import Figures, Span
from laari.store.reads.listing import Window

DAYS = 30
NEWEST = 5


async def show(request: DashboardRequest, secret_key: str | None = None) -> Reply:
    """`secret_key` is shown once, after a sign-up."""
    days = await _days(request)
    newest = await request.backend.page(
        payments.of_tenant(
            request.tenant.id,
            request.tenant_now,
            Window(limit=NEWEST),
            terminal_label=request.till,
        )
    )
    figures = list(days.values())
    names = [f"{day:%-d %b}" for day in days]
    told = list(zip(names, figures, strict=True))
    volume = stacked([each.gross for each in figures])
    counts = stacked([each.payments for each in figures], [each.refunds for each in figures])
    return await request.long_page(
        "overview.html",
        secret_key=secret_key,
        span=Span(request.tenant.id, min(days), max(days)),
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
    """A row of the table: one day, or several days without a movement."""

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


async def _days(request: DashboardRequest) -> dict[date, Figures]:
    """All of the last days, oldest first, also those without a movement."""
    last = local_day(request.tenant_now)
    first = last - timedelta(days=DAYS - 1)
    every = {first + timedelta(days=place): Figures() for place in range(DAYS)}
    for found in await request.backend.days(Span(request.tenant.id, first, last)):
        if request.till in (None, found.terminal_label):
            every[found.day] = every[found.day].plus(found.figures)
    return every


def _sum(figures: Iterable[Figures]) -> Figures:
    return reduce(Figures.plus, figures)


ROUTES = [PageRoute(DashboardRequest, "", get=show, needs="payments.read")]
