"""Refunds of payments, and the merchant's balance."""

from typing import get_args

from msgspec import Struct

from laari.edge.input.fields import NO_QUERY, Body, Query, amount, choice, described, text
from laari.edge.merchant.lists import AFTER, LIMIT, PageQuery, page_body, read_window
from laari.edge.merchant.operations import Context, Operation, Read, Write
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.limits.texts import MAX_NOTE
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.payments import RefundReason
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.balance import MerchantBalance, balance_shape
from laari.rules.shapes.envelopes import Data, to_json
from laari.rules.shapes.refunds import Refund as RefundShape
from laari.rules.shapes.refunds import refund_shape
from laari.store.reads import refunds
from laari.store.reads.money import balances


class RefundDraft(Struct, frozen=True):
    amount: int | None = None
    reason: RefundReason | None = None
    note: str | None = None


REFUND_BODY = Body(
    RefundDraft,
    described(amount("amount", 1, MAX_PAYMENT_AMOUNT), "In laari; default: all that is left."),
    choice("reason", get_args(RefundReason)),
    described(text("note", MAX_NOTE), "For you; the customer does not see it."),
    name="RefundCreate",
    examples={
        "a part": {"amount": 5000, "reason": "requested_by_customer", "note": "One ticket returned"}
    },
)


def refund(context: Context, draft: RefundDraft) -> RefundPayment:
    return RefundPayment(
        tenant=context.tenant,
        id=context.id(ids.PAYMENT),
        actor=context.caller.actor,
        amount=draft.amount,
        reason=draft.reason,
        note=draft.note,
    )


async def list_refunds(context: Context, query: PageQuery) -> Reply | Refusal:
    backend, tenant = context.backend, context.tenant
    payment = await PAYMENTS.of_tenant(backend, tenant, context.written_id)
    if payment is None:
        return refuse("not_found")
    listing = f"refunds of {payment.id.hex}"
    window = read_window(query, backend.cursors, listing, tenant.id)
    if isinstance(window, Refusal):
        return window
    found = await backend.page(refunds.listed(payment.id, window))
    shapes = map(refund_shape, found.rows)
    return Reply(200, page_body(shapes, found, window, backend.cursors, listing, owner=tenant.id))


async def get_refund(context: Context, query: None) -> Reply | Refusal:
    found = await context.backend.refunds.get(context.id(ids.REFUND))
    if found is None or found.tenant_id != context.tenant.id:
        return refuse("not_found")
    return Reply(200, to_json(Data(refund_shape(found))))


async def get_balance(context: Context, query: None) -> Reply | Refusal:
    found = await context.backend.ask(balances.of_tenant, context.tenant.id)
    return Reply(200, to_json(Data(balance_shape(found.available, found.held, found.in_transit))))


REFUND = Write(
    path="/payments/{id}/refunds",
    name="refund_payment",
    summary="Refund a payment, or a part of it",
    scope="payments:refund",
    status=201,
    command=refund,
    show=lambda done, backend: refund_shape(done.refund),
    body=REFUND_BODY,
    resource_id=lambda done: done.refund.id,
    shape=RefundShape,
    refusals=(
        "not_found",
        "payment_not_refundable",
        "refund_exceeds_payment",
        "insufficient_merchant_balance",
    ),
    description="Returns money to the wallet that paid. A payment can have 50 refunds, within 365 "
    "days after it was paid. It stays `paid` until all of it is refunded. Fees are not returned. "
    "Send an `Idempotency-Key`: without it, a repeated request refunds again. Clients need the "
    "scope by name.",
)
LIST = Read(
    path="/payments/{id}/refunds",
    name="list_payment_refunds",
    summary="List the refunds of a payment, newest first",
    scope="payments:read",
    get=list_refunds,
    query=Query(PageQuery, LIMIT, AFTER),
    shape=RefundShape,
    is_list=True,
    refusals=("not_found",),
)
GET = Read(
    path="/refunds/{id}",
    name="get_refund",
    summary="Get a refund",
    scope="payments:read",
    query=NO_QUERY,
    get=get_refund,
    shape=RefundShape,
    refusals=("not_found",),
)
BALANCE = Read(
    path="/balance",
    name="get_balance",
    summary="Get your balance",
    scope="balance:read",
    query=NO_QUERY,
    get=get_balance,
    shape=MerchantBalance,
    description="Exact at the moment of the request. `available` can be negative, because fees of "
    "refunded payments are not returned. Clients need the scope by name.",
)

OPERATIONS: tuple[Operation, ...] = (REFUND, LIST, GET, BALANCE)
