"""Payments and refunds of some days with their sums, as a page and as a file.

The overview has the same days, so its figures, this list and the file have the same sums.
"""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple
from urllib.parse import urlencode

from laari.edge.pages.csv_files import ROWS_AT_ONCE, csv_lines, file_reply
from laari.edge.pages.dashboard.days import DAY_FIELDS, read_span
from laari.edge.pages.dashboard.money.payments_export import CELLS, cells_of
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import shown
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.calendar import show
from laari.rules.money import rufiyaa
from laari.rules.records.payments import Payment
from laari.rules.refusals import Refusal, invalid
from laari.store.reads.figures import Day, Figures, Span
from laari.store.reads.listing import Position
from laari.store.reads.money import movements
from laari.store.reads.money.movements import SALES, Movement, MovementKind

PAGE = 50  # rows
COLUMNS = ["moved_at", "movement", *CELLS]
_LISTING = "movements"


# The filter by the day on which payments were paid or refunded.
BY: dict[str, tuple[MovementKind, ...]] = {
    "": SALES,
    "paid": ("payment",),
    "refunded": ("refund",),
}
LONGEST_LABEL = 10


class Asked(NamedTuple):
    span: Span
    by: str
    till: str | None

    @property
    def query(self) -> dict[str, str]:
        """As the address has it."""
        named = {"first": str(self.span.first), "last": str(self.span.last), "by": self.by}
        return {
            name: value for name, value in {**named, "terminal_label": self.till}.items() if value
        }

    def sums(self, days: Iterable[Day]) -> Figures:
        """Of the days, for the chosen kinds and till."""
        found = (day.figures for day in days if self.till in (None, day.terminal_label))
        total = reduce(Figures.plus, found, Figures())
        if self.by == "paid":
            return Figures(total.payments, total.gross, total.fees)
        if self.by == "refunded":
            return Figures(refunds=total.refunds, refunded=total.refunded)
        return total


def _read(request: DashboardRequest) -> Asked | Refusal:
    """A cashier has only the movements of one till."""
    span = read_span(request)
    if isinstance(span, Refusal):
        return span
    by = request.query.get("by", "").strip()
    if by not in BY:
        return invalid("by", "Movements are payments that were paid or refunded.")
    till = request.till or request.query.get("terminal_label", "").strip() or None
    if till is not None and (len(till) > LONGEST_LABEL or "\0" in till):
        return invalid("terminal_label", "The label of a till has at most 10 characters.")
    return Asked(span, by, till)


@long
async def show_list(request: DashboardRequest) -> Reply:
    query = request.query
    asked = _read(request)
    if isinstance(asked, Refusal):
        return _refused(request, asked)
    after = _read_place(request, query.get("after", ""))
    found = await request.backend.ask(
        movements.of_span, asked.span, PAGE, after, BY[asked.by], till=asked.till
    )
    days = await request.backend.days(asked.span, request.merchant.id)
    kept = {name: value for name, value in asked.query.items() if name not in DAY_FIELDS}
    return await request.long_page(
        "movements.html",
        span=asked.span,
        written={**asked.query, **({"after": ""} if "after" in query else {})},
        sums=asked.sums(days),
        rows=found.rows,
        older=found.next and urlencode({**asked.query, "after": _cursor(request, found.next)}),
        days=urlencode(asked.query),
        kept=urlencode(kept),
    )


def _refused(request: DashboardRequest, problem: Refusal) -> Reply:
    request.problem = shown(problem)
    return request.page("movements.html", span=None, written=request.query, kept="")


def _cursor(request: DashboardRequest, place: Position) -> str:
    return request.backend.cursors.make(_LISTING, request.tenant.id, *place)


def _read_place(request: DashboardRequest, cursor: str) -> Position | None:
    found = request.backend.cursors.read(_LISTING, request.tenant.id, cursor)
    return None if found is None else Position(*found)


async def export(request: DashboardRequest) -> Reply:
    asked = _read(request)
    if isinstance(asked, Refusal):
        return _refused(request, asked)
    span = asked.span

    async def find(after: Position | None) -> movements.Movements:
        return await request.backend.ask(
            movements.of_span, span, ROWS_AT_ONCE, after, BY[asked.by], till=asked.till
        )

    name = f"movements-{request.tenant.mode}-{span.first}-{span.last}.csv"
    lines = csv_lines(
        request, COLUMNS, find, lambda movement: len(_payment_of(movement).metadata), _cells
    )
    return file_reply(request, name, lines)


def _payment_of(movement: Movement) -> Payment:
    assert movement.payment is not None  # a payment, or the payment of a refund
    return movement.payment


def _cells(movement: Movement) -> dict[str, str]:
    """The payment's cells at the time of the movement, so that columns add up to the sums.

    Later changes of the payment are not shown: the file of an ended day stays the same.
    """
    cells = cells_of(_payment_of(movement), movement.at)
    cells |= {"moved_at": show(movement.at), "movement": movement.kind}
    cells |= {"balance_effect": rufiyaa(movement.effect)}
    if movement.kind == "refund":
        cells |= {"status": "refunded", "amount": "", "fee": "", "net_amount": ""}
        cells |= {"refunded_amount": rufiyaa(-movement.effect), "refunded_at": show(movement.at)}
    else:
        cells |= {"status": "paid", "refunded_amount": "0.00", "refunded_at": ""}
    return cells


ROUTES = [
    PageRoute(DashboardRequest, "/payments/movements", get=show_list, needs="payments.read"),
    PageRoute(
        DashboardRequest,
        "/payments/movements.csv",
        get=export,
        hands_out=True,
        needs="exports.read",
    ),
]
