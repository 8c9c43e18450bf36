"""The journal's entries in words."""

import pytest

from laari.edge.pages.dashboard.journal_words import action_words, reason_words, shown_changes
from laari.rules.journal import Change


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("refunded_amount", "5000", "MVR\N{NO-BREAK SPACE}50.00"),
        ("balance", "-150", "1.50"),
        ("amount", "none", ">none<"),
        ("refunds", "5000", ">5000<"),  # a count
        ("fee_bps", "150", "1.5\N{NO-BREAK SPACE}%"),
        ("effective_at", "2026-11-20T08:46:57+00:00", "20 Nov 2026, 13:46"),
        ("effective_at", "soon", ">soon<"),
        ("note", "<b>", "&lt;b&gt;"),
    ],
)
def test_a_value_is_shown_as_people_write_it(name: str, value: str, shown: str) -> None:
    [change] = shown_changes([Change(name, None, value)])
    assert change.before is None
    assert shown in str(change.after)


def test_internal_columns_are_left_out() -> None:
    assert shown_changes([Change("snapshot", None, "1:1:"), Change("tenant_id", None, "2")]) == []
    [fee] = shown_changes([Change("fee_bps", "1", "")])
    assert (fee.name, fee.after) == ("fee", None)


def test_actions_and_reasons_are_words() -> None:
    assert action_words("bank_account.add") == "Bank account: add"
    assert action_words("adjust") == "Adjust"
    assert reason_words("requested_by_customer") == "The customer asked for it"
    assert reason_words("Cold coffee") == "Cold coffee"
