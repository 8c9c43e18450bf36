"""Authorizations: create, get, list, charge, preview a charge, list payments, cancel."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from laari.edge.backend import Backend
from laari.edge.fields import (
    Body,
    Field,
    choice,
    described,
    group,
    integer,
    text,
    timestamp,
    web_address,
)
from laari.edge.http import Reply
from laari.edge.merchant.lists import (
    AFTER,
    BILL_NUMBER,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    Query,
    page_reply,
    read_window,
    status_filter,
)
from laari.edge.merchant.operations import Call, Operation
from laari.edge.merchant.payments import AMOUNT, BILL, DESCRIPTION, REFERENCE, TITLE
from laari.edge.merchant.payments import shown as payment_shown
from laari.edge.moments import moment_at
from laari.rules import ids
from laari.rules.authorization_shapes import Authorization as AuthorizationShape
from laari.rules.authorization_shapes import (
    ChargePreview,
    RemainingLimits,
    authorization_shape,
)
from laari.rules.authorizations import (
    AuthorizationDraft,
    CancelAuthorization,
    CreateAuthorization,
    as_of,
)
from laari.rules.calendar import period_after, show_or_none
from laari.rules.charges import ChargeAuthorization, may_charge
from laari.rules.limits import counted, current_period, remaining
from laari.rules.money import MAX_MONEY, MAX_PAYMENT_AMOUNT
from laari.rules.payments import PaymentDraft
from laari.rules.records import Authorization
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes import AuthorizationPayment, Data, to_json
from laari.rules.world import local_time
from laari.store import authorizations

LISTING = "authorizations"
STATUSES = (
    "pending",
    "active",
    "rejected",
    "revoked",
    "expired",
    "cancelled",
    "suspended",
    "consumed",
)
TYPES = ("recurring", "unscheduled", "one_time")
INTERVALS = ("day", "week", "month", "year")
MAX_PAYMENTS = 4_294_967_295

PERIOD = Body(
    choice("interval", INTERVALS),
    described(integer("amount", 1, MAX_MONEY), "In laari; needs an interval."),
    rule={
        "if": {"required": ["amount"], "properties": {"amount": {"not": {"type": "null"}}}},
        "then": {"required": ["interval"], "properties": {"interval": {"type": "string"}}},
    },
)
LIMITS = Body(
    described(integer("per_payment", 1, MAX_MONEY), "In laari."),
    described(
        group("period", PERIOD),
        "Calendar periods of Maldives time; a week begins on Sunday.",
    ),
    described(integer("total", 1, MAX_MONEY), "In laari, over the whole life."),
    described(
        integer("max_payments", 1, MAX_PAYMENTS), "Left out or 1 where the type is `one_time`."
    ),
)
CREATE_AUTHORIZATION = Body(
    described(
        text("reference", 128, required=True),
        "Your own name for the authorization; no other authorization may have it.",
    ),
    described(text("title", 255, required=True), "What the customer agrees to."),
    DESCRIPTION,
    described(choice("type", TYPES), "`unscheduled` where it is left out."),
    described(group("limits", LIMITS), "All that are given apply at once."),
    described(timestamp("expires_at"), "When charges end; never where it is left out."),
    described(web_address("return_url", 2048), "Where the customer goes after deciding."),
    name="AuthorizationCreate",
    examples={
        "an authorization": {
            "reference": "BOX-77",
            "title": "Monthly box",
            "type": "recurring",
            "limits": {"per_payment": 50000, "period": {"interval": "month", "amount": 50000}},
        }
    },
    rule={
        "if": {"required": ["type"], "properties": {"type": {"const": "one_time"}}},
        "then": {
            "properties": {"limits": {"properties": {"max_payments": {"enum": [1, None]}}}},
        },
    },
)
CHARGE = Body(
    REFERENCE,
    AMOUNT,
    TITLE,
    DESCRIPTION,
    BILL,
    name="ChargeCreate",
    examples={
        "a charge": {"reference": "BOX-77/2027-07", "amount": 45000, "title": "July's box"},
    },
)


def create(call: Call, fields: dict[str, Any]) -> CreateAuthorization | Refusal:
    limits = fields.pop("limits", {})
    period = limits.pop("period", {})
    if "amount" in period and "interval" not in period:
        return invalid("limits.period.interval", "limits.period.amount needs an interval.")
    if fields.get("type") == "one_time" and limits.get("max_payments", 1) != 1:
        return invalid("limits.max_payments", "A one_time authorization allows one payment.")
    draft = AuthorizationDraft(
        **fields,
        **limits,
        period_interval=period.get("interval"),
        period_amount=period.get("amount"),
    )
    return CreateAuthorization(call.caller.tenant, draft)


def charge(call: Call, fields: dict[str, Any]) -> ChargeAuthorization:
    return ChargeAuthorization(
        call.caller.tenant, call.id(ids.AUTHORIZATION), PaymentDraft(**fields)
    )


def cancel(call: Call, fields: dict[str, Any]) -> CancelAuthorization:
    return CancelAuthorization(call.caller.tenant, call.id(ids.AUTHORIZATION))


def _now(call: Call) -> datetime:
    return local_time(datetime.now(UTC), call.caller.tenant)


async def _find(call: Call) -> Authorization | Refusal:
    """The authorization in the path, as stored, if it is the caller's."""
    authorization = await call.backend.authorizations.get(call.id(ids.AUTHORIZATION))
    if authorization is None or authorization.tenant_id != call.caller.tenant.id:
        return refuse("authorization_not_found")
    return authorization


