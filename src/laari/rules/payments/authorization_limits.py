"""The limits of an authorization, and how much of them is left.

The authorization's row stores its usage: in its lifetime, and in the period of its last charge.
"""

from laari.rules.periods import Counted, Moment, Period, running
from laari.rules.records.authorizations import Authorization
from laari.rules.refusals import RefusalCode
from laari.rules.shapes.authorizations import RemainingLimits


def counted(authorization: Authorization) -> list[Counted]:
    """The period stored on the authorization, if it has a period limit."""
    if authorization.period_amount is None or authorization.period_interval is None:
        return []
    return [
        Counted(
            authorization.id,
            authorization.period_interval,
            authorization.period_start,
            authorization.period_paid,
            authorization.counted_offset_seconds,
        )
    ]


def current_period(authorization: Authorization, moment: Moment) -> Period | None:
    """The period that a charge counts in; None without a period limit."""
    return next((running(each, moment) for each in counted(authorization)), None)


def remaining(authorization: Authorization, period: Period | None) -> RemainingLimits:
    allowed = 1 if authorization.type == "one_time" else authorization.max_payments
    return RemainingLimits(
        per_payment=authorization.per_payment,
        period=None if period is None else _left(authorization.period_amount, period.spent),
        total=_left(authorization.total, authorization.total_paid),
        payments=_left(allowed, authorization.payment_count),
    )


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else limit - used


def exceeded(left: RemainingLimits, amount: int) -> RefusalCode | None:
    """The code of the first limit that a charge of this amount would exceed."""
    if left.per_payment is not None and amount > left.per_payment:
        return "per_payment_limit_exceeded"
    if left.period is not None and amount > left.period:
        return "period_limit_exceeded"
    if left.total is not None and amount > left.total:
        return "total_limit_exceeded"
    if left.payments is not None and left.payments < 1:
        return "payment_count_limit_exceeded"
    return None


def usage_after(
    authorization: Authorization, amount: int, period: Period | None, moment: Moment
) -> dict[str, object]:
    """The fields of the authorization that a charge changes, besides its status."""
    counted_in: dict[str, object] = {}
    if period is not None:
        counted_in = {
            "period_start": period.start,
            "period_paid": period.spent + amount,
            "counted_offset_seconds": moment.offset_seconds,
        }
    return {
        "payment_count": authorization.payment_count + 1,
        "total_paid": authorization.total_paid + amount,
        "last_used_at": moment.now,
        **counted_in,
    }
