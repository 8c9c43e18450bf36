"""The first page: the figures of the last 30 days, or of another period."""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import reduce
from itertools import groupby
from typing import NamedTuple

from laari.edge.pages.dashboard.chart import bars, stacked
from laari.edge.pages.dashboard.days import read_days
from laari.edge.pages.dashboard.request import DashboardRequest, home_of
from laari.edge.pages.person import FACTOR, long
from laari.edge.pages.request import shown
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.calendar import local_day
from laari.rules.day_ranges import Days as DayRange
from laari.rules.day_ranges import last_days
from laari.rules.lifecycle import shown_state
from laari.rules.money import money_text
from laari.rules.refusals import Refusal, invalid
from laari.store.reads import checklist, payments, webhook_states
from laari.store.reads.figures import Figures, Span
from laari.store.reads.listing import Window
from laari.store.reads.webhook_states import GivenUp

DAYS = 30
MOST_DAYS = 366
NEWEST = 5


@long
async def show(request: DashboardRequest, secret_key: str | None = None) -> Reply:
    """`secret_key` is shown once, after a sign-up."""
    period = read_days(request, DAYS)
    if not isinstance(period, Refusal) and (period.last - period.first).days >= MOST_DAYS:
        period = invalid("last", f"The overview has at most {MOST_DAYS} days.")
    if isinstance(period, Refusal):
        request.problem = shown(period)
        period = last_days(DAYS, local_day(request.tenant_now))
    is_newest = period == last_days(DAYS, local_day(request.tenant_now))
    days = await _days(request, period)
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
    total = _sum(figures)
    tiles = {"Today": _sum(figures[-1:]), "7 days": _sum(figures[-7:]), "30 days": total}
    return await request.long_page(
        "overview.html",
        secret_key=secret_key,
        checklist=await _checklist(request),
        period=period,
        is_newest=is_newest,
        chosen=request.query.get("preset", ""),
        names=names,
        days=list(_moved(days)),
        tiles=tiles if is_newest else {_words(period): total},
        total=total,
        volume=volume,
        volume_bars=bars(volume, [f"{name}: {money_text(each.gross)}" for name, each in told]),
        counts=counts,
        count_bars=bars(
            counts,
            [f"{name}: {each.payments} paid, {each.refunds} refunds" for name, each in told],
        ),
        rows=newest.rows,
        state_of=shown_state,
        given_up=await _given_up(request),
    )


async def _given_up(request: DashboardRequest) -> GivenUp | None:
    if not request.may("webhooks.manage") or request.merchant.webhook_url is None:
        return None
    return await request.backend.ask(webhook_states.given_up, request.tenant.id)


class Step(NamedTuple):
    """A line of the checklist."""

    done: bool
    text: str
    url: str | None = None  # of the page on which to do it
    refused: str | None = None  # why the operator refused it


async def _checklist(request: DashboardRequest) -> list[Step]:
    """For owners, until everything is done. A shop may have no webhooks."""
    if not request.may("bank.manage"):
        return []
    merchant, url = request.merchant, request.url
    found = await request.backend.ask(checklist.of_merchant, merchant.id)
    answered = "A webhook that your server has answered with 2xx"
    webhook = [Step(found.webhook, answered, url("/webhooks"))] if merchant.webhook_url else []
    factor = Step(request.person.has_factor, "Your second factor", url(FACTOR))
    if not merchant.has_live:
        apply = "The application to go live, with your bank account"
        applied = Step(found.applied, apply, url("/application"), found.refused)
        tried = Step(found.sandbox_payment, "A payment in the sandbox", url("/payments/new"))
        return [tried, *webhook, factor, applied]
    live = home_of(merchant.id, "live")
    steps = [
        *webhook,
        factor,
        Step(found.bank_account, "Your bank account for payouts", f"{live}/money/bank"),
        Step(
            found.live_payment,
            "A first live payment, such as MVR 1.00 from your own wallet",
            f"{live}/payments/new",
        ),
    ]
    return [] if all(step.done for step in steps) else steps


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


def _words(period: DayRange) -> str:
    first, last = (f"{day:%-d %b %Y}" for day in period)
    return first if first == last else f"{first} to {last}"


async def _days(request: DashboardRequest, period: DayRange) -> dict[date, Figures]:
    """All days of the period, oldest first, also those without a movement."""
    length = (period.last - period.first).days + 1
    every = {period.first + timedelta(days=place): Figures() for place in range(length)}
    span = Span(request.tenant.id, *period)
    for found in await request.backend.days(span, request.merchant.id):
        if request.till in (None, found.terminal_label):
            every[found.day] = every[found.day].plus(found.figures)
    return every


def _sum(figures: Iterable[Figures]) -> Figures:
    return reduce(Figures.plus, figures)


ROUTES = [PageRoute(DashboardRequest, "", get=show, needs="payments.read")]
