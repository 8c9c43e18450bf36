"""The filtered payments as a CSV file of any length."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from laari.edge.merchant import payments as api
from laari.edge.pages.bidi import escaped_json
from laari.edge.pages.csv_files import ROWS_AT_ONCE, csv_lines, file_reply, guarded
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import listing_of, read_list, refused_list
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.calendar import local_day, show_or_none
from laari.rules.lifecycle import shown_state
from laari.rules.money import rufiyaa
from laari.rules.records.payments import Payment
from laari.rules.refusals import Refusal
from laari.rules.shapes.payments import net_amount
from laari.store.reads.listing import Position


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


ROUTES = [
    PageRoute(
        DashboardRequest,
        "/payments/export.csv",
        get=export,
        hands_out=True,
        needs="exports.read",
    )
]
