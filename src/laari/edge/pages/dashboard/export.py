"""The filtered payments as a CSV file of any length, a page of the list at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from dataclasses import replace

from starlette.responses import Response, StreamingResponse

from laari.edge.merchant import payments as interface
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import Asked, read_list, state_of
from laari.edge.pages.dashboard.payments import find
from laari.rules import ids
from laari.rules.calendar import local_day, show_or_none
from laari.rules.money import rufiyaa
from laari.rules.records import Payment
from laari.rules.refusals import Refusal
from laari.rules.shapes import net_amount
from laari.store.listing import Window

ROWS_AT_ONCE = 500  # in memory, however long the file becomes
BYTE_ORDER_MARK = "\ufeff"  # without it, spreadsheets do not take the file for UTF-8

COLUMNS = (
    "id",
    "reference",
    "status",
    "amount",
    "fee",
    "net_amount",
    "kind",
    "title",
    "description",
    "bill_number",
    "terminal_label",
    "payment_reference",
    "created_at",
    "paid_at",
    "refunded_at",
    "expires_at",
)
# A spreadsheet takes a cell that begins so for a formula, and a customer's or till's text could
# then read other cells or open addresses.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


async def export(desk: Desk) -> Response:
    asked = read_list(desk, interface.LIST_QUERY, interface.LISTING)
    if isinstance(asked, Refusal):
        written = dict(desk.visit.query)
        return desk.page("payments.html", problem=asked, written=written, rows=[], older=None)
    name = f"payments-{desk.tenant.mode}-{local_day(desk.now)}.csv"
    return StreamingResponse(
        _lines(desk, asked),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _lines(desk: Desk, asked: Asked) -> AsyncIterator[str]:
    """One chunk for each page of the list; no connection is held while the client reads."""
    window: Window | None = replace(asked.window, limit=ROWS_AT_ONCE, after=None)
    yield BYTE_ORDER_MARK + _written([list(COLUMNS)])
    while window is not None:
        found = await find(desk, asked._replace(window=window))
        if found.rows:
            yield _written([_cells(desk, payment) for payment in found.rows])
        window = None if found.next is None else replace(window, after=found.next)


def _written(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cells(desk: Desk, payment: Payment) -> list[str]:
    net = net_amount(payment)
    return [
        ids.show_id(ids.PAYMENT, payment.id),
        guarded(payment.reference),
        state_of(payment, desk.now),
        rufiyaa(payment.amount),
        "" if payment.fee is None else rufiyaa(payment.fee),
        "" if net is None else rufiyaa(net),
        payment.kind,
        guarded(payment.title or ""),
        guarded(payment.description or ""),
        guarded(payment.bill_number or ""),
        guarded(payment.terminal_label or ""),
        payment.payment_reference or "",
        show_or_none(payment.created_at) or "",
        show_or_none(payment.paid_at) or "",
        show_or_none(payment.refunded_at) or "",
        show_or_none(payment.expires_at) or "",
    ]


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe goes before one that looks so."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


ROUTES = [desk_route("/payments/export.csv", get=export, read_only=False)]
