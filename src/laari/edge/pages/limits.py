"""The limits of an authorization in plain words, for the approval and for the wallet."""

from markupsafe import Markup

from laari.edge.pages.language import Language
from laari.edge.pages.render import last_moment, money, own
from laari.rules.records import Authorization, Tenant


def limits_in_words(
    language: Language, authorization: Authorization, tenant: Tenant
) -> list[Markup]:
    """What is allowed, then every limit as a sentence of its own; all of them hold together."""
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
    """Whether nothing but the wallet's own limits keeps an amount down."""
    limits = (authorization.per_payment, authorization.period_amount, authorization.total)
    return limits == (None, None, None)
