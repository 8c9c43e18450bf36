"""Payment requests: create, get, list and cancel."""

import time
from dataclasses import replace

from laari.edge.input.fields import (
    Body,
    Query,
    choice,
    described,
    group,
    text,
    timestamp,
    web_address,
)
from laari.edge.load.token_buckets import Bucket, named_bucket
from laari.edge.merchant.lists import ListQuery
from laari.edge.merchant.operations import Context, Operation, Write
from laari.edge.merchant.payments import (
    AMOUNT,
    BILL,
    DESCRIPTION,
    LABEL,
    LIST_FIELDS,
    REFERENCE,
    TITLE,
)
from laari.edge.merchant.shared_operations import cancel_operation, get_operation, list_operation
from laari.edge.resources import REQUESTS
from laari.rules.limits.payments import PAYMENT_LIFE_HOURS
from laari.rules.payments.payment_requests import CancelRequest, CreateRequest, RequestDraft
from laari.rules.people.contacts import MAX_EMAIL, read_email, read_mobile, read_vpa
from laari.rules.records.payments import CustomerType
from laari.rules.records.payments import PaymentRequest as RequestRecord
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, invalid
from laari.rules.shapes.requests import PaymentRequest
from laari.settings import Settings

CUSTOMER = group(
    "customer",
    choice("type", ("mobile", "email", "vpa"), required=True),
    described(
        text("value", MAX_EMAIL, required=True),
        "A mobile number, an email address, or a VPA with or without its suffix.",
    ),
    prefix="customer_",
    required=True,
)
CREATE_REQUEST = Body(
    RequestDraft,
    REFERENCE,
    AMOUNT,
    CUSTOMER,
    TITLE,
    DESCRIPTION,
    LABEL,
    BILL,
    described(
        web_address("return_url", 2048, count_bytes=False),
        "The customer's browser goes here from the wallet application.",
    ),
    described(
        timestamp("expires_at"), f"In the future; default: {PAYMENT_LIFE_HOURS} hours from now."
    ),
    name="PaymentRequestCreate",
    examples={
        "a payment request": {
            "reference": "INVOICE-2001",
            "amount": 12500,
            "customer": {"type": "vpa", "value": "sandbox"},
            "title": "Two tickets to Villingili",
        }
    },
)


def create(context: Context, draft: RequestDraft) -> CreateRequest | Refusal:
    tenant, settings = context.tenant, context.backend.settings
    value = _stored(draft.customer_type, draft.customer_value, settings.vpa_suffixes)
    if value is not None:
        draft = replace(draft, customer_value=value)
    elif tenant.mode == "live":
        return invalid("customer.value", _WRONG[draft.customer_type])
    designated = value is not None and draft.recipient in (
        ("vpa", settings.sandbox_vpa),
        ("email", settings.sandbox_email),
    )
    return CreateRequest(tenant, draft, designated, _wait_after_misses(context))


_WRONG: dict[CustomerType, str] = {
    "mobile": "customer.value must be a mobile number of seven digits, with or without +960.",
    "email": "customer.value must be an email address.",
    "vpa": "customer.value must be a VPA, without a suffix or with one that is supported.",
}


def _stored(kind: CustomerType, written: str, vpa_suffixes: tuple[str, ...]) -> str | None:
    """The customer as stored and shown, or None if it is not valid; emails keep their case."""
    match kind:
        case "mobile":
            return read_mobile(written)
        case "email":
            return written if read_email(written) is not None else None
        case "vpa":
            return read_vpa(written, vpa_suffixes)


# A merchant could find out who has a wallet by trying names. So unknown recipients are counted, and
# after too many the merchant waits, even if the next one exists. Requests sent at the same time all
# pass before the first is counted: the bucket owes them.
MISSES_OVER_SECONDS = 60.0
MISSES_OWING_SECONDS = 3600.0


def _misses_bucket(tenant: Tenant, settings: Settings) -> Bucket:
    rate = settings.recipient_misses_per_minute / 60
    name = named_bucket("recipient misses", tenant.id)
    return Bucket(name, rate, MISSES_OVER_SECONDS, MISSES_OWING_SECONDS)


def _wait_after_misses(context: Context) -> float:
    if context.tenant.mode == "sandbox":
        return 0.0
    bucket = _misses_bucket(context.tenant, context.backend.settings)
    return context.backend.rates.wait(bucket, time.monotonic())


def count_miss(context: Context, outcome: RequestRecord | Refusal) -> None:
    if isinstance(outcome, Refusal) and outcome.code == "customer_not_found":
        bucket = _misses_bucket(context.tenant, context.backend.settings)
        context.backend.rates.charge(bucket, time.monotonic())


CREATE = Write(
    path="/payment-requests",
    name="create_payment_request",
    summary="Request a payment from a customer",
    scope="payment_requests:create",
    status=201,
    command=create,
    show=REQUESTS.show,
    observe=count_miss,
    body=CREATE_REQUEST,
    shape=PaymentRequest,
    refusals=("reference_conflict", "sandbox_recipient_not_allowed", "customer_not_found"),
    description="It appears in the customer's wallet application; there is no public link. "
    "If you repeat a request with the same reference and fields, you get the first one. "
    "Sandbox mode allows only the designated sandbox recipient.",
)
LIST = list_operation(REQUESTS, Query(ListQuery, *LIST_FIELDS), PaymentRequest)
GET = get_operation(REQUESTS, PaymentRequest)
CANCEL = cancel_operation(
    REQUESTS, CancelRequest, PaymentRequest, "payment_request_not_cancellable"
)

OPERATIONS: tuple[Operation, ...] = (CREATE, LIST, GET, CANCEL)
