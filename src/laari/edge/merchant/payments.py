"""Hosted payments: create, get, list, cancel and the public QR image."""

from datetime import UTC, datetime
from uuid import UUID

from laari.edge import codes
from laari.edge.backend import Backend
from laari.edge.input.fields import (
    Body,
    Query,
    amount,
    described,
    text,
    text_map,
    timestamp,
    web_address,
)
from laari.edge.merchant.lists import (
    AFTER,
    BILL_NUMBER,
    BILL_NUMBER_CHARACTERS,
    BILL_NUMBER_CHARSET,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    TERMINAL_LABEL,
    ListQuery,
    status_filter,
)
from laari.edge.merchant.lists import (
    REFERENCE as REFERENCE_FILTER,
)
from laari.edge.merchant.operations import Context, Operation, Public, Write
from laari.edge.merchant.shared_operations import cancel_operation, get_operation, list_operation
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.lifecycle import state_of
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT, PAYMENT_LIFE_HOURS
from laari.rules.payments.payments import CancelPayment, CreatePayment, PaymentDraft
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import local_time
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.payments import AnyPayment, HostedPayment

STATUSES = ("pending", "paid", "rejected", "expired", "cancelled", "refunded")

REFERENCE = described(
    text("reference", 100, required=True),
    "Your name for the payment, unique among your payments, charges and payment requests.",
)
AMOUNT = described(
    amount("amount", 1, MAX_PAYMENT_AMOUNT, required=True), "In laari: `12500` is MVR 125.00."
)
TITLE = described(text("title", 255), "The purpose of the payment.")
DESCRIPTION = text("description", 500)
LABEL = described(text("terminal_label", 10), "The till; need not be unique.")
BILL = text("bill_number", 25, pattern=BILL_NUMBER_CHARACTERS, charset=BILL_NUMBER_CHARSET)

# Payment requests have these too.
LIST_FIELDS = (
    LIMIT,
    AFTER,
    status_filter(*STATUSES),
    TERMINAL_LABEL,
    BILL_NUMBER,
    CREATED_FROM,
    CREATED_TO,
)
LIST_QUERY = Query(ListQuery, *LIST_FIELDS, REFERENCE_FILTER)

CREATE_PAYMENT = Body(
    PaymentDraft,
    REFERENCE,
    AMOUNT,
    TITLE,
    DESCRIPTION,
    LABEL,
    BILL,
    described(
        web_address("return_url", 2048), "The customer's browser goes here from the checkout page."
    ),
    described(
        timestamp("expires_at"), f"In the future; default: {PAYMENT_LIFE_HOURS} hours from now."
    ),
    described(
        text_map("metadata", entries=50, longest_key=40, longest_value=500),
        "Your own strings, stored as sent; the customer does not see them.",
    ),
    name="PaymentCreate",
    examples={
        "a payment": {
            "reference": "ORDER-1001",
            "amount": 12500,
            "title": "Two tickets to Villingili",
            "bill_number": "2027/0815",
            "metadata": {"basket": "b-77"},
        }
    },
)


def create(context: Context, draft: PaymentDraft) -> CreatePayment:
    return CreatePayment(context.tenant, draft)


async def qr(backend: Backend, written_id: str) -> Reply | Refusal:
    """The payment link as a QR image while it can be paid, by the token of `qr_url` or by id."""
    if ids.is_token(written_id):
        payment = await backend.payments_by_token.get(written_id)
    else:
        payment = await PAYMENTS.find(backend, written_id)
    if payment is None or payment.kind != "hosted":
        return refuse("not_found")
    tenant = await backend.tenants.get(payment.tenant_id)
    if state_of(payment, local_time(datetime.now(UTC), tenant)) not in ("pending", "processing"):
        return refuse("not_found")
    return codes.image(backend.origin, payment)


def payment_id(payment: Payment) -> UUID:
    return payment.id


CREATE = Write(
    path="/payments",
    name="create_payment",
    summary="Create a hosted payment",
    scope="payments:create",
    status=201,
    command=create,
    show=PAYMENTS.show,
    body=CREATE_PAYMENT,
    resource_id=payment_id,
    shape=HostedPayment,
    refusals=("reference_conflict",),
    description="Returns a payment with a hosted checkout page, `payment_url`, and a QR image "
    "of its address, `qr_url`. If you repeat `reference` and `amount`, you get the original "
    "payment, unchanged, even after it has expired.",
)
LIST = list_operation(
    PAYMENTS,
    LIST_QUERY,
    AnyPayment,
    "While `has_more` is true, send `next_cursor` as `after` with the other parameters unchanged. "
    "Overdue payments on the page are marked expired.",
)
GET = get_operation(
    PAYMENTS,
    AnyPayment,
    "By its `id`. For your `reference`, list payments with `reference`. An overdue payment is "
    "marked expired.",
)
CANCEL = cancel_operation(
    PAYMENTS,
    CancelPayment,
    HostedPayment,
    "payment_not_cancellable",
    "payment_conflict",
    description="The checkout page and the QR image stop accepting payment. A second cancel "
    "returns the same payment and sends no event. This is not a refund.",
)
QR = Public(
    path="/public/qr/{id}",
    name="get_qr",
    summary="QR image of a payment link",
    get=qr,
    refusals=("not_found",),
    media_type=codes.PNG,
    description="Available while the payment can be paid. Use `qr_url` exactly as returned. "
    "HEAD returns only the headers.",
)

OPERATIONS: tuple[Operation, ...] = (CREATE, LIST, GET, CANCEL, QR)
