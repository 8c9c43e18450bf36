"""Texts that people type in forms, as a program would send them to the merchant API."""

import secrets
from collections.abc import Mapping

from laari.rules.money import money_text, read_rufiyaa
from laari.rules.refusals import Refusal, invalid


def new_reference(prefix: str) -> str:
    """A reference for a form. Sent twice, it makes nothing twice."""
    return f"{prefix}-{secrets.token_hex(4).upper()}"


def read_amount(form: Mapping[str, str], name: str, words: str, most: int) -> int | Refusal:
    amount = read_rufiyaa(form.get(name, ""))
    if amount is None:
        return invalid(name, f"{words} must be a number such as 125 or 125.50.")
    if amount < 1:
        return invalid(name, f"{words} must be at least {money_text(1)}.")
    if amount > most:
        return invalid(name, f"{words} must be at most {money_text(most)}.")
    return amount


def read_deadline(form: Mapping[str, str]) -> dict[str, object]:
    """The field `expires_at`, if it is filled in. Browsers omit the seconds if they are zero."""
    deadline = form.get("expires_at", "").strip()
    if not deadline:
        return {}
    return {"expires_at": f"{deadline}:00" if deadline.count(":") == 1 else deadline}


def in_words(refusal: Refusal, names: Mapping[str, str]) -> Refusal:
    """The API's message with the field's name of the form instead of its own."""
    name = (refusal.field or "").partition(".")[0]
    rest = refusal.message.removeprefix(refusal.field or "")
    if name not in names or rest == refusal.message:
        return refusal
    return refusal._replace(message=names[name] + rest)
