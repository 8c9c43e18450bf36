"""The filtered payments as a CSV file of any length, a page of the list at a time."""

import csv
import io
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeVar

from laari.edge.merchant import payments as interface
from laari.edge.merchant.lists import ListQuery
from laari.edge.pages.bidi import closed, escaped_json
from laari.edge.pages.dashboard.desk import Desk, desk_route
from laari.edge.pages.dashboard.listing import ListRequest, read_list
from laari.edge.pages.dashboard.views import listing_of
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply, Stream
from laari.rules import ids
from laari.rules.calendar import local_day, show_or_none
from laari.rules.lifecycle import shown_state
from laari.rules.money import rufiyaa
from laari.rules.records import Payment
from laari.rules.refusals import Refusal
from laari.rules.shapes.payments import net_amount
from laari.store.reads.listing import Window

T = TypeVar("T")

# In memory, however long the file becomes. To write them takes a millisecond or two, for which
# every other request of this process waits.
ROWS_AT_ONCE = 100
# Metadata can have 100 KB a payment, and a page of such payments would take most of a second: what
# is written in one go ends with the row that passes this length.
METADATA_AT_ONCE = 64 * 1024
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
    "metadata",
    "refunded_amount",
    "balance_effect",
)
# A spreadsheet takes a cell that begins so for a formula, and a customer's or till's text could
# then read other cells or open addresses. The wide and small forms count where a keyboard for
# Chinese, Japanese or Korean writes them.
_FORMULA_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
# What a spreadsheet may take for the end of a cell: in much of the world it splits a CSV file at
# semicolons, and quotes in the middle of such a cell protect neither separators nor line breaks.
_CELL_ENDS = ";|\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
# What it may drop before it looks at a cell's first character: blanks, quotes, what has no width.
_DROPPED = (
    '"\x00-\x08\x0e-\x1b\x1f \x7f\xa0\xad\u1680\u180e\u2000-\u200f'
    "\u202a-\u202f\u205f-\u2064\u3000\ufeff"
)
_BEFORE_FORMULA = re.compile(
    f"(?:^(?=[\t\r\n])|(?:^|(?<=[{_CELL_ENDS}]))(?=[{_DROPPED}]*[{_FORMULA_STARTS}]))"
)


async def export(desk: Desk) -> Reply:
    asked = read_list(desk, interface.LIST_QUERY, PAYMENTS.listing)
    if isinstance(asked, Refusal):
        written = dict(desk.visit.query)
        return desk.page("payments.html", problem=asked, written=written, rows=[], older=None)
    name = f"payments-{desk.tenant.mode}-{local_day(desk.now)}.csv"
    place = ExitStack()
    place.enter_context(desk.backend.heavy.export(desk.merchant.id))
    # It counts among the exports until the last line is sent, or the client has gone.
    return file_reply(name, Stream(_lines(desk, asked), place.close))


def file_reply(name: str, stream: Stream) -> Reply:
    return Reply(
        200,
        headers=((b"content-disposition", f'attachment; filename="{name}"'.encode()),),
        content_type=b"text/csv; charset=utf-8",
        stream=stream,
    )


async def _lines(desk: Desk, asked: ListRequest[ListQuery]) -> AsyncGenerator[bytes, None]:
    """A chunk or a few for each page of the list; no connection is held while the client reads."""
    window: Window | None = replace(asked.window, limit=ROWS_AT_ONCE, after=None)
    yield (BYTE_ORDER_MARK + csv_text([list(COLUMNS)])).encode()
    while window is not None:
        async with desk.backend.heavy.reading.slot():
            found = await desk.backend.page(
                listing_of(desk, PAYMENTS, asked._replace(window=window))
            )
        for payments in in_pieces(found.rows, lambda payment: payment):
            async with desk.backend.heavy.writing.slot():
                rows = (cells_of(desk, payment) for payment in payments)
                written = csv_text([[row[name] for name in COLUMNS] for row in rows]).encode()
            yield written
        window = None if found.next is None else replace(window, after=found.next)


def in_pieces(rows: Sequence[T], payment_of: Callable[[T], Payment]) -> Iterator[list[T]]:
    """The rows of a page, as many at a time as may be written in one go."""
    piece: list[T] = []
    length = 0
    for row in rows:
        piece.append(row)
        length += len(payment_of(row).metadata)
        if length >= METADATA_AT_ONCE:
            yield piece
            piece, length = [], 0
    if piece:
        yield piece


def csv_text(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def cells_of(desk: Desk, payment: Payment) -> dict[str, str]:
    """A payment's cells by column: as it stands now, with all that has moved."""
    net = net_amount(payment)
    refunded = 0 if payment.refunded_at is None else payment.amount
    return {
        "id": ids.show_id(ids.PAYMENT, payment.id),
        "reference": guarded(payment.reference),
        "status": shown_state(payment, desk.now),
        "amount": rufiyaa(payment.amount),
        "fee": "" if payment.fee is None else rufiyaa(payment.fee),
        "net_amount": "" if net is None else rufiyaa(net),
        "kind": payment.kind,
        "title": guarded(payment.title or ""),
        "description": guarded(payment.description or ""),
        "bill_number": guarded(payment.bill_number or ""),
        "terminal_label": guarded(payment.terminal_label or ""),
        "payment_reference": payment.payment_reference or "",
        "created_at": show_or_none(payment.created_at) or "",
        "paid_at": show_or_none(payment.paid_at) or "",
        "refunded_at": show_or_none(payment.refunded_at) or "",
        "expires_at": show_or_none(payment.expires_at) or "",
        "metadata": guarded("" if payment.metadata == "{}" else escaped_json(payment.metadata)),
        "refunded_amount": "" if net is None else rufiyaa(refunded),
        "balance_effect": "" if net is None else rufiyaa(net - refunded),
    }


def guarded(text: str) -> str:
    """Text in which no spreadsheet finds a formula, wherever it splits the file into cells.

    An apostrophe goes before whatever looks like the beginning of one. Direction controls are
    closed, so that none of them turns the cells after it.
    """
    return _BEFORE_FORMULA.sub("'", closed(text))


ROUTES = [desk_route("/payments/export.csv", get=export, read_only=False)]
