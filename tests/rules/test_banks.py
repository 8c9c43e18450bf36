"""Bank accounts as people write them."""

import pytest

from laari.rules.banking.bank_accounts import not_valid, read_details
from laari.rules.records.bank_accounts import BankDetails


@pytest.mark.parametrize("bank", ["BML", "bml", "Bank of Maldives", " bank  of maldives "])
def test_a_bank_has_one_code(bank: str) -> None:
    details = read_details(" Aisha  Ali", bank, "7730-0000 12345")
    assert details == BankDetails("Aisha Ali", "BML", "7730000012345")
    assert not_valid(details) is None


def test_an_unknown_bank_is_refused() -> None:
    refusal = not_valid(read_details("Aisha", "Bank of Nowhere", "7730000012345"))
    assert refusal is not None
    assert (refusal.field, "BML" in refusal.message) == ("bank", True)
