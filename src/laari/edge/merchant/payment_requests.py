"""Payment requests: create, get, list and cancel."""

from __future__ import annotations

import time
from typing import Any

from laari.edge.backend import Backend
from laari.edge.fields import Body, choice, described, group, text, timestamp, web_address
from laari.edge.http import Reply
from laari.edge.merchant.asked import as_it_is, list_asked
from laari.edge.merchant.operations import Call, Operation
from laari.edge.merchant.payments import (
    AMOUNT,
    BILL,
    DESCRIPTION,
    LABEL,
    LIST_QUERY,
    REFERENCE,
    TITLE,
)
from laari.edge.rate import named_bucket
from laari.rules import ids
from laari.rules.contacts import MAX_EMAIL, read_email, read_mobile, read_vpa
from laari.rules.payment_requests import CancelRequest, CreateRequest, ExpireRequest, RequestDraft
from laari.rules.records import CustomerType, Tenant
from laari.rules.records import PaymentRequest as RequestRecord
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes import Data, PaymentRequest, request_shape, to_json
from laari.settings import Settings
from laari.store import payment_requests

LISTING = "payment_requests"

CUSTOMER = Body(
    choice("type", ("mobile", "email", "vpa"), required=True),
    described(
        text("value", MAX_EMAIL, required=True),
        "A mobile number, an email address, or a VPA with or without its suffix.",
    ),
)
CREATE_REQUEST = Body(
    REFERENCE,
    AMOUNT,
    group("customer", CUSTOMER, required=True),
    TITLE,
    DESCRIPTION,
    LABEL,
    BILL,
    described(
        web_address("return_url", 2048, count_bytes=False),
        "Where the customer goes from the wallet application.",
    ),
    described(timestamp("expires_at"), "In the future; 24 hours from now where it is left out."),
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


def create(call: Call, fields: dict[str, Any]) -> CreateRequest | Refusal:
    tenant, settings = call.caller.tenant, call.backend.settings
    customer = fields.pop("customer")
    kind, written = customer["type"], customer["value"]
    value = _stored(kind, written, settings.vpa_suffixes)
    if value is None and tenant.mode == "live":
        return invalid("customer.value", _WRONG[kind])
    draft = RequestDraft(customer_type=kind, customer_value=value or written, **fields)
    designated = value is not None and draft.recipient in (
        ("vpa", settings.sandbox_vpa),
        ("email", settings.sandbox_email),
    )
    return CreateRequest(tenant, draft, designated, _wait_after_misses(call))


_WRONG: dict[CustomerType, str] = {
    "mobile": "customer.value must be a mobile number of seven digits, with or without +960.",
    "email": "customer.value must be an email address.",
    "vpa": "customer.value must be a VPA, without a suffix or with one that is supported.",
}


def _stored(kind: CustomerType, written: str, vpa_suffixes: tuple[str, ...]) -> str | None:
    """The customer as stored and shown, or None where it is none: email addresses keep their case.

    What is compared is always the lower case.
    """
    match kind:
        case "mobile":
            return read_mobile(written)
        case "email":
            return written if read_email(written) is not None else None
        case "vpa":
            return read_vpa(written, vpa_suffixes)


# Whoever may ask for anyone could find out who has a wallet. So unknown recipients are counted, and
# a merchant that has named too many waits, whether the next one exists or not.
MISSES_OVER_SECONDS = 60.0


def _misses_bucket(tenant: Tenant, settings: Settings) -> dict[str, Any]:
    return {
        "key": named_bucket("recipient misses", tenant.id),
        "rate": settings.recipient_misses_per_minute / 60,
        "now": time.monotonic(),
        "over": MISSES_OVER_SECONDS,
    }


def _wait_after_misses(call: Call) -> float:
    if call.caller.tenant.mode == "sandbox":
        return 0.0
    bucket = _misses_bucket(call.caller.tenant, call.backend.settings)
    return call.backend.rates.wait(**bucket)


def count_miss(call: Call, outcome: Any) -> None:
    if isinstance(outcome, Refusal) and outcome.code == "customer_not_found":
        call.backend.rates.take(**_misses_bucket(call.caller.tenant, call.backend.settings))


def cancel(call: Call, fields: dict[str, Any]) -> CancelRequest:
    return CancelRequest(call.caller.tenant, call.id(ids.PAYMENT_REQUEST))


async def get(call: Call, query: dict[str, Any]) -> Reply | Refusal:
    tenant = call.caller.tenant
    request = await call.backend.payment_requests.get(call.id(ids.PAYMENT_REQUEST))
    if request is None or request.tenant_id != tenant.id:
        return refuse("payment_request_not_found")
    request = await as_it_is(call, request, ExpireRequest)
    return Reply(200, to_json(Data(request_shape(request))))


async def list_requests(call: Call, filters: dict[str, Any]) -> Reply | Refusal:
    return await list_asked(
        call, filters, LISTING, payment_requests.of_tenant, ExpireRequest, shown
    )


def shown(request: RequestRecord, backend: Backend) -> PaymentRequest:
    return request_shape(request)


OPERATIONS = (
    Operation(
        "POST",
        "/payment-requests",
        "create_payment_request",
        "Ask a customer for a payment",
        "payment_requests:create",
        status=201,
        command=create,
        shape=shown,
        watch=count_miss,
        body=CREATE_REQUEST,
        answers=PaymentRequest,
        refusals=("reference_conflict", "sandbox_recipient_not_allowed", "customer_not_found"),
        description="It appears in the customer's wallet application; there is no public link. "
        "Asking again with the same reference answers the first request if every field is the "
        "same. In sandbox mode the designated sandbox recipient is the only one.",
    ),
    Operation(
        "GET",
        "/payment-requests",
        "list_payment_requests",
        "List payment requests, newest first",
        "payment_requests:read",
        answer=list_requests,
        query=LIST_QUERY,
        answers=PaymentRequest,
        is_list=True,
    ),
    Operation(
        "GET",
        "/payment-requests/{id}",
        "get_payment_request",
        "Get a payment request",
        "payment_requests:read",
        answer=get,
        answers=PaymentRequest,
        refusals=("payment_request_not_found",),
    ),
    Operation(
        "POST",
        "/payment-requests/{id}/cancel",
        "cancel_payment_request",
        "Cancel a pending payment request",
        "payment_requests:cancel",
        command=cancel,
        shape=shown,
        answers=PaymentRequest,
        refusals=("payment_request_not_found", "payment_request_not_cancellable"),
    ),
)
