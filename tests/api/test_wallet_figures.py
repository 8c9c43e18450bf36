"""The wallet interface: balances, limits and what is used of them."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.api.purses import Purse, pay
from tests.serving import Merchant


def test_the_balance(shop: Merchant, purse: Purse) -> None:
    shop.control("wallet", {"balance": 1_234_50})
    response = purse.get("/balance")
    assert response.headers["Content-Type"] == "application/json"
    record = response.json()["data"][0]
    account = record.pop("account_number")
    assert isinstance(account, str)
    assert account.isdigit()
    assert response.json() == {"success": True, "data": [{"account_number": account, **record}]}
    assert record == {
        "currency": "MVR",
        "ledger_balance": 1234.5,
        "available_balance": 1234.5,
        "hold_balance": 0,
    }


@pytest.mark.parametrize(
    ("laari", "written"),
    [
        (0, "0"),
        (7, "0.07"),
        (-12_345, "-123.45"),
        (10_000_000, "100000"),
        (999_999_999_999_999_999, "9999999999999999.99"),
        (-999_999_999_999_999_999, "-9999999999999999.99"),
        (900_719_925_474_099_301, "9007199254740993.01"),  # 2^53 + 1 and a laari
    ],
)
def test_numbers_are_exact_in_the_raw_json(
    shop: Merchant, purse: Purse, laari: int, written: str
) -> None:
    shop.control("wallet", {"balance": laari})
    text = purse.get("/balance").text
    assert f'"ledger_balance":{written},"available_balance":{written},"hold_balance":0}}' in text
    latest = purse.data("/transactions", limit=1)[0]
    assert Decimal(latest["amount"]) == Decimal(laari - 10_000_000).scaleb(-2) or laari == 10**7


def test_a_payment_counts_from_the_next_request(shop: Merchant, purse: Purse) -> None:
    pay(shop, 25_075)
    assert purse.data("/balance")[0]["ledger_balance"] == Decimal("99749.25")


def test_usage_by_tier(shop: Merchant, purse: Purse) -> None:
    assert purse.data("/usage") | {"reset_at": None} == {
        "tier": "verified",
        "limits": {
            "per_transaction": 50_000,
            "daily": 100_000,
            "weekly": 300_000,
            "monthly": 500_000,
        },
        "usage": {"daily": 0, "weekly": 0, "monthly": 0},
        "remaining": {"daily": 100_000, "weekly": 300_000, "monthly": 500_000},
        "reset_at": None,
    }
    pay(shop, 1_000_001)
    shop.control("wallet", {"tier": "basic"})
    lowered = purse.data("/usage")
    assert lowered["tier"] == "basic"
    assert lowered["limits"]["per_transaction"] == 5_000
    assert set(lowered["usage"].values()) == {Decimal("10000.01")}
    assert lowered["remaining"] == {  # the day's is passed, and shown as nothing left
        "daily": 0,
        "weekly": Decimal("19999.99"),
        "monthly": Decimal("39999.99"),
    }
    shop.control("wallet", {"tier": "business"})
    free = purse.data("/usage")
    assert set(free["limits"].values()) == {None}
    assert set(free["remaining"].values()) == {None}
    assert set(free["usage"].values()) == {Decimal("10000.01")}


def test_usage_follows_the_sandbox_clock(shop: Merchant, purse: Purse) -> None:
    def usage() -> Any:
        return purse.data("/usage")

    def pass_reset(period: str) -> None:
        wait = datetime.fromisoformat(usage()["reset_at"][period]) - now()
        shop.advance(int(wait.total_seconds()) + 1)

    def now() -> datetime:
        return datetime.fromisoformat(shop.advance(0)["now"])

    pass_reset("monthly")  # the first of a month, so that the day's end is not the month's
    before = now()
    resets = {name: datetime.fromisoformat(at) for name, at in usage()["reset_at"].items()}
    assert {at.utcoffset() for at in resets.values()} == {timedelta(hours=5)}
    assert {(at.hour, at.minute, at.second) for at in resets.values()} == {(0, 0, 0)}
    assert resets["daily"].date() == before.date() + timedelta(days=1)
    assert resets["weekly"].isoweekday() == 7
    assert timedelta(0) < resets["weekly"] - before <= timedelta(days=7)
    assert resets["monthly"].day == 1
    assert resets["monthly"].month == before.month % 12 + 1
    pay(shop, 500)
    assert usage()["usage"] == {"daily": 5, "weekly": 5, "monthly": 5}
    pass_reset("daily")
    assert usage()["usage"]["daily"] == 0
    assert usage()["usage"]["monthly"] == 5
    pass_reset("weekly")
    assert usage()["usage"]["weekly"] == 0
    pass_reset("monthly")
    assert usage()["usage"] == {"daily": 0, "weekly": 0, "monthly": 0}
