"""The merchant's money: its balance, and its ledger with filters, pages and a file."""

from typing import Final
from urllib.parse import urlencode

from laari.edge.pages.csv_files import ROWS_AT_ONCE, csv_lines, file_reply, guarded
from laari.edge.pages.dashboard.days import read_span
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import shown
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.money import rufiyaa
from laari.rules.refusals import Refusal, invalid
from laari.store.reads.listing import Position
from laari.store.reads.money import balance_history, movements
from laari.store.reads.money.balance_history import Line
from laari.store.reads.money.movements import KINDS, MovementKind

PAGE = 50  # rows
DAYS = 30  # that are shown first
_LISTING = "money"
# The pages' words for kinds of movements.
WORDS: Final[dict[MovementKind, str]] = {
    "payment": "Payment",
    "refund": "Refund",
    "payout": "Payout",
    "payout_fee": "Payout fee",
    "payout_returned": "Payout returned",
    "hold": "Held",
    "release": "Released",
    "merchant_adjustment": "Correction",
}
assert WORDS.keys() == set(KINDS)
COLUMNS = [
    "moved_at",
    "movement",
    "amount",
    "fee",
    "balance_effect",
    "balance_after",
    "payment_id",
    "refund_id",
    "reference",
    "title",
    "terminal_label",
    "note",
]


def _read_kinds(request: DashboardRequest) -> tuple[MovementKind, ...] | Refusal:
    written = request.query.get("kind", "").strip()
    if not written:
        return KINDS
    chosen = tuple(kind for kind in KINDS if kind == written)
    return chosen or invalid("kind", "This kind of movement does not exist.")


@long
async def show(request: DashboardRequest) -> Reply:
    span, kinds = read_span(request, DAYS), _read_kinds(request)
    if isinstance(span, Refusal) or isinstance(kinds, Refusal):
        return await _refused(request, span if isinstance(span, Refusal) else kinds)
    after = request.backend.cursors.read(
        _LISTING, request.tenant.id, request.query.get("after", "")
    )
    found = await request.backend.ask(
        balance_history.of_span, span, PAGE, after and Position(*after), kinds
    )
    asked = {"first": str(span.first), "last": str(span.last)}
    if len(kinds) == 1:
        asked["kind"] = kinds[0]
    older = None
    if found.next is not None:
        cursor = request.backend.cursors.make(_LISTING, request.tenant.id, *found.next)
        older = urlencode({**asked, "after": cursor})
    hold = None
    if found.balance.held:
        hold = await request.backend.ask(movements.newest_hold, request.tenant.id)
    return await request.long_page(
        "money.html",
        balance=found.balance,
        hold=hold,
        span=span,
        lines=found.lines,
        words=WORDS,
        has_balances=len(kinds) > 1,
        written={**asked, **({"after": ""} if "after" in request.query else {})},
        older=older,
        asked=urlencode(asked),
    )


async def _refused(request: DashboardRequest, problem: object) -> Reply:
    assert isinstance(problem, Refusal)
    request.problem = shown(problem)
    return request.page("money.html", balance=None, span=None, words=WORDS, written=request.query)


async def export(request: DashboardRequest) -> Reply:
    span, kinds = read_span(request, DAYS), _read_kinds(request)
    if isinstance(span, Refusal) or isinstance(kinds, Refusal):
        return await _refused(request, span if isinstance(span, Refusal) else kinds)

    left: int | None = None

    async def find(after: Position | None) -> tuple[list[Line], Position | None]:
        nonlocal left
        found = await request.backend.ask(
            balance_history.of_span, span, ROWS_AT_ONCE, after, kinds, left=left
        )
        left = found.left
        return found.lines, found.next

    name = f"money-{request.tenant.mode}-{span.first}-{span.last}.csv"
    lines = csv_lines(request, COLUMNS, find, lambda _: 0, _cells)  # all texts are short
    return file_reply(request, name, lines)


def _cells(line: Line) -> dict[str, str]:
    movement, payment, refund = line.movement, line.movement.payment, line.movement.refund
    cells = dict.fromkeys(COLUMNS, "")
    cells |= {
        "moved_at": show_time(movement.at),
        "movement": movement.kind,
        "amount": rufiyaa(movement.effect),
        "balance_effect": rufiyaa(movement.effect),
        "balance_after": "" if line.balance is None else rufiyaa(line.balance),
    }
    if payment is not None:
        cells |= {
            "payment_id": ids.show_id(ids.PAYMENT, payment.id),
            "reference": guarded(payment.reference),
            "title": guarded(payment.title or ""),
            "terminal_label": guarded(payment.terminal_label or ""),
        }
        if refund is None:
            cells |= {"amount": rufiyaa(payment.amount), "fee": rufiyaa(payment.fee or 0)}
    if refund is not None:
        cells |= {
            "refund_id": ids.show_id(ids.REFUND, refund.id),
            "note": guarded(refund.note or ""),
        }
    if movement.details is not None:
        cells["note"] = guarded(movement.details)
    return cells


ROUTES = [
    PageRoute(DashboardRequest, "/money", get=show, needs="money.read"),
    PageRoute(
        DashboardRequest, "/money/export.csv", get=export, hands_out=True, needs="exports.read"
    ),
]
