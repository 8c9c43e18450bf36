"""The states of payments, payment requests and authorizations, and what leads to which."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

from laari.rules.records import (
    Authorization,
    AuthorizationStatus,
    Payment,
    PaymentRequest,
    PaymentStatus,
)

# What a customer is asked to pay.
Payable = TypeVar("Payable", Payment, PaymentRequest)

# The stored status; and of what is pending, whether an attempt to pay it is being processed or its
# deadline has passed.
State: TypeAlias = PaymentStatus | Literal["processing", "overdue"]
Action: TypeAlias = Literal["pay", "reject", "reserve", "release", "cancel", "expire", "refund"]
Transitions: TypeAlias = Mapping[State, Mapping[Action, PaymentStatus]]

# What may be done in each state, and the status that it leads to; all else is refused. While an
# attempt to pay is being processed, nothing expires and nothing is cancelled.
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

_WITH_DEADLINE = frozenset({"pending", "active", "suspended"})


class TransitionError(Exception):
    """A command made a transition that the lifecycle does not have: a defect."""


def state_of(payable: Payment | PaymentRequest, now: datetime) -> State:
    """The state at this moment, on the clock of the tenant that asks for the payment."""
    if payable.status != "pending":
        return payable.status
    if payable.reserved_at is not None:
        return "processing"
    if payable.expires_at is not None and payable.expires_at <= now:
        return "overdue"
    return "pending"


def authorization_state(authorization: Authorization, now: datetime) -> AuthorizationStatus:
    """The same of an authorization: expired if a deadline has passed."""
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
    """The state as people see it.

    What is overdue has expired. What waits for a merchant that is not `active` is `closed`: it
    cannot be paid or approved now.
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


def is_overdue(row: Payment | PaymentRequest | Authorization, now: datetime) -> bool:
    """Past its deadline and nobody is paying it, but not stored as expired."""
    return row.status in _WITH_DEADLINE and shown_state(row, now) == "expired"
