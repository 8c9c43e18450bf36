import csv
import hashlib
import io
from datetime import date

import pytest

from laari.rules.banking.bank_file import (
    Order,
    UnsafeTextError,
    bank_file,
    is_account_number,
    is_bank_text,
    reference_of,
    references_in,
    split,
)

DAY = date(2026, 11, 19)
ORDERS = [
    Order(reference_of(12, 1), "Seagull Café, Malé", "BML", "7730000012345", 12_345),
    Order(reference_of(12, 2), "ސީގަލް ކެފޭ", "MIB", "90401480001", 20_000_000),
]


def test_the_last_line_has_count_total_and_digest() -> None:
    made = bank_file(12, DAY, ORDERS)
    lines = list(csv.reader(io.StringIO(made.content.decode(), newline="")))
    assert lines[0] == ["H", "12", "2026-11-19", "MVR"]
    assert lines[1] == [
        "P",
        "LP000012R0001",
        "BML",
        "7730000012345",
        "Seagull Café, Malé",
        "123.45",
    ]
    assert lines[-1][:4] == ["T", "12", "2", "200123.45"]
    before = made.content[: made.content.rindex(b"T,12")]
    assert lines[-1][4] == made.digest == hashlib.sha256(before).hexdigest()
    assert (made.order_count, made.total) == (2, 20_012_345)


def test_the_same_orders_give_the_same_bytes() -> None:
    assert bank_file(12, DAY, ORDERS) == bank_file(12, DAY, list(ORDERS))
    assert bank_file(13, DAY, ORDERS).digest != bank_file(12, DAY, ORDERS).digest


@pytest.mark.parametrize(
    ("amount", "parts"),
    [
        (1, [1]),
        (200, [200]),
        (201, [200, 1]),
        (400, [200, 200]),
        (650, [200, 200, 200, 50]),
    ],
)
def test_no_order_is_above_the_limit_of_the_bank(amount: int, parts: list[int]) -> None:
    assert list(split(amount, 200)) == parts


@pytest.mark.parametrize(
    "text", ["=1+1", "+960", "-x", "@x", "\tx", " x", "x;y", "x|y", "a\nb", 'a"b', "", "x" * 71]
)
def test_a_name_cannot_be_a_formula_or_break_a_line(text: str) -> None:
    assert not is_bank_text(text)
    with pytest.raises(UnsafeTextError):
        bank_file(1, DAY, [ORDERS[0]._replace(holder=text)])


@pytest.mark.parametrize("text", ["Seagull Café (Pvt) Ltd", "O'Neil & Sons", "ސީގަލް ކެފޭ", "7 Eleven"])
def test_names_of_all_scripts_are_accepted(text: str) -> None:
    assert is_bank_text(text)


@pytest.mark.parametrize(
    ("text", "valid"),
    [("7730000012345", True), ("1234", True), ("123", False), ("77 30", False), ("٧٧٣٠", False)],
)
def test_an_account_number_has_digits_only(text: str, valid: bool) -> None:
    assert is_account_number(text) is valid


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("TRF LP000012R0001 Seagull", ["LP000012R0001"]),
        ("lp000012r0001/returned lp000012r0001", ["LP000012R0001"]),
        ("XLP000012R0001", []),
        ("LP000012R00011", []),
        ("LP000012R0001 LP000012R0002", ["LP000012R0001", "LP000012R0002"]),
    ],
)
def test_references_are_found_in_the_text_of_the_bank(text: str, found: list[str]) -> None:
    assert references_in(text) == found
