"""What the program of each guide leaves behind, in whichever language it is written."""

import re
from collections.abc import Callable
from typing import Any

from tests.serving import Merchant

NUMBER = "[0-9a-f]+"  # the time, as each language tells it


def prepare(guide: str, shop: Merchant) -> None:
    """What has to be there before a guide's program runs."""
    if guide == "webhooks":
        shop.payment()  # something to reconcile: nobody has received its event


def newest(shop: Merchant, path: str, like: str) -> dict[str, Any]:
    """The newest one whose whole reference matches, such as `order-1814431329`."""
    found: dict[str, Any] = next(
        each
        for each in shop.get(path, limit=100).json()["data"]
        if re.fullmatch(like, each["reference"])
    )
    return found


def after_quick_start(shop: Merchant, output: str) -> None:
    payment = newest(shop, "/payments", f"order-{NUMBER}")
    assert payment["status"] == "paid"
    assert payment["amount"] == 12550
    assert payment["payment_url"] in output
    assert "paid" in output


def after_checkout(shop: Merchant, output: str) -> None:
    payment = newest(shop, "/payments", f"trip-{NUMBER}")
    assert payment["status"] == "cancelled"
    assert "pending" in output
    assert payment["metadata"] == {"basket": "b-77"}
    assert payment["payment_url"] in output


def after_payment_requests(shop: Merchant, output: str) -> None:
    request = newest(shop, "/payment-requests", f"invoice-{NUMBER}")
    assert request["status"] == "paid"
    assert request["payment_id"] in output


def after_authorizations(shop: Merchant, output: str) -> None:
    authorization = newest(shop, "/authorizations", f"member-{NUMBER}")
    assert authorization["status"] == "revoked"
    assert authorization["usage"] == {"payment_count": 1, "total_paid": 15000}
    assert authorization["approval_url"] in output
    assert "period_limit_exceeded" in output


def after_refunds_and_payouts(shop: Merchant, output: str) -> None:
    payment = newest(shop, "/payments", f"lamp-{NUMBER}")
    (refund,) = shop.get(f"/payments/{payment['id']}/refunds").json()["data"]
    assert (refund["amount"], refund["reason"]) == (2500, "requested_by_customer")
    assert refund["id"] in output
    payout = shop.get("/payouts").json()["data"][0]
    assert payout["status"] == "settled"
    assert payment["id"] in output  # in the movements


def after_webhooks(shop: Merchant, output: str) -> None:
    event = shop.get("/events", delivered="false").json()["data"][0]
    assert event["id"] in output
    assert event["type"] in output


def after_idempotency(shop: Merchant, output: str) -> None:
    payment = newest(shop, "/payments", f"basket-{NUMBER}")
    assert payment["amount"] == 7500
    assert output.count(payment["id"]) == 2  # the first request and its retry


def after_sandbox(shop: Merchant, output: str) -> None:
    assert newest(shop, "/payments", f"towel-{NUMBER}")["status"] == "expired"
    assert "insufficient_balance" in output
    assert "expired" in output


def after_any(shop: Merchant) -> None:
    """What the next sample relies on: real time, and a customer who has money."""
    assert shop.control("clock", {"advance_seconds": 0})["offset_seconds"] == 0
    assert shop.control("wallet", {})["balance"] > 1_000_000


OUTCOMES: dict[str, Callable[[Merchant, str], None]] = {
    "quick-start": after_quick_start,
    "checkout": after_checkout,
    "payment-requests": after_payment_requests,
    "authorizations": after_authorizations,
    "refunds-and-payouts": after_refunds_and_payouts,
    "webhooks": after_webhooks,
    "idempotency": after_idempotency,
    "sandbox": after_sandbox,
}
