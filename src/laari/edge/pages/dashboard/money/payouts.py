"""Payouts of a merchant, the movements they consist of, and the bank account they go to."""

from typing import Final, NamedTuple
from urllib.parse import urlencode

from laari.edge.pages.csv_files import ROWS_AT_ONCE, csv_lines, file_reply, guarded
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.person import long
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.merchant_money import ADD_BANK
from laari.rules import ids
from laari.rules.banking.bank_accounts import (
    coming,
    in_effect,
    masked,
)
from laari.rules.banking.payouts import RequestPayout
from laari.rules.calendar import local_day
from laari.rules.calendar import show as show_time
from laari.rules.money import rufiyaa
from laari.rules.records.ledger import MovementType
from laari.rules.records.payments import Payment
from laari.rules.records.payouts import Payout, PayoutMovement
from laari.store.reads import payments
from laari.store.reads.listing import Position, Window
from laari.store.reads.money import balances, payouts

PAGE = 50  # rows
HOME = "/money/payouts"
BANK = "/money/bank"
_LISTING = "dashboard payouts"
WORDS: Final[dict[MovementType, str]] = {
    "payment": "Payment",
    "fee": "Fee",
    "refund": "Refund",
    "payout_fee": "Payout fee",
    "payout_returned": "Payout returned",
    "hold": "Held",
    "release": "Released",
    "merchant_adjustment": "Correction",
}
COLUMNS = [
    "moved_at",
    "movement",
    "reference",
    "title",
    "bill_number",
    "terminal_label",
    "gross",
    "fee",
    "net",
    "payment_id",
    "refund_id",
    "payout",
    "bank_references",
    "bank_account",
]


class Row(NamedTuple):
    """A line of a payout: a payment has its fee beside it, and no line for the fee."""

    movement: PayoutMovement
    payment: Payment | None  # for a refund: the payment that it refunds

    @property
    def fee(self) -> int:
        if self.payment is None or self.movement.type != "payment":
            return 0
        return self.payment.fee or 0

    @property
    def net(self) -> int:
        return self.movement.amount - self.fee


async def _rows(
    request: DashboardRequest, payout: Payout, limit: int, after: Position | None
) -> tuple[list[Row], Position | None]:
    """A page of lines. A payment and its fee are one transaction, so they are in one payout."""
    found = await request.backend.ask(payouts.movements, payout, limit, after)
    moved = [each for each in found.rows if each.type != "fee"]
    named = {each.payment_id for each in moved if each.payment_id is not None}
    paid = await request.backend.ask(payments.by_id, list(named))
    rows = [Row(each, paid.get(each.payment_id) if each.payment_id else None) for each in moved]
    return rows, found.next


async def show(request: DashboardRequest) -> Reply:
    """All payouts, the next payout day and the bank account."""
    backend, tenant = request.backend, request.tenant
    place = backend.cursors.read(_LISTING, tenant.id, request.query.get("after", ""))
    window = Window(PAGE, place and Position(*place))
    found = await backend.page(payouts.of_tenant(tenant.id, request.tenant_now, window))
    older = None
    if found.next is not None:
        older = urlencode({"after": backend.cursors.make(_LISTING, tenant.id, *found.next)})
    accounts = (await backend.ask(payouts.bank_accounts, [tenant.id]))[tenant.id]
    today = local_day(request.tenant_now)
    return request.page(
        "payouts.html",
        rows=found.rows,
        older=older,
        written={"after": ""} if "after" in request.query else {},
        balance=await backend.ask(balances.of_tenant, tenant.id),
        terms=await backend.ask(payouts.terms, tenant.id),
        next_day=await backend.ask(payouts.next_pay_day, today),
        account=in_effect(accounts, request.now),
        coming=coming(accounts, request.now),
        masked=masked,
    )


async def _find(request: DashboardRequest) -> Payout | None:
    payout_id = ids.read_id(ids.PAYOUT, request.params["id"])
    found = None if payout_id is None else await request.backend.payouts.get(payout_id)
    return found if found is not None and found.tenant_id == request.tenant.id else None