async def get(call: Call, query: dict[str, Any]) -> Reply | Refusal:
    authorization = await _find(call)
    if isinstance(authorization, Refusal):
        return authorization
    return Reply(200, to_json(Data(shown(as_of(authorization, _now(call)), call.backend))))


async def list_authorizations(call: Call, filters: dict[str, Any]) -> Reply | Refusal:
    tenant, backend = call.caller.tenant, call.backend
    window = read_window(filters, backend.cursors, LISTING, tenant.id)
    if isinstance(window, Refusal):
        return window
    now = _now(call)
    found = await backend.page(
        authorizations.of_tenant(tenant.id, now, window, filters.get("status"))
    )
    shapes = (shown(as_of(authorization, now), backend) for authorization in found.rows)
    return page_reply(shapes, found, window, backend.cursors, LISTING, tenant.id)


async def list_payments(call: Call, filters: dict[str, Any]) -> Reply | Refusal:
    authorization = await _find(call)
    if isinstance(authorization, Refusal):
        return authorization
    tenant, backend = call.caller.tenant, call.backend
    listing = f"payments of {authorization.id.hex}"
    window = read_window(filters, backend.cursors, listing, tenant.id)
    if isinstance(window, Refusal):
        return window
    found = await backend.page(
        authorizations.payments_of(
            authorization.id,
            window,
            status=filters.get("status"),
            bill_number=filters.get("bill_number"),
        )
    )
    shapes = (payment_shown(payment, backend) for payment in found.rows)
    return page_reply(shapes, found, window, backend.cursors, listing, tenant.id)


async def preview_charge(call: Call, query: dict[str, Any]) -> Reply | Refusal:
    """What a new charge would answer now, but for the customer's wallet, which stays private."""
    if "amount" not in query:
        return invalid("amount", "amount is required.")
    stored = await _find(call)
    if isinstance(stored, Refusal):
        return stored
    now, amount, tenant = _now(call), query["amount"], call.caller.tenant
    authorization = as_of(stored, now)
    moment = await moment_at(call.backend, tenant.mode, tenant, now, counted(authorization))
    period = current_period(authorization, moment)
    left = remaining(authorization, period)
    refusal = may_charge(authorization, amount, left)
    interval = authorization.period_interval
    resets_at = period_after(period.start, interval) if period and interval else None
    preview = ChargePreview(
        amount=amount,
        would_succeed=refusal is None,
        code=None if refusal is None else refusal.code,
        message=None if refusal is None else refusal.message,
        remaining=RemainingLimits(left.per_payment, left.period, left.total, left.payments),
        period_resets_at=show_or_none(resets_at),
    )
    return Reply(200, to_json(Data(preview)))


