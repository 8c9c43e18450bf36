"""A frozen wallet: nothing leaves it, money still arrives, and nobody is told why."""

import json
from typing import Any

import httpx
import pytest

from tests.api.purses import Purse, pay
from tests.serving import Merchant

REASON = "Reported stolen 4711"


def laari(shop: Merchant, *arguments: str) -> Any:
    ended = shop.service.laari(*arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def refused(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


@pytest.fixture
def account(purse: Purse) -> str:
    return str(purse.data("/balance")[0]["account_number"])


def freeze(shop: Merchant, account: str) -> None:
    assert laari(shop, "customer", "freeze", account, "--reason", REASON)["frozen"] is True


def test_nothing_leaves_a_frozen_wallet_and_money_still_arrives(
    shop: Merchant, purse: Purse, account: str
) -> None:
    paid = pay(shop, 2_000)
    payment, request = shop.payment(amount=1_000), shop.request(amount=1_000)
    approved = shop.approved()
    shop.control("wallet", {"balance": 100_000})
    freeze(shop, account)

    attempts = [
        shop.post(f"/sandbox/payments/{payment['id']}/pay"),
        shop.post(f"/sandbox/payment-requests/{request['id']}/pay"),
        shop.charge(approved, 1, "order-1"),
    ]
    for attempt in attempts:
        assert refused(attempt) == (422, "wallet_limit_exceeded")
        assert "roz" not in attempt.text
        assert REASON not in attempt.text
    # The balance is looked at first, as for limits of zero.
    assert refused(shop.charge(approved, 100_001, "order-2")) == (402, "insufficient_balance")

    laari(shop, "payment", "refund", paid["id"])
    laari(shop, "wallet", "topup", account, "500")
    [balance] = purse.data("/balance")
    assert balance["ledger_balance"] == 1_025
    lines = purse.data("/transactions", limit=6)
    statuses = [line["status"] for line in lines]
    assert statuses == ["success", "success", "failed", "failed", "failed", "failed"]
    # Only the operator reads why an attempt failed.
    assert all("failure" not in line for line in lines)
    kept = [each["failure"] for each in laari(shop, "wallet", "history", account, "--limit", "6")]
    assert kept == [None, None, "insufficient_balance", "frozen", "frozen", "frozen"]

    laari(shop, "customer", "unfreeze", account)
    for path in (
        f"/sandbox/payments/{payment['id']}",
        f"/sandbox/payment-requests/{request['id']}",
    ):
        assert shop.post(f"{path}/pay").json()["data"]["status"] == "paid"
    assert shop.charge(approved, 1, "order-3").status_code == 201


def test_a_frozen_wallet_looks_like_one_whose_limits_are_zero(
    shop: Merchant, purse: Purse, account: str
) -> None:
    approved = shop.approved()
    pay(shop, 300)
    shop.service.laari(
        "tier",
        "set",
        "nothing",
        "--per-transaction",
        "0",
        "--daily",
        "0",
        "--weekly",
        "0",
        "--monthly",
        "0",
    )
    shop.control("wallet", {"tier": "nothing"})
    limited = purse.data("/usage"), shop.charge(approved, 5, "limited")
    shop.control("wallet", {"tier": "verified"})
    freeze(shop, account)
    frozen = purse.data("/usage"), shop.charge(approved, 5, "frozen")

    assert frozen[0] == {**limited[0], "tier": "verified"}
    assert frozen[0]["remaining"] == {"daily": 0, "weekly": 0, "monthly": 0}
    assert frozen[0]["usage"]["daily"] == 3
    assert frozen[1].json() == limited[1].json()


def test_limits_do_not_show_a_silent_freeze(shop: Merchant, purse: Purse, account: str) -> None:
    before, approved = purse.data("/usage"), shop.approved()
    laari(shop, "customer", "freeze", account, "--reason", REASON, "--silent")
    assert purse.data("/usage") == before
    assert refused(shop.charge(approved, 5, "frozen")) == (422, "wallet_limit_exceeded")


def test_authorizations_of_a_frozen_wallet_go_on_without_charges(
    shop: Merchant, purse: Purse, account: str
) -> None:
    """Freezing ends nothing else: what is decided about them needs no money."""
    approved = shop.approved()
    freeze(shop, account)
    for action, status in (("suspend", "suspended"), ("resume", "active")):
        turned = shop.control(f"authorizations/{approved['id']}/{action}")
        assert turned["status"] == status
    held = shop.payment(amount=10)
    assert shop.control(f"payments/{held['id']}/reserve")["status"] == "pending"
    assert refused(shop.post(f"/sandbox/payments/{held['id']}/pay"))[0] == 422
    assert shop.post(f"/payments/{held['id']}/cancel").status_code == 200  # the attempt has ended


def test_a_frozen_wallet_approves_nothing(shop: Merchant, account: str) -> None:
    """Or a thief could approve now, and the merchant charge once the wallet is unfrozen."""
    asked, declined = shop.authorization(), shop.authorization()
    freeze(shop, account)
    approve = f"/sandbox/authorizations/{asked['id']}/approve"
    refusal = shop.post(approve)
    assert refused(refusal) == (409, "authorization_unavailable")
    assert "roz" not in refusal.text
    assert shop.control(f"authorizations/{declined['id']}/reject")["status"] == "rejected"
    laari(shop, "customer", "unfreeze", account)
    assert shop.post(approve).json()["data"]["status"] == "active"
