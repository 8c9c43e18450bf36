"""Authorizations: create, get, list, charge, preview a charge, list payments, cancel."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.input.fields import (
    NO_BODY,
    Field,
)
from laari.edge.merchant.authorization_fields import (
    CHARGE_BODY,
    CREATE_AUTHORIZATION,
    AuthorizationFields,
)
from laari.edge.merchant.lists import (
    AFTER,
    BILL_NUMBER,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    NO_QUERY,
    ListQuery,
    Query,
    page_body,
    read_window,
    status_filter,
)
from laari.edge.merchant.operations import Context, Operation, Read, Write
from laari.edge.merchant.payments import AMOUNT, payment_id
from laari.edge.merchant.payments import shown as payment_shown
from laari.edge.moments import moment_at
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.authorizations import (
    AuthorizationDraft,
    CancelAuthorization,
    CreateAuthorization,
    as_of,
)
from laari.rules.calendar import period_after, show_or_none
from laari.rules.charges import ChargeAuthorization, may_charge
from laari.rules.limits import counted, current_period, remaining
from laari.rules.money import MAX_PAYMENT_AMOUNT
from laari.rules.payments import PaymentDraft
from laari.rules.records import Authorization
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.shapes.authorizations import Authorization as AuthorizationShape
from laari.rules.shapes.authorizations import ChargePreview, RemainingLimits, authorization_shape
from laari.rules.shapes.envelopes import Data, to_json
from laari.rules.shapes.payments import AuthorizationPayment
from laari.rules.world import local_time
from laari.store.reads import authorizations

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


class PreviewQuery(Struct, frozen=True):
    amount: int


def create(context: Context, fields: AuthorizationFields) -> CreateAuthorization | Refusal:
    limits, period = fields.limits, fields.limits.period
    if period.amount is not None and period.interval is None:
        return invalid("limits.period.interval", "limits.period.amount needs an interval.")
    if fields.type == "one_time" and limits.max_payments not in (None, 1):
        return invalid("limits.max_payments", "A one_time authorization allows one payment.")
    draft = AuthorizationDraft(
        reference=fields.reference,
        title=fields.title,
        description=fields.description,
        type=fields.type,
        per_payment=limits.per_payment,
        period_interval=period.interval,
        period_amount=period.amount,
        total=limits.total,
        max_payments=limits.max_payments,
        return_url=fields.return_url,
        expires_at=fields.expires_at,
    )
    return CreateAuthorization(context.tenant, draft)


def charge(context: Context, draft: PaymentDraft) -> ChargeAuthorization:
    return ChargeAuthorization(context.tenant, context.id(ids.AUTHORIZATION), draft)


def cancel(context: Context, fields: None) -> CancelAuthorization:
    return CancelAuthorization(context.tenant, context.id(ids.AUTHORIZATION))


def _now(context: Context) -> datetime:
    return local_time(datetime.now(UTC), context.tenant)


async def _find(context: Context) -> Authorization | Refusal:
    """The authorization in the path, as stored, if it is the caller's."""
    authorization = await context.backend.authorizations.get(context.id(ids.AUTHORIZATION))
    if authorization is None or authorization.tenant_id != context.tenant.id:
        return refuse("authorization_not_found")
    return authorization


async def get(context: Context, query: None) -> Reply | Refusal:
    authorization = await _find(context)
    if isinstance(authorization, Refusal):
        return authorization
    return Reply(200, to_json(Data(shown(as_of(authorization, _now(context)), context.backend))))


async def list_authorizations(context: Context, query: ListQuery) -> Reply | Refusal:
    tenant, backend = context.tenant, context.backend
    window = read_window(query, backend.cursors, LISTING, tenant.id)
    if isinstance(window, Refusal):
        return window
    now = _now(context)
    found = await backend.page(authorizations.of_tenant(tenant.id, now, window, query.status))
    shapes = (shown(as_of(authorization, now), backend) for authorization in found.rows)
    return Reply(200, page_body(shapes, found, window, backend.cursors, LISTING, tenant.id))


async def list_payments(context: Context, query: ListQuery) -> Reply | Refusal:
    authorization = await _find(context)
    if isinstance(authorization, Refusal):
        return authorization
    tenant, backend = context.tenant, context.backend
    listing = f"payments of {authorization.id.hex}"
    window = read_window(query, backend.cursors, listing, tenant.id)
    if isinstance(window, Refusal):
        return window
    found = await backend.page(
        authorizations.payments_of(
            authorization.id,
            window,
            status=query.status,
            bill_number=query.bill_number,
        )
    )
    shapes = (payment_shown(payment, backend) for payment in found.rows)
    return Reply(200, page_body(shapes, found, window, backend.cursors, listing, tenant.id))


