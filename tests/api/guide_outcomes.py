"""What the program of each guide leaves behind, in whichever language it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.serving import Merchant


def prepare(guide: str, shop: Merchant) -> None:
    """What has to be there before a guide's program runs."""
    if guide == "webhooks":
        shop.payment()  # something to reconcile: nobody has received its event


def by_reference(shop: Merchant, path: str) -> dict[str, dict[str, Any]]:
    return {each["reference"]: each for each in shop.get(path).json()["data"]}


def after_quick_start(shop: Merchant, output: str) -> None:
    payments = by_reference(shop, "/payments")
    assert payments["order-1001"]["status"] == "paid"
    assert payments["order-1001"]["amount"] == 12550
    assert payments["order-1001"]["payment_url"] in output
    assert "paid" in output


def after_checkout(shop: Merchant, output: str) -> None:
    payments = by_reference(shop, "/payments")
    assert payments["order-2001"]["status"] == "pending"
    assert payments["order-2001"]["metadata"] == {"basket": "b-77"}
    assert payments["order-2002"]["status"] == "cancelled"
    assert payments["order-2001"]["payment_url"] in output


def after_payment_requests(shop: Merchant, output: str) -> None:
    requests = by_reference(shop, "/payment-requests")
    assert requests["invoice-3001"]["status"] == "paid"
    assert requests["invoice-3001"]["payment_id"] in output
    assert requests["invoice-3002"]["status"] == "cancelled"


def after_authorizations(shop: Merchant, output: str) -> None:
    authorization = by_reference(shop, "/authorizations")["member-4001"]
    assert authorization["status"] == "revoked"
    assert authorization["usage"] == {"payment_count": 2, "total_paid": 30000}
    assert authorization["approval_url"] in output
    assert "period_limit_exceeded" in output
    assert shop.control("clock", {"advance_seconds": 0})["offset_seconds"] == 31 * 86400


def after_webhooks(shop: Merchant, output: str) -> None:
    (event,) = shop.get("/events").json()["data"]
    assert event["id"] in output
    assert event["type"] in output


def after_idempotency(shop: Merchant, output: str) -> None:
    (payment,) = shop.get("/payments").json()["data"]
    assert (payment["reference"], payment["amount"]) == ("order-5001", 7500)
    assert "idempotency_conflict" in output


def after_sandbox(shop: Merchant, output: str) -> None:
    payment = by_reference(shop, "/payments")["order-6001"]
    assert payment["status"] == "expired"
    assert shop.control("wallet", {})["balance"] == 5000
    assert shop.control("clock", {"advance_seconds": 0})["offset_seconds"] == 0
    assert "insufficient_balance" in output
    assert "expired" in output


OUTCOMES: dict[str, Callable[[Merchant, str], None]] = {
    "quick-start": after_quick_start,
    "checkout": after_checkout,
    "payment-requests": after_payment_requests,
    "authorizations": after_authorizations,
    "webhooks": after_webhooks,
    "idempotency": after_idempotency,
    "sandbox": after_sandbox,
}
