"""The statement of a month or of any days, as a page to print and as a file."""

from datetime import date, datetime
from urllib.parse import urlencode

from msgspec.structs import astuple

from laari.edge.pages.csv_files import BYTE_ORDER_MARK, csv_reply, csv_text, guarded
from laari.edge.pages.dashboard.days import read_days
from laari.edge.pages.dashboard.money.balance_history import WORDS
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import shown
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.calendar import local_day
from laari.rules.day_ranges import Days, month_of, newest_months, preset
from laari.rules.money import rufiyaa
from laari.rules.refusals import Refusal
from laari.rules.shapes.payouts import Payout
from laari.store.reads import fees
from laari.store.reads.merchants import applications
from laari.store.reads.money import payouts, statements
from laari.store.reads.money.statements import OTHERS, Moved, Movements, Statement

MONTHS = 13  # that are offered: the same month of last year is one of them
COLUMNS = [
    "first_day",
    "last_day",
    "opening_balance",
    "payments",
    "gross_amount",
    "fees",
    "refunds",
    "refunded_amount",
    "net_amount",
    *OTHERS,
    "closing_balance",
    "merchant",
    "legal_name",
    "tax_number",
    "address",
    "payouts",
    "bank_references",
]


def _read(request: DashboardRequest) -> Days | Refusal:
    """Last month, if the address names no days: that is the newest one that has ended."""
    last_month = preset("last_month", local_day(request.tenant_now))
    assert last_month is not None
    return read_days(request, last_month)


@long
async def show(request: DashboardRequest) -> Reply:
    days = _read(request)
    newest = newest_months(local_day(request.tenant_now), MONTHS)
    if isinstance(days, Refusal):
        request.problem = shown(days)
        return request.page(
            "statement.html",
            statement=None,
            months=_named(newest),
            month="",
            written=request.query,
        )
    ask, merchant_id = request.backend.ask, request.merchant.id
    found = await ask(statements.of_days, request.tenant.id, days)
    asked = {"first": str(days.first), "last": str(days.last)}
    is_month = days == month_of(days.first)
    return await request.long_page(
        "statement.html",
        statement=found,
        payouts=await ask(payouts.of_days, request.tenant.id, days),
        profile=await ask(applications.profile_of, merchant_id),
        terms=await ask(fees.in_force, merchant_id, days),
        words=WORDS,
        months=_named([*newest, *([days.first] if is_month else [])]),
        month=f"{days.first:%Y-%m}" if is_month else "",
        is_month=is_month,
        is_final=days.is_final(request.tenant_now),
        written=asked,
        asked=urlencode(asked),
    )


def _named(months: list[date]) -> dict[str, str]:
    return {f"{first:%Y-%m}": f"{first:%B %Y}" for first in months}


@long
async def export(request: DashboardRequest) -> Reply:
    days = _read(request)
    if isinstance(days, Refusal):
        return await show(request)
    found = await request.backend.ask(statements.of_days, request.tenant.id, days)
    profile = await request.backend.ask(applications.profile_of, request.merchant.id)
    texts = (request.merchant.name, *astuple(profile))
    party = [guarded(text or "") for text in texts]
    made = await request.backend.ask(payouts.of_days, request.tenant.id, days)
    rows = [[*row, *party, *_payout_cells(row[0], made)] for row in rows_of(found)]
    async with request.writing():
        text = BYTE_ORDER_MARK + csv_text([COLUMNS, *rows])
    name = f"statement-{request.tenant.mode}-{days.first}-{days.last}.csv"
    return csv_reply(name, text.encode())


def _payout_cells(day: str, made: list[Payout]) -> tuple[str, str]:
    """The numbers of the payouts of a day, and their orders to the bank."""
    own = [each for each in made if str(local_day(datetime.fromisoformat(each.created_at))) == day]
    orders = [reference for each in own for reference in each.bank_references]
    return " ".join(str(each.number) for each in own), " ".join(orders)


def rows_of(found: Statement) -> list[list[str]]:
    """A row for each day that moved money; its balances continue those of the row before.

    Columns add up to the statement. Without any movement, one row has all of the days.
    """
    if not found.by_day:
        return [_cells(found.days, found.opening, found.moved, found.closing)]
    return [
        _cells(Days(each.day, each.day), each.opening, each.moved, each.closing)
        for each in found.by_day
    ]


def _cells(days: Days, opening: int, moved: Movements, closing: int) -> list[str]:
    sums = moved.figures
    return [
        str(days.first),
        str(days.last),
        rufiyaa(opening),
        str(sums.payments),
        rufiyaa(sums.gross),
        rufiyaa(sums.fees),
        str(sums.refunds),
        rufiyaa(sums.refunded),
        rufiyaa(sums.net),
        *(rufiyaa(moved.others.get(kind, Moved()).amount) for kind in OTHERS),
        rufiyaa(closing),
    ]


ROUTES = [
    PageRoute(DashboardRequest, "/money/statement", get=show, needs="money.read"),
    PageRoute(
        DashboardRequest, "/money/statement.csv", get=export, hands_out=True, needs="exports.read"
    ),
]
