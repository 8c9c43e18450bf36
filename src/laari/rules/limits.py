"""The limits of an authorization: what a charge may still take.

Usage stands on the authorization's own row: its lifetime, and the calendar period it was last
charged in, which only ever sees time go forward. Where a sandbox's clock is moved, the move itself
counts anew (rules/sandbox_clock.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import NamedTuple

from msgspec.structs import replace

from laari.rules.calendar import period_start, total_in_period
from laari.rules.records import Authorization


class Period(NamedTuple):
    """The calendar period that a charge counts in, and what was charged in it before."""

    start: date
    paid: int


class Remaining(NamedTuple):
    """What is left of each limit; None is no limit of that kind."""

    per_payment: int | None
    period: int | None
    total: int | None
    payments: int | None


def current_period(authorization: Authorization, now: datetime) -> Period | None:
    """The running period; None where no period is limited."""
    if authorization.period_amount is None or authorization.period_interval is None:
        return None
    running = period_start(now, authorization.period_interval)
    if authorization.period_start is None or authorization.period_start < running:
        return Period(running, 0)
    # A later one than the running was begun by a server whose clock is a moment ahead. To go back
    # would forget it.
    return Period(authorization.period_start, authorization.period_paid)


def recount(
    authorization: Authorization, charged: Mapping[date, int], now: datetime
) -> Authorization:
    """The authorization with what was charged in the period around this moment, from its days."""
    interval = authorization.period_interval
    if authorization.period_amount is None or interval is None:
        return authorization
    start, paid = total_in_period(charged, now, interval)
    return replace(authorization, period_start=start, period_paid=paid)


def remaining(authorization: Authorization, period: Period | None) -> Remaining:
    allowed = 1 if authorization.type == "one_time" else authorization.max_payments
    return Remaining(
        per_payment=authorization.per_payment,
        period=None if period is None else _left(authorization.period_amount, period.paid),
        total=_left(authorization.total, authorization.total_paid),
        payments=_left(allowed, authorization.payment_count),
    )


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else limit - used


def exceeded(left: Remaining, amount: int) -> str | None:
    """The code of the first limit that a charge of this amount would pass."""
    if left.per_payment is not None and amount > left.per_payment:
        return "per_payment_limit_exceeded"
    if left.period is not None and amount > left.period:
        return "period_limit_exceeded"
    if left.total is not None and amount > left.total:
        return "total_limit_exceeded"
    if left.payments is not None and left.payments < 1:
        return "payment_count_limit_exceeded"
    return None


def use(
    authorization: Authorization, amount: int, period: Period | None, now: datetime
) -> Authorization:
    """The authorization after a charge; a one-time one is consumed by it."""
    used = replace(
        authorization,
        status="consumed" if authorization.type == "one_time" else authorization.status,
        payment_count=authorization.payment_count + 1,
        total_paid=authorization.total_paid + amount,
        last_used_at=now,
        updated_at=now,
    )
    if period is None:
        return used
    return replace(used, period_start=period.start, period_paid=period.paid + amount)
