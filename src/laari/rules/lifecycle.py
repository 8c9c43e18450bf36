"""The states of payments, payment requests, authorizations and payouts, and their transitions."""

from collections.abc import Container, Mapping
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

from laari.rules.records.authorizations import Authorization, AuthorizationStatus
from laari.rules.records.payments import Payment, PaymentRequest, PaymentStatus
from laari.rules.records.payouts import PayoutRun, PayoutStatus

# A customer can pay either of them.
Payable = TypeVar("Payable", Payment, PaymentRequest)

# The stored status; a pending one is `processing` while an attempt to pay is processed, and
# `overdue` after its deadline.
State: TypeAlias = PaymentStatus | Literal["processing", "overdue"]
Action: TypeAlias = Literal["pay", "reject", "reserve", "release", "cancel", "expire", "refund"]
RunState: TypeAlias = Literal["requested", "approved", "sent", "answered", "cancelled"]
Transitions: TypeAlias = Mapping[State, Mapping[Action, PaymentStatus]]

# The allowed actions in each state, and the status after each; all others are refused.
PAYMENT_TRANSITIONS: Transitions = {
    "pending": {"pay": "paid", "reject": "rejected", "reserve": "pending", "cancel": "cancelled"},
    "processing": {"pay": "paid", "release": "pending"},
    "overdue": {"expire": "expired", "cancel": "cancelled"},  # until it is read, it is pending
    "paid": {"refund": "refunded"},
    "rejected": {},
    "expired": {},
    "cancelled": {},
    "refunded": {},
}
REQUEST_TRANSITIONS: Transitions = {**PAYMENT_TRANSITIONS, "overdue": {"expire": "expired"}}

AuthorizationAction: TypeAlias = Literal[
    "approve", "reject", "cancel", "suspend", "resume", "charge", "consume"
]
# The same for authorizations. Nothing leads to `expired`: it follows from the deadlines.
AUTHORIZATION_TRANSITIONS: Mapping[
    AuthorizationStatus, Mapping[AuthorizationAction, AuthorizationStatus]
] = {
    "pending": {"approve": "active", "reject": "rejected", "cancel": "cancelled"},
    "active": {
        "cancel": "revoked",
        "suspend": "suspended",
        "charge": "active",
        "consume": "consumed",  # the charge of a one-time authorization
    },
    "suspended": {"cancel": "revoked", "resume": "active"},
    "rejected": {},
    "revoked": {},
    "expired": {},
    "cancelled": {},
    "consumed": {},
}

PayoutAction: TypeAlias = Literal["approve", "send", "settle", "return", "cancel"]
# The same for payouts. A bank may return money days after it has confirmed it.
PAYOUT_TRANSITIONS: Mapping[PayoutStatus, Mapping[PayoutAction, PayoutStatus]] = {
    "requested": {"approve": "approved", "cancel": "cancelled"},
    "approved": {"send": "sent", "cancel": "cancelled"},
    "sent": {"settle": "settled", "return": "returned"},
    "settled": {"return": "returned"},
    "returned": {},
    "cancelled": {},
}

_WITH_DEADLINE = frozenset({"pending", "active", "suspended"})


class TransitionError(Exception):
    """A command made a transition that the lifecycle does not allow: a defect."""


def state_of(payable: Payment | PaymentRequest, now: datetime) -> State:
    """The state at this moment, on the tenant's clock."""
    if payable.status != "pending":
        return payable.status
    if payable.reserved_at is not None:
        return "processing"
    if payable.expires_at is not None and payable.expires_at <= now:
        return "overdue"
    return "pending"


def authorization_state(authorization: Authorization, now: datetime) -> AuthorizationStatus:
    """The status at this moment: expired if a deadline has passed."""
    deadline = None
    if authorization.status == "pending":
        deadline = authorization.approval_expires_at
    elif authorization.status in ("active", "suspended"):
        deadline = authorization.expires_at
    if deadline is None or deadline > now:
        return authorization.status
    return "expired"


def shown_state(
    row: Payment | PaymentRequest | Authorization, now: datetime, *, active: bool = True
) -> str:
    """The state as people see it: an overdue one has expired.

    A pending one is `closed` if the merchant is not `active`: it cannot be paid or approved now.
    """
    if isinstance(row, Authorization):
        state: str = authorization_state(row, now)
    else:
        state = state_of(row, now)
    if state in ("overdue", "expired"):
        return "expired"
    if row.status == "pending" and not active:
        return "closed"
    return state


def run_state(run: PayoutRun, statuses: Container[PayoutStatus]) -> RunState:
    """The state of a run as people see it, by the statuses of its payouts.

    A payout is `sent` until the bank has answered all of its orders.
    """
    return "answered" if run.status == "sent" and "sent" not in statuses else run.status


def is_overdue(row: Payment | PaymentRequest | Authorization, now: datetime) -> bool:
    """Past its deadline, not in processing, and not yet stored as expired."""
    return row.status in _WITH_DEADLINE and shown_state(row, now) == "expired"
