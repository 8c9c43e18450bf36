"""Texts that people type in forms, as a program would send them to the merchant API."""

import secrets
from collections.abc import Mapping
from datetime import datetime

from laari.edge.pages.request import RefusedForm
from laari.rules.calendar import read_timestamp
from laari.rules.money import money_text, read_rufiyaa


def new_reference(prefix: str) -> str:
    """A reference for a form. Sent twice, it makes nothing twice."""
    return f"{prefix}-{secrets.token_hex(4).upper()}"


def read_amount(form: Mapping[str, str], name: str, words: str, most: int) -> int:
    amount = read_rufiyaa(form.get(name, ""))
    if amount is None:
        raise RefusedForm(400, f"{words} must be a number such as 125 or 125.50.")
    if amount < 1:
        raise RefusedForm(400, f"{words} must be at least {money_text(1)}.")
    if amount > most:
        raise RefusedForm(400, f"{words} must be at most {money_text(most)}.")
    return amount


def read_deadline(form: Mapping[str, str]) -> dict[str, object]:
    """The field `expires_at`, if it is filled in."""
    deadline = _moment(form, "expires_at")
    return {"expires_at": deadline} if deadline else {}


def read_moment(form: Mapping[str, str], name: str, words: str) -> datetime | None:
    """The moment of a field, in Maldives time unless it says an offset; None if it is empty."""
    written = _moment(form, name)
    moment = read_timestamp(written) if written else None
    if written and moment is None:
        raise RefusedForm(400, f"{words} must be a day and a time.")
    return moment


def _moment(form: Mapping[str, str], name: str) -> str:
    """Browsers omit the seconds if they are zero."""
    written = form.get(name, "").strip()
    return f"{written}:00" if written.count(":") == 1 else written
