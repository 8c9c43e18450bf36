"""Listing authorizations by status, and the payments of one; the preview of a charge."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.serving import Merchant

DAY = 86_400
STATUSES = [
    "pending",
    "active",
    "rejected",
    "revoked",
    "expired",
    "cancelled",
    "suspended",
    "consumed",
]


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def listed(shop: Merchant, path: str = "/authorizations", **query: Any) -> list[str]:
    """The references of a listing, in its order, page after page."""
    found: list[str] = []
    while True:
        response = shop.get(path, **query)
        assert response.status_code == 200, response.text
        body = response.json()
        found += [row["reference"] for row in body["data"]]
        pages = body["pagination"]
        assert (pages["next_cursor"] is None) == (not pages["has_more"])
        if not pages["has_more"]:
            return found
        query["after"] = pages["next_cursor"]


def one_of_each(shop: Merchant) -> None:
    """One authorization of every status, named after it; expired ones of every origin."""
    now = datetime.fromisoformat(shop.control("clock", {"advance_seconds": 0})["now"])
    soon = (now + timedelta(hours=1)).isoformat()
    shop.authorization(reference="expired waiting")
    shop.approved(reference="expired active", expires_at=soon)
    paused = shop.approved(reference="expired suspended", expires_at=soon)
    shop.control(f"authorizations/{paused['id']}/suspend")
    gone = shop.approved(reference="revoked", expires_at=soon)
    shop.post(f"/authorizations/{gone['id']}/cancel")
    shop.advance(DAY)
    shop.authorization(reference="pending")
    shop.approved(reference="active")
    later = (now + timedelta(days=9)).isoformat()
    suspended = shop.approved(reference="suspended", expires_at=later)
    shop.control(f"authorizations/{suspended['id']}/suspend")
    rejected = shop.authorization(reference="rejected")
    shop.control(f"authorizations/{rejected['id']}/reject")
    cancelled = shop.authorization(reference="cancelled")
    shop.post(f"/authorizations/{cancelled['id']}/cancel")
    consumed = shop.approved(reference="consumed", type="one_time", expires_at=later)
    assert shop.charge(consumed, 5).status_code == 201


def test_every_status_finds_its_own_and_nothing_else(shop: Merchant) -> None:
    one_of_each(shop)
    expired = ["expired suspended", "expired active", "expired waiting"]
    for status in STATUSES:
        expected = expired if status == "expired" else [status]
        assert listed(shop, status=status) == expected
        assert listed(shop, status=status, limit=1) == expected
        for row in shop.get("/authorizations", status=status).json()["data"]:
            assert row["status"] == status
    everything = listed(shop)
    assert everything == listed(shop, limit=2)
    assert len(everything) == 10
    # Time decides: ten days on, what waits or has a deadline is expired as well.
    shop.advance(10 * DAY)
    assert listed(shop, status="expired") == ["suspended", "pending", *expired]
    assert listed(shop, status="active") == ["active"]
    assert listed(shop, status="pending") == listed(shop, status="suspended") == []


def test_list_parameters(shop: Merchant) -> None:
    for status in ("", "paid", "Active"):
        assert code(shop.get("/authorizations", status=status)) == (400, "invalid_request")
    assert code(shop.http.get("/authorizations?status[]=active")) == (400, "invalid_request")
    empty = shop.get("/authorizations", terminal_label="x" * 99, limit=500).json()
    assert empty == {
        "data": [],
        "pagination": {"limit": 100, "has_more": False, "next_cursor": None},
    }


def test_payments_of_an_authorization(shop: Merchant) -> None:
    one, two = shop.approved(), shop.approved()
    path = f"/authorizations/{one['id']}/payments"
    start = shop.control("clock", {"advance_seconds": 0})["now"]
    for number in range(5):
        shop.charge(one, 10, f"p{number}", bill_number="007" if number % 2 else "7")
        shop.advance(60)
    shop.charge(two, 10, "other")
    shop.payment(reference="hosted")
    refunded = shop.get(path).json()["data"][-1]
    assert shop.service.laari("payment", "refund", refunded["id"]).returncode == 0
    newest_first = ["p4", "p3", "p2", "p1", "p0"]
    assert listed(shop, path) == listed(shop, path, limit=2) == newest_first
    assert listed(shop, path, status="paid") == newest_first[:-1]
    assert listed(shop, path, status="refunded") == ["p0"]
    assert listed(shop, path, bill_number="007") == ["p3", "p1"]
    assert listed(shop, path, bill_number="7", status="paid", limit=1) == ["p4", "p2"]
    middle = (datetime.fromisoformat(start) + timedelta(seconds=110)).isoformat()
    assert listed(shop, path, created_from=middle) == newest_first[:3]
    assert listed(shop, path, created_to=middle) == newest_first[3:]
    # A label is no parameter here; a hosted payment's statuses are not either.
    assert listed(shop, path, terminal_label="x" * 99) == newest_first
    assert code(shop.get(path, status="pending")) == (400, "invalid_request")
    shop.post(f"/authorizations/{one['id']}/cancel")
    assert listed(shop, path) == newest_first
    # A cursor belongs to its own listing: elsewhere it starts at the first page.
    cursor = shop.get(path, limit=1).json()["pagination"]["next_cursor"]
    assert listed(shop, f"/authorizations/{two['id']}/payments", after=cursor) == ["other"]


def preview(shop: Merchant, authorization: dict[str, Any], amount: int) -> dict[str, Any]:
    response = shop.get(f"/authorizations/{authorization['id']}/charge-preview", amount=amount)
    assert response.status_code == 200, response.text
    return response.json()["data"]


def test_a_preview_says_what_remains(shop: Merchant) -> None:
    active = shop.approved(
        limits={
            "per_payment": 60,
            "period": {"interval": "month", "amount": 100},
            "total": 150,
            "max_payments": 3,
        }
    )
    shop.charge(active, 55)
    seen = preview(shop, active, 45)
    resets = datetime.fromisoformat(seen.pop("period_resets_at"))
    assert (resets.day, resets.hour, resets.minute, resets.second) == (1, 0, 0, 0)
    assert seen == {
        "amount": 45,
        "would_succeed": True,
        "code": None,
        "message": None,
        "remaining": {"per_payment": 60, "period": 45, "total": 95, "payments": 2},
    }
    for amount, expected in ((61, "per_payment_limit_exceeded"), (46, "period_limit_exceeded")):
        seen = preview(shop, active, amount)
        assert (seen["would_succeed"], seen["code"]) == (False, expected)
        assert code(shop.charge(active, amount)) == (409, expected)
    shop.advance(32 * DAY)
    assert preview(shop, active, 60)["remaining"]["period"] == 100
    shop.charge(active, 60)
    shop.control("clock", {"reset": True})
    assert preview(shop, active, 46)["code"] == "period_limit_exceeded"
    assert usage_is_unchanged(shop, active)


def usage_is_unchanged(shop: Merchant, active: dict[str, Any]) -> bool:
    usage = shop.get(f"/authorizations/{active['id']}").json()["data"]["usage"]
    return usage == {"payment_count": 2, "total_paid": 115}


def test_a_preview_knows_states_but_not_the_wallet(shop: Merchant) -> None:
    waiting = shop.authorization()
    assert preview(shop, waiting, 1)["code"] == "authorization_unapproved"
    shop.control(f"authorizations/{waiting['id']}/approve")
    shop.control("wallet", {"balance": 0, "tier": "basic"})
    seen = preview(shop, waiting, 9_999_999_999)
    assert seen["would_succeed"] is True
    assert seen["remaining"] == {
        "per_payment": None,
        "period": None,
        "total": None,
        "payments": None,
    }
    assert seen["period_resets_at"] is None
    shop.post(f"/authorizations/{waiting['id']}/cancel")
    assert preview(shop, waiting, 1)["code"] == "authorization_inactive"
    once = shop.approved(type="one_time")
    assert preview(shop, once, 1)["remaining"]["payments"] == 1


@pytest.mark.parametrize("amount", [None, "", "0", "-1", "1.5", "1e3", "abc", "10000000000", "٣"])
def test_a_preview_needs_an_amount(shop: Merchant, amount: str | None) -> None:
    query = {} if amount is None else {"amount": amount}
    response = shop.get(f"/authorizations/{shop.approved()['id']}/charge-preview", **query)
    assert code(response) == (400, "invalid_request")
    assert response.json()["error"]["field"] == "amount"
