"""The file that orders a bank to send money: CSV whose bytes depend on its content only.

The first line has the number of the run, then there is a line for each order. The last line has
their count, their total and the SHA-256 digest of all bytes before it.
"""

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from laari.rules.money import rufiyaa

MAX_NUMBER = 999_999  # of a run, in six digits of a reference
MAX_ORDERS = 9_999  # of a file, in four digits of a reference
MAX_HOLDER = 70  # characters: the length of a name in the messages between banks
_PUNCTUATION = frozenset(" .,'&()/-")
_ACCOUNT_NUMBER = re.compile(r"[0-9]{4,20}", re.ASCII)
_REFERENCE = re.compile(r"(?<![A-Z0-9])LP([0-9]{6})R([0-9]{4})(?![A-Z0-9])", re.ASCII)


class Order(NamedTuple):
    """One payment by the bank; its reference comes back in the bank's statement."""

    reference: str
    holder: str
    bank: str
    account_number: str
    amount: int


class BankFile(NamedTuple):
    """The bytes of a file, and the figures of its last line."""

    content: bytes
    order_count: int
    total: int
    digest: str


class UnsafeTextError(Exception):
    """A name that a spreadsheet could read as a formula: a defect, since entry refuses it."""


def is_bank_text(text: str) -> bool:
    """Whether a name can be in the file: letters of any script, digits and a few signs.

    It begins with a letter or digit, so that no spreadsheet reads it as a formula.
    """
    if not 1 <= len(text) <= MAX_HOLDER or text != text.strip():
        return False
    return text[0].isalnum() and all(
        unicodedata.category(character)[0] in "LMN" or character in _PUNCTUATION
        for character in text
    )


def is_account_number(text: str) -> bool:
    return _ACCOUNT_NUMBER.fullmatch(text) is not None


def reference_of(number: int, place: int) -> str:
    """The reference of an order, from the number of its run and its place in the file."""
    assert 1 <= number <= MAX_NUMBER
    assert 1 <= place <= MAX_ORDERS
    return f"LP{number:06}R{place:04}"


def references_in(text: str) -> list[str]:
    """The references of orders that a line of a bank's statement names."""
    return list(dict.fromkeys(found[0] for found in _REFERENCE.finditer(text.upper())))


def split(amount: int, most: int) -> Iterator[int]:
    """The amounts of the orders for one payout; no order is above the bank's limit."""
    while amount > most:
        yield most
        amount -= most
    yield amount


def bank_file(number: int, value_date: date, orders: Sequence[Order]) -> BankFile:
    assert 1 <= len(orders) <= MAX_ORDERS
    total = sum(order.amount for order in orders)
    lines = [["H", str(number), value_date.isoformat(), "MVR"], *map(_line, orders)]
    content = _csv(lines)
    digest = hashlib.sha256(content).hexdigest()
    end = ["T", str(number), str(len(orders)), rufiyaa(total), digest]
    return BankFile(content + _csv([end]), len(orders), total, digest)


def _line(order: Order) -> list[str]:
    if not (is_bank_text(order.holder) and is_bank_text(order.bank)):
        raise UnsafeTextError(order.reference)
    amount = rufiyaa(order.amount)
    return ["P", order.reference, order.bank, order.account_number, order.holder, amount]


def _csv(lines: Iterable[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(lines)
    return text.getvalue().encode()
