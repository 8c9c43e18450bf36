"""Which wallet a line of the bank's statement names, and by what."""

from datetime import date

import pytest

from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.line_targets import mobiles_in, target_of

AISHA, BEN = 7_700_000_000_001, 7_700_000_000_002
MOBILES = {"7712345": AISHA, "9654321": BEN}


def line(text: str, reference: str = "FT1") -> StatementLine:
    return StatementLine(2, date(2026, 11, 18), reference, text, 500, None)


@pytest.mark.parametrize(
    ("text", "account", "by"),
    [
        (f"Top-up {AISHA}", AISHA, "account"),
        ("Aisha 7712345", AISHA, "mobile"),
        ("Aisha +960 771-2345", AISHA, "mobile"),
        ("9609654321 lunch", BEN, "mobile"),
        (f"{AISHA} 7712345", AISHA, "account"),  # both are hers
        (f"{AISHA} 9654321", None, None),
        ("7712345 or 9654321", None, None),
        ("7712345 or 7999999", AISHA, "mobile"),  # nobody has the other
        ("FT7712345X", None, None),
        ("invoice 17712345", None, None),
        ("nobody", None, None),
    ],
)
def test_a_line_names_one_wallet_or_none(text: str, account: int | None, by: str | None) -> None:
    target = target_of(
        line(text), orders={}, live={AISHA, BEN}, mobiles=MOBILES, topup=None, answers={}
    )
    assert (target.account, target.by) == (account, by)


def test_the_banks_own_reference_is_no_mobile_number() -> None:
    assert mobiles_in(line("rent", reference="7712345")) == []