def _read_amount(value: str, name: str) -> int | Refusal:
    digits = value.lstrip("0")
    if value.isascii() and value.isdigit() and 1 <= len(digits) <= len(str(MAX_PAYMENT_AMOUNT)):
        return int(digits)
    return invalid(name, f"{name} must be an integer between 1 and {MAX_PAYMENT_AMOUNT}.")


PREVIEWED_AMOUNT = Field("amount", _read_amount, AMOUNT.schema, required=True)


def shown(authorization: Authorization, backend: Backend) -> AuthorizationShape:
    return authorization_shape(authorization, backend.origin)


OPERATIONS = (
    Operation(
        "POST",
        "/authorizations",
        "create_authorization",
        "Create an authorization for the customer to approve",
        "authorizations:create",
        status=201,
        command=create,
        shape=shown,
        body=CREATE_AUTHORIZATION,
        answers=AuthorizationShape,
        description="The customer has 24 hours to decide at `approval_url`. The same `reference` "
        "again answers the original, unchanged, whatever else is sent.",
    ),
    Operation(
        "GET",
        "/authorizations",
        "list_authorizations",
        "List authorizations, newest first",
        "authorizations:read",
        answer=list_authorizations,
        query=Query(LIMIT, AFTER, status_filter(*STATUSES)),
        answers=AuthorizationShape,
        is_list=True,
        description="While `has_more` is true, send `next_cursor` as `after` with the other "
        "parameters unchanged.",
    ),
    Operation(
        "GET",
        "/authorizations/{id}",
        "get_authorization",
        "Get an authorization",
        "authorizations:read",
        answer=get,
        answers=AuthorizationShape,
        refusals=("authorization_not_found",),
    ),
    Operation(
        "POST",
        "/authorizations/{id}/charge",
        "charge_authorization",
        "Charge an active authorization",
        "authorizations:charge",
        status=201,
        command=charge,
        shape=payment_shown,
        body=CHARGE,
        keyed=True,
        answers=AuthorizationPayment,
        refusals=(
            "authorization_not_found",
            "reference_conflict",
            "authorization_unapproved",
            "authorization_expired",
            "authorization_inactive",
            "currency_mismatch",
            "per_payment_limit_exceeded",
            "period_limit_exceeded",
            "total_limit_exceeded",
            "payment_count_limit_exceeded",
            "payment_in_progress",
            "insufficient_balance",
            "wallet_limit_exceeded",
        ),
        description="Takes a payment at once. The same `reference` and `amount` on the same "
        "authorization again answer the original payment, also after the authorization has ended. "
        "After `payment_in_progress` wait and send the same request again.",
    ),
    Operation(
        "GET",
        "/authorizations/{id}/charge-preview",
        "preview_charge",
        "Say what a charge would answer now, and what remains of each limit",
        "authorizations:read",
        answer=preview_charge,
        query=Query(PREVIEWED_AMOUNT),
        answers=ChargePreview,
        refusals=("authorization_not_found",),
        description="`would_succeed`, or the `code` of the refusal. The customer's wallet stays "
        "private: whether its balance and limits suffice shows only in a charge.",
    ),
    Operation(
        "GET",
        "/authorizations/{id}/payments",
        "list_authorization_payments",
        "List the payments of an authorization, newest first",
        "payments:read",
        answer=list_payments,
        query=Query(
            LIMIT,
            AFTER,
            status_filter("paid", "refunded"),
            BILL_NUMBER,
            CREATED_FROM,
            CREATED_TO,
        ),
        answers=AuthorizationPayment,
        is_list=True,
        refusals=("authorization_not_found",),
        description="Also after the authorization has ended.",
    ),
    Operation(
        "POST",
        "/authorizations/{id}/cancel",
        "cancel_authorization",
        "Cancel a pending authorization, revoke an approved one",
        "authorizations:cancel",
        command=cancel,
        shape=shown,
        answers=AuthorizationShape,
        refusals=("authorization_not_found", "authorization_not_cancellable"),
        description="No new charge is accepted; payments made before stay as they are. "
        "Cancelling it again answers the same and sends no further event.",
    ),
)
