"""Amounts: integer laari, a hundredth of a rufiyaa. No float ever holds money."""

import re

MAX_FEE_FIXED = 9_999_999_999
MAX_MONEY = 999_999_999_999_999_999  # authorization limits and balances; fits a bigint

BASIS_POINTS = 10_000

_RUFIYAA = re.compile(r"(-?)([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,16})(?:\.([0-9]{1,2}))?", re.ASCII)


def read_rufiyaa(text: str) -> int | None:
    """An amount as people write it, in laari: `1,250.5` is 125050.

    None if it is not an amount; more than two digits after the point are not rounded.
    """
    match = _RUFIYAA.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, hundredths = match.groups(default="")
    laari = int(whole.replace(",", "")) * 100 + int(hundredths.ljust(2, "0"))
    return -laari if sign else laari


def rufiyaa(laari: int) -> str:
    """Exact decimal text of an amount: `-1234` → `-12.34`."""
    sign = "-" if laari < 0 else ""
    whole, hundredths = divmod(abs(laari), 100)
    return f"{sign}{whole}.{hundredths:02d}"


def money_text(laari: int) -> str:
    """`MVR 1,250.00`, kept together."""
    sign = "\N{MINUS SIGN}" if laari < 0 else ""
    whole, hundredths = divmod(abs(laari), 100)
    return f"{sign}MVR\N{NO-BREAK SPACE}{whole:,}.{hundredths:02d}"
