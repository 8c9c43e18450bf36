"""Limits in plain words, and how much of a limit is used."""

from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from laari.edge.pages.language import Language
from laari.edge.pages.render import last_moment, money, own
from laari.rules.calendar import Interval, period_after
from laari.rules.periods import Period
from laari.rules.records.authorizations import Authorization
from laari.rules.records.tenants import Tenant


def limits_in_words(
    language: Language, authorization: Authorization, tenant: Tenant
) -> list[Markup]:
    """The kind of payments, then one sentence for each limit."""
    text, asked = language.text, authorization
    words = [text(f"approval.{asked.type}", merchant=own(tenant.merchant_name))]
    if asked.per_payment is not None:
        words.append(text("approval.per_payment", amount=money(asked.per_payment)))
    if asked.period_amount is not None:
        name = f"approval.period_{asked.period_interval}"
        words.append(text(name, amount=money(asked.period_amount)))
    if asked.total is not None:
        words.append(text("approval.total", amount=money(asked.total)))
    if asked.max_payments is not None and asked.type != "one_time":
        name = "approval.max_payments_one" if asked.max_payments == 1 else "approval.max_payments"
        words.append(text(name, count=f"{asked.max_payments:,}"))
    if asked.expires_at is not None:
        words.append(text("approval.until", day=last_moment(asked.expires_at, language)))
    elif asked.type != "one_time":
        words.append(text("approval.endless"))
    return words


def is_unlimited(authorization: Authorization) -> bool:
    """Whether only the wallet's own limits bound the amounts."""
    limits = (authorization.per_payment, authorization.period_amount, authorization.total)
    return limits == (None, None, None)


class Used(NamedTuple):
    """How much of one limit is used; None is no limit."""

    name: str  # of a text of `[usage]`
    used: int
    limit: int | None
    resets_at: datetime | None = None
    is_money: bool = True

    @property
    def left(self) -> int | None:
        # More than the limit is used if the limit was lowered.
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def share(self) -> int | None:
        """In percent: 0 only if nothing is used, 100 only if everything is."""
        if self.limit is None:
            return None
        if self.used >= self.limit:
            return 100
        return min(99, max(1, self.used * 100 // self.limit)) if self.used else 0


def used_in_period(interval: Interval, period: Period, limit: int | None) -> Used:
    return Used(interval, period.spent, limit, period_after(period.start, interval))
