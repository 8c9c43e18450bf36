"""Payments and refunds of some days with their sums, as a page and as a file.

The overview has the same days, so its figures, this list and the file have the same sums.
"""

from functools import reduce
from urllib.parse import urlencode

from laari.edge.pages.dashboard.days import read_span
from laari.edge.pages.dashboard.export import CELLS, ROWS_AT_ONCE, cells_of, csv_lines, file_reply
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.calendar import show
from laari.rules.money import rufiyaa
from laari.rules.records import Payment
from laari.rules.refusals import Refusal
from laari.store.reads import movements
from laari.store.reads.figures import Figures
from laari.store.reads.listing import Position
from laari.store.reads.movements import Movement

PAGE = 50  # rows
COLUMNS = ["moved_at", "movement", *CELLS]
_LISTING = "movements"


async def show_list(request: DashboardRequest) -> Reply:
    query = request.query
    span = read_span(request)
    if isinstance(span, Refusal):
        return _refused(request, span)
    found = await request.backend.ask(
        movements.of_span, span, PAGE, _read_place(request, query.get("after", ""))
    )
    days = await request.backend.days(span)
    asked = {"first": str(span.first), "last": str(span.last)}
    return await request.long_page(
        "movements.html",
        span=span,
        written={**asked, **({"after": ""} if "after" in query else {})},
        sums=reduce(Figures.plus, (day.figures for day in days), Figures()),
        rows=found.rows,
        older=found.next and urlencode({**asked, "after": _cursor(request, found.next)}),
        days=urlencode(asked),
    )


def _refused(request: DashboardRequest, problem: Refusal) -> Reply:
    request.problem = problem
    return request.page("movements.html", span=None, written=request.query)


def _cursor(request: DashboardRequest, place: Position) -> str:
    return request.backend.cursors.make(_LISTING, request.tenant.id, *place)


def _read_place(request: DashboardRequest, cursor: str) -> Position | None:
    found = request.backend.cursors.read(_LISTING, request.tenant.id, cursor)
    return None if found is None else Position(*found)


async def export(request: DashboardRequest) -> Reply:
    span = read_span(request)
    if isinstance(span, Refusal):
        return _refused(request, span)

    async def find(after: Position | None) -> movements.Movements:
        return await request.backend.ask(movements.of_span, span, ROWS_AT_ONCE, after)

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
    PageRoute(DashboardRequest, "/payments/movements", get=show_list, needs="money.read"),
    PageRoute(
        DashboardRequest,
        "/payments/movements.csv",
        get=export,
        hands_out=True,
        needs="exports.read",
    ),
]