@long
async def show_one(request: DashboardRequest) -> Reply:
    payout = await _find(request)
    if payout is None:
        return request.missing()
    backend, tenant = request.backend, request.tenant
    listing = f"{_LISTING} {payout.id.hex}"
    place = backend.cursors.read(listing, tenant.id, request.query.get("after", ""))
    rows, next_place = await _rows(request, payout, PAGE, place and Position(*place))
    older = None
    if next_place is not None:
        older = urlencode({"after": backend.cursors.make(listing, tenant.id, *next_place)})
    [shape] = await backend.ask(payouts.shapes, [payout])
    orders = await backend.ask(payouts.orders, [payout.id])
    return await request.long_page(
        "payout.html",
        payout=payout,
        shape=shape,
        reasons=list(dict.fromkeys(each.return_reason for each in orders if each.return_reason)),
        rows=rows,
        words=WORDS,
        older=older,
        written={"after": ""} if "after" in request.query else {},
    )


async def export(request: DashboardRequest) -> Reply:
    payout = await _find(request)
    if payout is None:
        return request.missing()

    async def find(after: Position | None) -> tuple[list[Row], Position | None]:
        return await _rows(request, payout, ROWS_AT_ONCE, after)

    [shape] = await request.backend.ask(payouts.shapes, [payout])
    account = shape.bank_account
    same = {
        "payout": str(shape.number),
        "bank_references": " ".join(shape.bank_references),
        "bank_account": "" if account is None else f"{account.bank} {account.last4}",
    }
    name = f"payout-{request.tenant.mode}-{payout.number}.csv"
    lines = csv_lines(request, COLUMNS, find, lambda row: 0, lambda row: _cells(row) | same)
    return file_reply(request, name, lines)


def _cells(row: Row) -> dict[str, str]:
    moved, payment = row.movement, row.payment
    cells = dict.fromkeys(COLUMNS, "")
    cells |= {
        "moved_at": show_time(moved.created_at),
        "movement": moved.type,
        "gross": rufiyaa(moved.amount),
        "fee": rufiyaa(row.fee),
        "net": rufiyaa(row.net),
    }
    if payment is not None:
        cells |= {
            "reference": guarded(payment.reference),
            "title": guarded(payment.title or ""),
            "bill_number": guarded(payment.bill_number or ""),
            "terminal_label": guarded(payment.terminal_label or ""),
            "payment_id": ids.show_id(ids.PAYMENT, payment.id),
        }
    if moved.refund_id is not None:
        cells["refund_id"] = ids.show_id(ids.REFUND, moved.refund_id)
    return cells


async def request_payout(request: DashboardRequest) -> Reply:
    await request.confirm()
    await request.submit(RequestPayout(request.tenant.id, request.actor))
    return request.redirect(HOME, done="payout")


async def show_bank(request: DashboardRequest) -> Reply:
    tenant_id = request.tenant.id
    accounts = (await request.backend.ask(payouts.bank_accounts, [tenant_id]))[tenant_id]
    return request.page(
        "bank.html",
        accounts=accounts[::-1],
        current=in_effect(accounts, request.now),
        masked=masked,
        written=request.form,
    )


async def save_bank(request: DashboardRequest) -> Reply:
    """Needs the password again, because a thief with an open browser could take all the money."""
    given = request.values(ADD_BANK)
    await request.confirm(always=True)
    await request.act(ADD_BANK, request.tenant, given)
    return request.redirect(BANK, done=ADD_BANK.name)


ROUTES = [
    PageRoute(DashboardRequest, HOME, get=show, needs="payouts.read"),
    PageRoute(
        DashboardRequest,
        f"{HOME}/request",
        post=request_payout,
        page=show,
        needs="payouts.request",
    ),
    PageRoute(DashboardRequest, f"{HOME}/{{id}}", get=show_one, needs="payouts.read"),
    PageRoute(
        DashboardRequest,
        f"{HOME}/{{id}}/export.csv",
        get=export,
        hands_out=True,
        needs="exports.read",
    ),
    PageRoute(
        DashboardRequest,
        BANK,
        get=show_bank,
        post=save_bank,
        needs=ADD_BANK.needs,
        runs={ADD_BANK.name: {}},
    ),
]
