"""Authorizations: create, get, list, charge, preview a charge, list payments, cancel."""

from msgspec import Struct

from laari.edge.input.fields import (
    Body,
    Field,
    Query,
    amount,
    choice,
    described,
    group,
    integer,
    text,
    timestamp,
    web_address,
)
from laari.edge.merchant.lists import (
    AFTER,
    BILL_NUMBER,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    ListQuery,
    status_filter,
)
from laari.edge.merchant.operations import Context, Operation, Read, Write
from laari.edge.merchant.payments import (
    AMOUNT,
    BILL,
    DESCRIPTION,
    REFERENCE,
    TITLE,
    payment_id,
)
from laari.edge.merchant.shared_operations import (
    cancel_operation,
    find_one,
    get_operation,
    list_operation,
    now_of,
    show_page,
)
from laari.edge.resources import AUTHORIZATIONS, PAYMENTS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.calendar import period_after, show_or_none
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT, PAYMENT_LIFE_HOURS
from laari.rules.money import MAX_MONEY
from laari.rules.payments.authorization_limits import counted, current_period, remaining
from laari.rules.payments.authorizations import (
    AuthorizationDraft,
    CancelAuthorization,
    CreateAuthorization,
)
from laari.rules.payments.charges import ChargeAuthorization, may_charge
from laari.rules.payments.payments import PaymentDraft
from laari.rules.records.payments import Payment
from laari.rules.refusals import Refusal, invalid
from laari.rules.shapes.authorizations import Authorization as AuthorizationShape
from laari.rules.shapes.authorizations import ChargePreview
from laari.rules.shapes.envelopes import Data, to_json
from laari.rules.shapes.payments import AuthorizationPayment
from laari.store.reads import authorizations
from laari.store.reads.listing import Listing, Window

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

PERIOD = group(
    "period",
    choice("interval", INTERVALS),
    described(amount("amount", 1, MAX_MONEY), "In laari; needs an interval."),
    prefix="period_",
    rule={
        "if": {"required": ["amount"], "properties": {"amount": {"not": {"type": "null"}}}},
        "then": {"required": ["interval"], "properties": {"interval": {"type": "string"}}},
    },
)
LIMITS = group(
    "limits",
    described(amount("per_payment", 1, MAX_MONEY), "In laari."),
    described(PERIOD, "Calendar periods of Maldives time; a week begins on Sunday."),
    described(amount("total", 1, MAX_MONEY), "In laari, over the whole lifetime."),
    described(integer("max_payments", 1, MAX_PAYMENTS), "If the type is `one_time`: 1 or omitted."),
)
CREATE_AUTHORIZATION = Body(
    AuthorizationDraft,
    described(
        text("reference", 128, required=True),
        "Your unique name for the authorization.",
    ),
    described(text("title", 255, required=True), "The purpose that the customer agrees to."),
    DESCRIPTION,
    described(choice("type", TYPES), "Default: `unscheduled`."),
    described(LIMITS, "All given limits apply together."),
    described(timestamp("expires_at"), "The end of all charges; default: never."),
    described(
        web_address("return_url", 2048), "The customer's browser goes here after the decision."
    ),
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
CHARGE_BODY = Body(
    PaymentDraft,
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


class PreviewQuery(Struct, frozen=True):
    amount: int


def create(context: Context, draft: AuthorizationDraft) -> CreateAuthorization | Refusal:
    if draft.period_amount is not None and draft.period_interval is None:
        return invalid("limits.period.interval", "limits.period.amount needs an interval.")
    if draft.type == "one_time" and draft.max_payments not in (None, 1):
        return invalid("limits.max_payments", "A one_time authorization allows one payment.")
    return CreateAuthorization(context.tenant, draft)


def charge(context: Context, draft: PaymentDraft) -> ChargeAuthorization:
    return ChargeAuthorization(context.tenant, context.id(ids.AUTHORIZATION), draft)


async def list_payments(context: Context, query: ListQuery) -> Reply | Refusal:
    authorization = await find_one(context, AUTHORIZATIONS)
    if isinstance(authorization, Refusal):
        return authorization
    owner = authorization.id

    def listed(window: Window) -> Listing[Payment]:
        return authorizations.payments_of(owner, window, **query.filters)

    listing = f"payments of {owner.hex}"
    return await show_page(context, query, PAYMENTS, listing, listed, now=now_of(context))


async def preview_charge(context: Context, query: PreviewQuery) -> Reply | Refusal:
    """The outcome of a new charge now, without the customer's wallet, which stays private."""
    authorization = await find_one(context, AUTHORIZATIONS)
    if isinstance(authorization, Refusal):
        return authorization
    now, tenant = now_of(context), context.tenant
    moment = await context.backend.moment(tenant.mode, tenant, now, counted(authorization))
    period = current_period(authorization, moment)
    left = remaining(authorization, period)
    refusal = may_charge(authorization, query.amount, left)
    interval = authorization.period_interval
    resets_at = period_after(period.start, interval) if period and interval else None
    preview = ChargePreview(
        amount=query.amount,
        would_succeed=refusal is None,
        code=None if refusal is None else refusal.code,
        message=None if refusal is None else refusal.message,
        remaining=left,
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


CREATE = Write(
    path="/authorizations",
    name="create_authorization",
    summary="Create an authorization for the customer to approve",
    scope="authorizations:create",
    status=201,
    command=create,
    show=AUTHORIZATIONS.show,
    body=CREATE_AUTHORIZATION,
    shape=AuthorizationShape,
    description=f"The customer has {PAYMENT_LIFE_HOURS} hours to decide at `approval_url`. If you "
    "repeat a `reference`, you get the original, unchanged, even if other fields differ.",
)
LIST = list_operation(
    AUTHORIZATIONS,
    Query(ListQuery, LIMIT, AFTER, status_filter(*STATUSES)),
    AuthorizationShape,
    "While `has_more` is true, send `next_cursor` as `after` with the other parameters unchanged.",
)
GET = get_operation(AUTHORIZATIONS, AuthorizationShape)
CHARGE = Write(
    path="/authorizations/{id}/charge",
    name="charge_authorization",
    summary="Charge an active authorization",
    scope="authorizations:charge",
    status=201,
    command=charge,
    show=PAYMENTS.show,
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
    description="Takes a payment at once. If you repeat `reference` and `amount` on the same "
    "authorization, you get the original payment, even after the authorization has ended. "
    "After `payment_in_progress`, wait and send the same request again.",
)
PREVIEW_CHARGE = Read(
    path="/authorizations/{id}/charge-preview",
    name="preview_charge",
    summary="Preview a charge, and show the rest of each limit",
    scope="authorizations:read",
    get=preview_charge,
    query=Query(PreviewQuery, PREVIEWED_AMOUNT),
    shape=ChargePreview,
    refusals=("authorization_not_found",),
    description="Returns `would_succeed`, and the `code` of a refusal. The customer's wallet is "
    "private: only a real charge checks its balance and limits.",
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
    description="Works even after the authorization has ended.",
)
CANCEL = cancel_operation(
    AUTHORIZATIONS,
    CancelAuthorization,
    AuthorizationShape,
    "authorization_not_cancellable",
    summary="Cancel a pending authorization, revoke an approved one",
    description="No new charge is accepted; earlier payments do not change. "
    "A second cancel returns the same authorization and sends no event.",
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