async def preview_charge(context: Context, query: PreviewQuery) -> Reply | Refusal:
    """What a new charge would come to now, but for the customer's wallet, which stays private."""
    stored = await _find(context)
    if isinstance(stored, Refusal):
        return stored
    now, amount, tenant = _now(context), query.amount, context.tenant
    authorization = as_of(stored, now)
    moment = await moment_at(context.backend, tenant.mode, tenant, now, counted(authorization))
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


def _read_amount(value: object, name: str) -> int | Refusal:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        digits = value.lstrip("0")
        if 1 <= len(digits) <= len(str(MAX_PAYMENT_AMOUNT)):
            return int(digits)
    return invalid(name, f"{name} must be an integer between 1 and {MAX_PAYMENT_AMOUNT}.")


PREVIEWED_AMOUNT = Field("amount", _read_amount, AMOUNT.schema, required=True)


def shown(authorization: Authorization, backend: Backend) -> AuthorizationShape:
    return authorization_shape(authorization, backend.origin)


CREATE = Write(
    path="/authorizations",
    name="create_authorization",
    summary="Create an authorization for the customer to approve",
    scope="authorizations:create",
    status=201,
    command=create,
    show=shown,
    body=CREATE_AUTHORIZATION,
    shape=AuthorizationShape,
    description="The customer has 24 hours to decide at `approval_url`. The same `reference` "
    "again returns the original, unchanged, whatever else is sent.",
)
LIST = Read(
    path="/authorizations",
    name="list_authorizations",
    summary="List authorizations, newest first",
    scope="authorizations:read",
    get=list_authorizations,
    query=Query(ListQuery, LIMIT, AFTER, status_filter(*STATUSES)),
    shape=AuthorizationShape,
    is_list=True,
    description="While `has_more` is true, send `next_cursor` as `after` with the other "
    "parameters unchanged.",
)
GET = Read(
    path="/authorizations/{id}",
    name="get_authorization",
    summary="Get an authorization",
    scope="authorizations:read",
    query=NO_QUERY,
    get=get,
    shape=AuthorizationShape,
    refusals=("authorization_not_found",),
)
CHARGE = Write(
    path="/authorizations/{id}/charge",
    name="charge_authorization",
    summary="Charge an active authorization",
    scope="authorizations:charge",
    status=201,
    command=charge,
    show=payment_shown,
    body=CHARGE_BODY,
    resource_id=payment_id,
    shape=AuthorizationPayment,
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
    "authorization again return the original payment, also after the authorization has ended. "
    "After `payment_in_progress` wait and send the same request again.",
)
PREVIEW_CHARGE = Read(
    path="/authorizations/{id}/charge-preview",
    name="preview_charge",
    summary="Say what a charge would answer now, and what remains of each limit",
    scope="authorizations:read",
    get=preview_charge,
    query=Query(PreviewQuery, PREVIEWED_AMOUNT),
    shape=ChargePreview,
    refusals=("authorization_not_found",),
    description="`would_succeed`, or the `code` of the refusal. The customer's wallet stays "
    "private: whether its balance and limits suffice shows only in a charge.",
)
LIST_PAYMENTS = Read(
    path="/authorizations/{id}/payments",
    name="list_authorization_payments",
    summary="List the payments of an authorization, newest first",
    scope="payments:read",
    get=list_payments,
    query=Query(
        ListQuery,
        LIMIT,
        AFTER,
        status_filter("paid", "refunded"),
        BILL_NUMBER,
        CREATED_FROM,
        CREATED_TO,
    ),
    shape=AuthorizationPayment,
    is_list=True,
    refusals=("authorization_not_found",),
    description="Also after the authorization has ended.",
)
CANCEL = Write(
    path="/authorizations/{id}/cancel",
    name="cancel_authorization",
    summary="Cancel a pending authorization, revoke an approved one",
    scope="authorizations:cancel",
    body=NO_BODY,
    command=cancel,
    show=shown,
    shape=AuthorizationShape,
    refusals=("authorization_not_found", "authorization_not_cancellable"),
    description="No new charge is accepted; payments made before stay as they are. "
    "Cancelling it again returns the same and sends no further event.",
)

OPERATIONS: tuple[Operation, ...] = (
    CREATE,
    LIST,
    GET,
    CHARGE,
    PREVIEW_CHARGE,
    LIST_PAYMENTS,
    CANCEL,
)
