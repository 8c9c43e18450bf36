"""Why an attempt to pay failed is kept with the attempt."""

import pytest
from msgspec.structs import replace

from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import PaymentDraft
from laari.rules.records.wallets import Tier
from laari.rules.refusals import Refusal
from tests.rules.books import ACCOUNT, START, Books


@pytest.mark.parametrize(
    ("limits", "amount", "frozen", "failure"),
    [
        ((None, None, None, None), 1_000, False, None),
        ((None, None, None, None), 1_001, False, "insufficient_balance"),
        ((500, None, None, None), 501, False, "per_transaction"),
        ((None, 500, None, None), 501, False, "daily"),
        ((None, None, 500, None), 501, False, "weekly"),
        ((None, None, None, 500), 501, False, "monthly"),
        ((None, None, None, None), 1, True, "frozen"),
        # The same order as in the responses.
        ((None, None, None, None), 1_001, True, "insufficient_balance"),
        ((500, 500, 500, 500), 501, False, "per_transaction"),
    ],
)
def test_the_first_reason_is_kept(
    limits: tuple[int | None, ...], amount: int, frozen: bool, failure: str | None
) -> None:
    books = Books(1_000, tier="limited")
    books.tiers["limited"] = Tier("limited", *limits)
    if frozen:
        wallet = books.rows["wallets"][ACCOUNT]
        books.rows["wallets"][ACCOUNT] = replace(wallet, frozen_at=START, frozen_reason="Lost")
    command = ChargeAuthorization(books.tenant, books.id, PaymentDraft("order", amount))
    assert isinstance(books.run(command), Refusal) is (failure is not None)
    [line] = books.transactions
    assert line.failure == failure
    assert (line.status == "failed") is (failure is not None)
