"""The values that arguments and options of the commands accept."""

import re
from collections.abc import Callable
from datetime import date
from uuid import UUID

import click

from laari.rules.day_ranges import Days, read_day, read_month
from laari.rules.ids import read_id
from laari.rules.limits.texts import MAX_REASON
from laari.rules.money import MAX_FEE_FIXED
from laari.rules.people.contacts import read_email, read_mobile

MODE = click.Choice(["live", "sandbox"])
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)


def integer(lowest: int, highest: int) -> Callable[[str | int], int]:
    def number(value: str | int) -> int:
        written = str(value)  # a default is a number
        if not _INTEGER.fullmatch(written) or not lowest <= int(written) <= highest:
            raise click.BadParameter(f"must be a whole number from {lowest} to {highest}.")
        return int(written)

    return number


fee_bps = integer(0, 10_000)
fee_fixed = integer(0, MAX_FEE_FIXED)
account = integer(1, 2**63 - 1)


def id_of(prefix: str, kind: str) -> Callable[[str], UUID]:
    def id(value: str) -> UUID:
        found = read_id(prefix, value)
        if found is None:
            raise click.BadParameter(f"must be {kind}: {prefix} and 32 hexadecimal digits.")
        return found

    return id


def text(longest: int) -> Callable[[str], str]:
    def text(value: str) -> str:
        trimmed = value.strip()
        if not 1 <= len(trimmed) <= longest or not trimmed.isprintable():
            raise click.BadParameter(f"must be 1 to {longest} printable characters, not blank.")
        return trimmed

    return text


name = text(255)
reason = text(MAX_REASON)


def secret(value: str) -> str:
    if not 1 <= len(value) <= 1024 or not value.isprintable():
        raise click.BadParameter("must be 1 to 1024 printable characters.")
    return value


def mobile(value: str) -> str:
    digits = read_mobile(value)
    if digits is None:
        raise click.BadParameter("must be a Maldivian mobile number of seven digits.")
    return digits


def email(value: str) -> str:
    address = read_email(value)
    if address is None or not address.isprintable():
        raise click.BadParameter("must be an email address.")
    return address


def day(value: str) -> date:
    found = read_day(value)
    if found is None:
        raise click.BadParameter("must be a day such as 2027-07-01.")
    return found


def month(value: str) -> Days:
    found = read_month(value)
    if found is None:
        raise click.BadParameter("must be a month such as 2026-11.")
    return found
