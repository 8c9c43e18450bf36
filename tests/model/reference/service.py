"""The service as a whole: every call, its scope, and what it does."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tests.model.reference import (
    authorizations,
    lists,
    payments,
    payouts,
    refunds,
    requests,
    wallets,
)
from tests.model.reference.access import ALL_SCOPES, issue_token, tenant_of
from tests.model.reference.answers import Refused
from tests.model.reference.fields import invalid
from tests.model.reference.idempotency import once
from tests.model.reference.state import Answer, State, Tenant
from tests.model.reference.steps import Call, Step
from tests.model.reference.times import Stamp


class Operation(NamedTuple):
    method: str
    path: str  # `{}` is the subject's id
    scope: str  # "" is any one of them
    perform: Callable[[Step], Answer]
    sandbox_only: bool = False
    keyed: bool = False


def _for_sandbox_customer(decide: Callable[[Step, str], Answer]) -> Callable[[Step], Answer]:
    return lambda step: decide(step, f"sandbox of {step.tenant.merchant}")


def _controls() -> dict[str, Operation]:
    """The sandbox's stand-ins for the customer."""
    controls = {}
    for noun, path, module in (
        ("payment", "payments", payments),
        ("request", "payment-requests", requests),
        ("authorization", "authorizations", authorizations),
    ):
        scope = f"{path.replace('-', '_')}:create"
        decisions = {name: _for_sandbox_customer(it) for name, it in module.DECISIONS.items()}
        if noun == "authorization":
            decisions |= authorizations.PAUSES
        for name, perform in decisions.items():
            controls[f"sandbox_{name}_{noun}"] = Operation(
                "POST", f"/sandbox/{path}/{{}}/{name}", scope, perform, sandbox_only=True
            )
    return controls


def move_clock(step: Step) -> Answer:
    advance = step.fields.get("advance_seconds")
    merchant = step.state.merchants[step.tenant.merchant]
    if (advance is None) == (step.fields.get("reset") is not True):
        raise Refused("invalid_request")
    offset = 0 if advance is None else merchant.sandbox_offset + advance
    if abs(offset) > 100 * 366 * 86_400:
        raise invalid("advance_seconds")
    step.state.merchants[step.tenant.merchant] = replace(merchant, sandbox_offset=offset)
    moved = offset - merchant.sandbox_offset
    now = Stamp(("clock", step.call.number), step.now.earliest + moved, step.now.latest + moved)
    return Answer(200, {"data": {"now": now, "offset_seconds": offset}})


OPERATIONS: dict[str, Operation] = {
    "create_payment": Operation(
        "POST", "/payments", "payments:create", payments.create, keyed=True
    ),
    "list_payments": Operation("GET", "/payments", "payments:read", lists.list_payments),
    "get_payment": Operation("GET", "/payments/{}", "payments:read", payments.get),
    "cancel_payment": Operation("POST", "/payments/{}/cancel", "payments:cancel", payments.cancel),
    "refund_payment": Operation(
        "POST", "/payments/{}/refunds", "payments:refund", refunds.create, keyed=True
    ),
    "list_payment_refunds": Operation(
        "GET", "/payments/{}/refunds", "payments:read", refunds.list_of_payment
    ),
    "get_refund": Operation("GET", "/refunds/{}", "payments:read", refunds.get),
    "get_balance": Operation("GET", "/balance", "balance:read", refunds.show_balance),
    "pay_out": Operation("POST", "/sandbox/payouts", "", payouts.create, sandbox_only=True),
    "settle_payout": Operation(
        "POST", "/sandbox/payouts/{}/settle", "", payouts.settle, sandbox_only=True
    ),
    "return_payout": Operation(
        "POST", "/sandbox/payouts/{}/return", "", payouts.give_back, sandbox_only=True
    ),
    "get_payout": Operation("GET", "/payouts/{}", "payouts:read", payouts.get),
    "list_payouts": Operation("GET", "/payouts", "payouts:read", payouts.list_all),
    "create_request": Operation(
        "POST", "/payment-requests", "payment_requests:create", requests.create
    ),
    "list_requests": Operation(
        "GET", "/payment-requests", "payment_requests:read", lists.list_requests
    ),
    "get_request": Operation("GET", "/payment-requests/{}", "payment_requests:read", requests.get),
    "cancel_request": Operation(
        "POST", "/payment-requests/{}/cancel", "payment_requests:cancel", requests.cancel
    ),
    "create_authorization": Operation(
        "POST", "/authorizations", "authorizations:create", authorizations.create
    ),
    "list_authorizations": Operation(
        "GET", "/authorizations", "authorizations:read", lists.list_authorizations
    ),
    "get_authorization": Operation(
        "GET", "/authorizations/{}", "authorizations:read", authorizations.get
    ),
    "charge": Operation(
        "POST",
        "/authorizations/{}/charge",
        "authorizations:charge",
        authorizations.charge,
        keyed=True,
    ),
    "preview_charge": Operation(
        "GET", "/authorizations/{}/charge-preview", "authorizations:read", authorizations.preview
    ),
    "list_charges": Operation(
        "GET", "/authorizations/{}/payments", "payments:read", lists.list_charges
    ),
    "cancel_authorization": Operation(
        "POST", "/authorizations/{}/cancel", "authorizations:cancel", authorizations.cancel
    ),
    "set_wallet": Operation(
        "POST", "/sandbox/wallet", "", wallets.set_sandbox_wallet, sandbox_only=True
    ),
    "move_clock": Operation("POST", "/sandbox/clock", "", move_clock, sandbox_only=True),
    **_controls(),
}

