"""Hosted payments: create, get, list, cancel and the public QR image."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from laari.edge.backend import Backend
from laari.edge.fields import Body, integer, text, text_map, timestamp, web_address
from laari.edge.http import Reply
from laari.edge.merchant.lists import (
    AFTER,
    BILL_NUMBER,
    BILL_NUMBER_CHARACTERS,
    BILL_NUMBER_CHARSET,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    TERMINAL_LABEL,
    Query,
    page_reply,
    read_window,
    status_filter,
)
from laari.edge.merchant.operations import Call, Operation
from laari.edge.qr import qr_png
from laari.rules import ids
from laari.rules.money import MAX_PAYMENT_AMOUNT
from laari.rules.payments import (
    CancelPayment,
    CreatePayment,
    ExpirePayment,
    PaymentDraft,
    is_overdue,
)
from laari.rules.records import Payment, Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes import AuthorizationPayment, Data, HostedPayment, payment_shape, to_json
from laari.rules.world import local_time
from laari.store.listing import Found

LISTING = "payments"
STATUSES = ("pending", "paid", "rejected", "expired", "cancelled", "refunded")

REFERENCE = text("reference", 100, required=True)
AMOUNT = integer("amount", 1, MAX_PAYMENT_AMOUNT, required=True)
TITLE = text("title", 255)
DESCRIPTION = text("description", 500)
LABEL = text("terminal_label", 10)
BILL = text("bill_number", 25, pattern=BILL_NUMBER_CHARACTERS, charset=BILL_NUMBER_CHARSET)

CREATE_PAYMENT = Body(
    REFERENCE,
    AMOUNT,
    TITLE,
    DESCRIPTION,
    LABEL,
    BILL,
    web_address("return_url", 2048),
    timestamp("expires_at"),
    text_map("metadata", entries=50, longest_key=40, longest_value=500),
)


def create(call: Call, fields: dict[str, Any]) -> CreatePayment:
    return CreatePayment(call.caller.tenant, PaymentDraft(**fields))


def cancel(call: Call, fields: dict[str, Any]) -> CancelPayment:
    return CancelPayment(call.caller.tenant, call.id(ids.PAYMENT))


async def get(call: Call, query: dict[str, Any]) -> Reply | Refusal:
    tenant = call.caller.tenant
    payment = await call.backend.payments.get(call.id(ids.PAYMENT))
    if payment is None or payment.tenant_id != tenant.id:
        return refuse("not_found")
    if is_overdue(payment, local_time(datetime.now(UTC), tenant)):
        outcome = await call.backend.spine.submit(ExpirePayment(tenant, payment.id))
        if isinstance(outcome, Refusal):
            return outcome
        payment = outcome
    return Reply(200, to_json(Data(shown(payment, call.backend))))


async def list_payments(call: Call, filters: dict[str, Any]) -> Reply | Refusal:
    tenant, backend = call.caller.tenant, call.backend
    window = read_window(filters, backend.cursors, LISTING, tenant.id)
    if isinstance(window, Refusal):
        return window
    now = local_time(datetime.now(UTC), tenant)
    status = filters.get("status")
    found = await backend.list_payments(
        tenant.id,
        now,
        window,
        status=status,
        terminal_label=filters.get("terminal_label"),
        bill_number=filters.get("bill_number"),
    )
    found = await expire_overdue(call, tenant, found, now, status)
    shapes = (shown(payment, backend) for payment in found.rows)
    return page_reply(shapes, found, window, backend.cursors, LISTING, tenant.id)


async def expire_overdue(
    call: Call, tenant: Tenant, found: Found[Payment], now: datetime, status: str | None
) -> Found[Payment]:
    """Marks the overdue payments of a page expired, as reading them does."""
    overdue = [payment for payment in found.rows if is_overdue(payment, now)]
    if not overdue:
        return found
    submit = call.backend.spine.submit
    outcomes = await asyncio.gather(*(submit(ExpirePayment(tenant, p.id)) for p in overdue))
    current = {p.id: p for p in outcomes if isinstance(p, Payment)}
    rows = [current.get(payment.id, payment) for payment in found.rows]
    # One that was paid or cancelled meanwhile no longer belongs to the status asked for.
    return Found([p for p in rows if status is None or p.status == status], found.next)


async def qr(call: Call, query: dict[str, Any]) -> Reply | Refusal:
    """The payment link as a QR image, for as long as it can be paid.

    The id is the unguessable one that `qr_url` carries; the payment's own id works too.
    """
    backend = call.backend
    if ids.is_token(call.path_id):
        payment = await backend.payments_by_token.get(call.path_id)
    else:
        payment = await backend.payments.get(call.id(ids.PAYMENT))
    if payment is None or payment.kind != "hosted" or payment.status != "pending":
        return refuse("not_found")
    tenant = await backend.tenants.get(payment.tenant_id)
    now = local_time(datetime.now(UTC), tenant)
    if payment.expires_at is not None and payment.expires_at <= now:
        return refuse("not_found")
    image = qr_png(f"{backend.origin}/pay/{payment.token}")
    return Reply(200, image, content_type=b"image/png")


def shown(payment: Payment, backend: Backend) -> HostedPayment | AuthorizationPayment:
    return payment_shape(payment, backend.origin)


PAYMENT_SHAPES = HostedPayment | AuthorizationPayment

OPERATIONS = (
    Operation(
        "POST",
        "/payments",
        "create_payment",
        "Create a hosted payment",
        "payments:create",
        status=201,
        command=create,
        shape=shown,
        body=CREATE_PAYMENT,
        keyed=True,
        answers=HostedPayment,
        refusals=("reference_conflict",),
    ),
    Operation(
        "GET",
        "/payments",
        "list_payments",
        "List payments, newest first",
        "payments:read",
        answer=list_payments,
        query=Query(
            LIMIT,
            AFTER,
            status_filter(*STATUSES),
            TERMINAL_LABEL,
            BILL_NUMBER,
            CREATED_FROM,
            CREATED_TO,
        ),
        answers=PAYMENT_SHAPES,
        is_list=True,
    ),
    Operation(
        "GET",
        "/payments/{id}",
        "get_payment",
        "Get a payment",
        "payments:read",
        answer=get,
        answers=PAYMENT_SHAPES,
        refusals=("not_found",),
    ),
    Operation(
        "POST",
        "/payments/{id}/cancel",
        "cancel_payment",
        "Cancel a pending payment",
        "payments:cancel",
        command=cancel,
        shape=shown,
        answers=HostedPayment,
        refusals=("not_found", "payment_not_cancellable", "payment_conflict"),
    ),
    Operation(
        "GET",
        "/public/qr/{id}",
        "get_qr",
        "QR image of a payment link",
        None,
        answer=qr,
        refusals=("not_found",),
    ),
)
