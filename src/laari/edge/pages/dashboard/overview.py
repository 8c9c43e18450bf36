"""The first page: what the last days came to."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from laari.edge.http import Reply
from laari.edge.pages.dashboard.chart import stacked
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import state_of
from laari.rules.calendar import MALDIVES, local_day
from laari.store import payments
from laari.store.listing import Window
from laari.store.reports import Day, Span

DAYS = 30
NEWEST = 5


async def show(desk: Desk, secret_key: str | None = None) -> Reply:
    """`secret_key` is that of a merchant which has just signed up: it is shown only now."""
    days = await _days(desk)
    newest = await desk.backend.page(
        payments.of_tenant(desk.tenant.id, desk.now, Window(limit=NEWEST))
    )
    return await desk.long_page(
        "overview.html",
        secret_key=secret_key,
        days=days,
        spans={"Today": _sum(days[-1:]), "7 days": _sum(days[-7:]), "30 days": _sum(days)},
        volume=stacked([day.volume for day in days]),
        counts=stacked([day.paid for day in days], [day.created - day.paid for day in days]),
        one_day=timedelta(days=1),
        rows=newest.rows,
        state_of=state_of,
    )


async def _days(desk: Desk) -> list[Day]:
    """Every one of the last days, also those on which nothing happened."""
    last = local_day(desk.now)
    first = last - timedelta(days=DAYS - 1)
    since = datetime.combine(first, time(), MALDIVES)
    found = await desk.backend.days(Span(desk.tenant.id, since, since + timedelta(days=DAYS)))
    by_day = {day.day: day for day in found}
    every = (first + timedelta(days=place) for place in range(DAYS))
    return [by_day.get(day) or Day(day, 0, 0, 0, 0) for day in every]


def _sum(days: list[Day]) -> Day:
    created, paid, volume, refunded = (
        sum(numbers) for numbers in list(zip(*days, strict=True))[1:]
    )
    return Day(days[-1].day, created, paid, volume, refunded)


ROUTES = [desk_route("", get=show)]
