"""Payouts over the API: the sandbox plays the bank, and the movements add up."""

from typing import Any

import pytest

from tests.serving import Merchant, Service


@pytest.fixture
def shop(usual_service: Service) -> Merchant:
    return usual_service.merchant(fee_bps=100)


def pay(shop: Merchant, reference: str, amount: int) -> str:
    made = shop.payment(reference=reference, amount=amount)
    shop.control(f"payments/{made['id']}/pay")
    return str(made["id"])


def movements(shop: Merchant, payout_id: str, limit: int = 100) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = shop.get(f"/payouts/{payout_id}/movements?limit={limit}{after}").json()
        assert len(page["data"]) <= limit
        found += page["data"]
        if not page["pagination"]["has_more"]:
            return found
        after = f"&after={page['pagination']['next_cursor']}"


def test_a_payout_and_its_movements(shop: Merchant) -> None:
    first = pay(shop, "a", 10_000)
    pay(shop, "b", 5_000)
    refund = shop.post(f"/payments/{first}/refunds", {"amount": 1_000}).json()["data"]
    made = shop.post("/sandbox/payouts")
    assert made.status_code == 201
    payout = made.json()["data"]
    assert (payout["number"], payout["amount"], payout["status"]) == (1, 13_850, "sent")
    assert payout["bank_references"] == [payout["id"]]
    assert payout["bank_account"] == {"bank": "BML", "last4": "0000"}
    assert shop.get(f"/payouts/{payout['id']}").json()["data"] == payout
    assert shop.get("/payouts").json()["data"] == [payout]
    listed = movements(shop, payout["id"])
    assert sum(each["amount"] for each in listed) == payout["amount"]
    assert movements(shop, payout["id"], 1) == listed
    assert sorted((each["type"], each["amount"]) for each in listed) == [
        ("fee", -100),
        ("fee", -50),
        ("payment", 5_000),
        ("payment", 10_000),
        ("refund", -1_000),
    ]
    (returned,) = (each for each in listed if each["type"] == "refund")
    assert (returned["payment_id"], returned["refund_id"]) == (first, refund["id"])
    assert shop.events(payout["id"]) == ["payout.sent"]


def test_the_bank_settles_or_returns_it(shop: Merchant) -> None:
    pay(shop, "a", 1_000)
    payout = shop.post("/sandbox/payouts").json()["data"]["id"]
    nothing = shop.post("/sandbox/payouts")
    assert nothing.status_code == 409
    assert nothing.json()["error"]["code"] == "payout_not_possible"
    settled = shop.post(f"/sandbox/payouts/{payout}/settle").json()["data"]
    assert settled["status"] == "settled"
    again = shop.post(f"/sandbox/payouts/{payout}/settle")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "payout_conflict")
    returned = shop.post(f"/sandbox/payouts/{payout}/return").json()["data"]
    assert (returned["status"], returned["returned_amount"]) == ("returned", 990)
    assert shop.events(payout) == ["payout.sent", "payout.settled", "payout.returned"]
    second = shop.post("/sandbox/payouts").json()["data"]
    assert [(each["type"], each["amount"]) for each in movements(shop, second["id"])] == [
        ("payout_returned", 990)
    ]
    for each in shop.get("/payouts").json()["data"]:
        assert each["bank_references"] == [each["id"]]
    assert [each["id"] for each in shop.get("/payouts?status=returned").json()["data"]] == [payout]


def test_another_merchant_finds_nothing(shop: Merchant, usual_service: Service) -> None:
    pay(shop, "a", 1_000)
    payout = shop.post("/sandbox/payouts").json()["data"]["id"]
    other = usual_service.merchant()
    for path in (f"/payouts/{payout}", f"/payouts/{payout}/movements"):
        assert other.get(path).status_code == 404
    for action in ("settle", "return"):
        assert other.post(f"/sandbox/payouts/{payout}/{action}").status_code == 404
    assert other.get("/payouts").json()["data"] == []
    assert shop.get("/payouts/po_0").status_code == 404


def test_a_sandbox_clock_that_moved_back_loses_no_movement(shop: Merchant) -> None:
    shop.post("/sandbox/clock", {"advance_seconds": 40 * 86_400})
    pay(shop, "later", 1_000)
    first = shop.post("/sandbox/payouts").json()["data"]
    assert first["amount"] == 990
    shop.post("/sandbox/clock", {"reset": True})
    pay(shop, "now", 500)
    second = shop.post("/sandbox/payouts").json()["data"]
    assert second["amount"] == 495
    assert sorted(each["amount"] for each in movements(shop, second["id"])) == [-5, 500]
    assert sorted(each["amount"] for each in movements(shop, first["id"])) == [-10, 1_000]
