"""CSV files of any length: the filtered payments, and the parts that other files share."""

import csv
import io
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from laari.edge.merchant import payments as api
from laari.edge.pages.bidi import closed, escaped_json
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.views import listing_of, read_list, refused_list
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply, Stream, StreamEnded
from laari.rules import ids
from laari.rules.calendar import local_day, show_or_none
from laari.rules.lifecycle import shown_state
from laari.rules.money import rufiyaa
from laari.rules.records import Payment
from laari.rules.refusals import Refusal
from laari.rules.shapes.payments import net_amount
from laari.store.reads.listing import Position

T = TypeVar("T")
N = TypeVar("N")  # a place in a list

# Writing a page takes a millisecond or two, in which every other request of this process waits.
ROWS_AT_ONCE = 100
# A payment's metadata can have 100 KB, and a page of such payments would take most of a second.
# A piece ends with the row that passes this length.
METADATA_AT_ONCE = 64 * 1024
BYTE_ORDER_MARK = "\ufeff"  # without it, spreadsheets do not read the file as UTF-8

# A spreadsheet reads a cell that begins with one of these as a formula, which could read other
# cells or open addresses. Keyboards for Chinese, Japanese or Korean write the wide forms.
_FORMULA_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
# A spreadsheet may end a cell at one of these: in many countries it splits a CSV file at
# semicolons, and quotes inside such a cell protect neither separators nor line breaks.
_CELL_ENDS = ";|\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
# It may drop these before it looks at a cell's first character: blanks, quotes, zero-width.
_DROPPED = (
    '"\x00-\x08\x0e-\x1b\x1f \x7f\xa0\xad\u1680\u180e\u2000-\u200f'
    "\u202a-\u202f\u205f-\u2064\u3000\ufeff"
)
_BEFORE_FORMULA = re.compile(
    f"(?:^(?=[\t\r\n])|(?:^|(?<=[{_CELL_ENDS}]))(?=[{_DROPPED}]*[{_FORMULA_STARTS}]))"
)


def guarded(text: str) -> str:
    """Text in which no spreadsheet finds a formula, wherever it splits the file into cells."""
    return _BEFORE_FORMULA.sub("'", closed(text))


def _net(payment: Payment, refunded: int = 0) -> str:
    net = net_amount(payment)
    return "" if net is None else rufiyaa(net - refunded)


def _refunded(payment: Payment) -> int:
    return payment.refunded_amount or 0


# The cells of a payment at a moment, by column.
CELLS: dict[str, Callable[[Payment, datetime], str]] = {
    "id": lambda payment, now: ids.show_id(ids.PAYMENT, payment.id),
    "reference": lambda payment, now: guarded(payment.reference),
    "status": shown_state,
    "amount": lambda payment, now: rufiyaa(payment.amount),
    "fee": lambda payment, now: "" if payment.fee is None else rufiyaa(payment.fee),
    "net_amount": lambda payment, now: _net(payment),
    "kind": lambda payment, now: payment.kind,
    "title": lambda payment, now: guarded(payment.title or ""),
    "description": lambda payment, now: guarded(payment.description or ""),
    "bill_number": lambda payment, now: guarded(payment.bill_number or ""),
    "terminal_label": lambda payment, now: guarded(payment.terminal_label or ""),
    "payment_reference": lambda payment, now: payment.payment_reference or "",
    "created_at": lambda payment, now: show_or_none(payment.created_at) or "",
    "paid_at": lambda payment, now: show_or_none(payment.paid_at) or "",
    "refunded_at": lambda payment, now: show_or_none(payment.refunded_at) or "",
    "expires_at": lambda payment, now: show_or_none(payment.expires_at) or "",
    "metadata": lambda payment, now: guarded(
        "" if payment.metadata == "{}" else escaped_json(payment.metadata)
    ),
    "refunded_amount": lambda payment, now: _net(payment) and rufiyaa(_refunded(payment)),
    "balance_effect": lambda payment, now: _net(payment, _refunded(payment)),
}


def cells_of(payment: Payment, now: datetime) -> dict[str, str]:
    return {name: cell(payment, now) for name, cell in CELLS.items()}


async def export(request: DashboardRequest) -> Reply:
    asked = read_list(request, api.LIST_QUERY, PAYMENTS.listing)
    if isinstance(asked, Refusal):
        return refused_list(request, "payments.html", asked)

    async def find(after: Position | None) -> tuple[Sequence[Payment], Position | None]:
        window = replace(asked.window, limit=ROWS_AT_ONCE, after=after)
        listing = listing_of(request, PAYMENTS, asked._replace(window=window))
        found = await request.backend.page(listing)
        return found.rows, found.next

    def cells(payment: Payment) -> dict[str, str]:
        return cells_of(payment, request.tenant_now)

    name = f"payments-{request.tenant.mode}-{local_day(request.tenant_now)}.csv"
    lines = csv_lines(request, [*CELLS], find, lambda payment: len(payment.metadata), cells)
    return file_reply(request, name, lines)


def file_reply(request: DashboardRequest, name: str, lines: AsyncGenerator[bytes, None]) -> Reply:
    place = ExitStack()
    place.enter_context(request.backend.heavy.export(request.merchant.id))
    # It counts as an export until the last line is sent or the client has disconnected.
    return csv_reply(name)._replace(stream=Stream(lines, place.close))


def csv_reply(name: str, content: bytes = b"") -> Reply:
    """A file that the browser saves under this name."""
    attached = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    return Reply(200, content, headers=(attached,), content_type=b"text/csv; charset=utf-8")


async def csv_lines(
    request: DashboardRequest,
    columns: list[str],
    find: Callable[[N | None], Awaitable[tuple[Sequence[T], N | None]]],
    length_of: Callable[[T], int],
    cells: Callable[[T], dict[str, str]],
) -> AsyncGenerator[bytes, None]:
    """Reads a page at a time with `find`; no connection is held while the client reads.

    A person who loses the permission meanwhile gets an incomplete file.
    """
    backend = request.backend
    yield (BYTE_ORDER_MARK + csv_text([columns])).encode()
    after: N | None = None
    while True:
        async with backend.heavy.reading.slot():
            if not await request.still_may("exports.read"):
                raise StreamEnded
            rows, after = await find(after)
        for piece in in_pieces(rows, length_of):
            async with backend.heavy.writing.slot():
                written = [cells(row) for row in piece]
                text = csv_text([[row[name] for name in columns] for row in written]).encode()
            yield text
        if after is None:
            return


def in_pieces(rows: Sequence[T], length_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Splits the rows of a page by the length of their texts."""
    piece: list[T] = []
    length = 0
    for row in rows:
        piece.append(row)
        length += length_of(row)
        if length >= METADATA_AT_ONCE:
            yield piece
            piece, length = [], 0
    if piece:
        yield piece


def csv_text(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


ROUTES = [
    PageRoute(
        DashboardRequest,
        "/payments/export.csv",
        get=export,
        hands_out=True,
        needs="exports.read",
    )
]
