"""What moved on some days: payments and refunds with their sums, as a page and as a file.

The days are those of the overview, so its figures, this list and the file come to the same.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from datetime import date
from functools import reduce
from urllib.parse import urlencode

from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.export import (
    BYTE_ORDER_MARK,
    COLUMNS,
    ROWS_AT_ONCE,
    cells_of,
    csv_text,
    file_reply,
    in_pieces,
)
from laari.http.messages import Reply, Stream
from laari.rules.calendar import local_day, show
from laari.rules.money import rufiyaa
from laari.rules.refusals import Refusal, invalid
from laari.store.reads import movements
from laari.store.reads.figures import Figures, Span
from laari.store.reads.movements import Movement, MovementPlace

PAGE = 50  # rows
MOVEMENT_COLUMNS = ("moved_at", "movement", *COLUMNS)
_LISTINGS = {False: "movements payment", True: "movements refund"}  # by what the place is of
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_YEARS = range(1970, 9999)


async def show_list(desk: Desk) -> Reply:
    query = desk.visit.query
    span = _read_span(desk)
    if isinstance(span, Refusal):
        return desk.page("movements.html", problem=span, span=None, written=query)
    found = await desk.backend.ask(
        movements.of_span, span, PAGE, _read_place(desk, query.get("after", ""))
    )
    days = await desk.backend.days(span)
    asked = {"first": str(span.first), "last": str(span.last)}
    older = found.next and urlencode({**asked, "after": _cursor(desk, found.next)})
    return await desk.long_page(
        "movements.html",
        span=span,
        written={**asked, **({"after": ""} if "after" in query else {})},
        sums=reduce(Figures.plus, (day.figures for day in days), Figures()),
        rows=found.rows,
        older=older,
        days=urlencode(asked),
    )


def _read_span(desk: Desk) -> Span | Refusal:
    """The days that the address names: today if it names none, one day if it names one."""
    named = {name: desk.visit.query.get(name, "").strip() for name in ("first", "last")}
    days: dict[str, date] = {}
    for name, text in named.items():
        if not text:
            continue
        day = _read_day(text)
        if day is None:
            return invalid(name, "A day is written as in 2026-11-17.")
        days[name] = day
    today = local_day(desk.now)
    first = days.get("first", days.get("last", today))
    last = days.get("last", first)
    if last < first:
        return invalid("last", "The last day must not come before the first.")
    return Span(desk.tenant.id, first, last)


def _read_day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None
    return day if day is not None and day.year in _YEARS else None


def _cursor(desk: Desk, place: MovementPlace) -> str:
    listing = _LISTINGS[place.is_refund]
    return desk.backend.cursors.make(listing, desk.tenant.id, place.at, place.id)


def _read_place(desk: Desk, cursor: str) -> MovementPlace | None:
    for is_refund, listing in _LISTINGS.items():
        found = desk.backend.cursors.read(listing, desk.tenant.id, cursor)
        if found is not None:
            return MovementPlace(*found, is_refund)
    return None


async def export(desk: Desk) -> Reply:
    span = _read_span(desk)
    if isinstance(span, Refusal):
        return desk.page("movements.html", problem=span, span=None, written=desk.visit.query)
    place = ExitStack()
    place.enter_context(desk.backend.heavy.export(desk.merchant.id))
    name = f"movements-{desk.tenant.mode}-{span.first}-{span.last}.csv"
    return file_reply(name, Stream(_lines(desk, span), place.close))


async def _lines(desk: Desk, span: Span) -> AsyncGenerator[bytes, None]:
    """As for payments: a page of the list at a time, with no connection held in between."""
    yield (BYTE_ORDER_MARK + csv_text([list(MOVEMENT_COLUMNS)])).encode()
    after: MovementPlace | None = None
    while True:
        async with desk.backend.heavy.reading.slot():
            found = await desk.backend.ask(movements.of_span, span, ROWS_AT_ONCE, after)
        for piece in in_pieces(found.rows, lambda movement: movement.payment):
            async with desk.backend.heavy.writing.slot():
                written = csv_text([_cells(desk, movement) for movement in piece]).encode()
            yield written
        after = found.next
        if after is None:
            return


def _cells(desk: Desk, movement: Movement) -> list[str]:
    """The payment's cells as of the movement, so that each column adds up to the overview's sum.

    What happened to the payment later is not told: the file of an ended day stays the same.
    """
    payment = movement.payment
    cells = cells_of(desk, payment)
    cells |= {"moved_at": show(movement.at), "balance_effect": rufiyaa(movement.effect)}
    if movement.is_refund:
        refunded = rufiyaa(payment.amount)
        cells |= {"movement": "refund", "amount": "", "fee": "", "net_amount": ""}
        cells |= {"status": "refunded", "refunded_amount": refunded}
    else:
        cells |= {"movement": "payment", "status": "paid"}
        cells |= {"refunded_amount": "0.00", "refunded_at": ""}
    return [cells[name] for name in MOVEMENT_COLUMNS]


ROUTES = [
    desk_route("/payments/movements", get=show_list),
    desk_route("/payments/movements.csv", get=export, read_only=False),
]
