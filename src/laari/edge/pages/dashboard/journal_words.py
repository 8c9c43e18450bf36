"""Entries of the journal in words: people read amounts, times and names, not columns."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from laari.edge.pages.dashboard.refunds import REASONS
from laari.edge.pages.render import money, own, percent, stamp
from laari.rules.journal import Change

# Columns with amounts. A number in any other column is a count or an account.
AMOUNTS = {
    "amount",
    "available",
    "balance",
    "fee",
    "fee_fixed",
    "fees",
    "gross",
    "held",
    "max_payment",
    "minimum",
    "monthly_volume",
    "net",
    "refunded",
    "refunded_amount",
    "returned_amount",
}
# Columns that say nothing to a person: the entry names its object already.
INTERNAL = {
    "tenant_id",
    "merchant_id",
    "snapshot",
    "person_id",
    "till_id",
    "token",
    "secret_encrypted",
}


class Shown(NamedTuple):
    name: str
    before: Markup | None
    after: Markup | None


def action_words(action: str) -> str:
    """`Payment: refund` for `payment.refund`."""
    thing, _, verb = action.replace("_", " ").partition(".")
    return f"{thing.capitalize()}: {verb}" if verb else thing.capitalize()


def reason_words(reason: str) -> str:
    """A reason of the API in words; a reason that somebody wrote stays as it is."""
    return {str(name): words for name, words in REASONS.items()}.get(reason, reason)


def shown_changes(changes: Iterable[Change]) -> list[Shown]:
    return [
        Shown(
            change.name.removesuffix("_bps").replace("_", " "),
            _value(change.name, change.before),
            _value(change.name, change.after),
        )
        for change in changes
        if change.name not in INTERNAL
    ]


def _value(name: str, text: str | None) -> Markup | None:
    if text is None or text == "":
        return None
    is_number = text.removeprefix("-").isdecimal()
    if name in AMOUNTS and is_number:
        return money(int(text))
    if name.endswith("_bps") and is_number:
        return Markup("{}").format(percent(int(text)))
    if name.endswith("_at"):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return own(text)
        return own(text) if moment.tzinfo is None else stamp(moment)
    return own(text)