WALLET_PATHS = {
    "wallet_balance": "/balance",
    "wallet_usage": "/usage",
    "wallet_transactions": "/transactions",
}

# A customer's decisions on pages, and the merchant's refund: noun of the subject, what is done.
PAGES: dict[str, tuple[str, Callable[..., Answer]]] = {
    "page_pay": ("payment", payments.pay),
    "page_decline": ("payment", payments.reject),
    "page_approve": ("authorization", authorizations.approve),
    "page_reject": ("authorization", authorizations.reject),
    "app_pay": ("request", requests.pay),
    "app_reject": ("request", requests.reject),
    "app_pause": ("authorization", authorizations.suspend),
    "app_resume": ("authorization", authorizations.resume),
    "app_revoke": ("authorization", authorizations.revoke),
}


def apply(state: State, call: Call, start: float, end: float) -> Answer:
    """What the service answers to the call, sent and answered between these times."""
    if call.operation in OPERATIONS:
        return _merchant_call(state, call, start, end)
    if call.operation in PAGES:
        return _page(state, call, start, end)
    if call.operation in WALLET_PATHS:
        tenant = Tenant(
            call.customer.removeprefix("sandbox of "), state.wallets[call.customer].mode
        )
        return wallets.read(state, call, _now(state, call, tenant, start, end))
    if call.operation == "issue_token":
        return issue_token(state, call, start)
    if call.operation == "get_qr":
        owner = state.payments.get(call.subject or ("", 0))
        tenant = owner.tenant if owner else Tenant(call.merchant, "live")
        return _perform(_step(state, call, tenant, start, end), payments.qr)
    return _by_operator(state, call, start, end)


def _now(state: State, call: Call, tenant: Tenant, start: float, end: float) -> Stamp:
    offset = state.offset(tenant)
    return Stamp(("time", call.number), start + offset, end + offset)


def _step(state: State, call: Call, tenant: Tenant, start: float, end: float) -> Step:
    return Step(state, call, tenant, _now(state, call, tenant, start, end))


def _perform(step: Step, perform: Callable[[Step], Answer]) -> Answer:
    try:
        return perform(step)
    except Refused as refused:
        return refused.answer


def _merchant_call(state: State, call: Call, start: float, end: float) -> Answer:
    """Credentials, scope, mode, idempotency key, fields, and then what is stored."""
    operation = OPERATIONS[call.operation]
    try:
        tenant, scopes = tenant_of(state, call, start)
        wanted = {operation.scope} if operation.scope else set(ALL_SCOPES)
        if not wanted & scopes:
            raise Refused("insufficient_scope")
        if operation.sandbox_only and tenant.mode != "sandbox":
            raise Refused("not_found")
    except Refused as refused:
        return refused.answer
    step = _step(state, call, tenant, start, end)
    if operation.keyed:
        return _perform(step, lambda it: once(it, partial(_perform, perform=operation.perform)))
    return _perform(step, operation.perform)


def _page(state: State, call: Call, start: float, end: float) -> Answer:
    """A page shows how things stand after a decision, or answers as it was refused."""
    noun, decide = PAGES[call.operation]
    of_noun = {
        "payment": state.payments,
        "request": state.requests,
        "authorization": state.authorizations,
    }[noun]
    assert call.subject is not None
    resource = of_noun[call.subject]  # type: ignore[index]
    if resource.tenant.mode != "live":
        # The customers here are live ones: to them the other mode's pages are closed.
        return Answer(frozenset((303, 404)))
    step = _step(state, call, resource.tenant, start, end)
    answer = _perform(step, lambda it: decide(it, call.customer))
    return Answer(303 if answer.status == 200 else frozenset((303, answer.status)))


def _by_operator(state: State, call: Call, start: float, end: float) -> Answer:
    merchant = state.merchants[call.merchant]
    match call.operation:
        case "refund":
            mode = str(call.query["mode"])
            if not merchant.active:
                return Answer(403)
            step = _step(state, call, Tenant(call.merchant, mode), start, end)
            answer = _perform(step, refunds.on_a_page)
            return Answer(303 if answer.status == 200 else answer.status)
        case "update_merchant":
            state.merchants[call.merchant] = replace(merchant, **call.query)
            return Answer(0)
    raise ValueError(call.operation)
