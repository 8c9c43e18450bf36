"""Every sample of the guides runs, in every language, and does what its page says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from laari.edge.guide_text import LANGUAGES
from laari.edge.guides import GUIDES
from tests.api.guide_samples import RUN, WITH_SAMPLES, blocks, run, samples
from tests.serving import Merchant


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


@pytest.mark.parametrize("language", RUN)
@pytest.mark.parametrize("guide", OUTCOMES)
def test_a_page_does_what_it_says(
    guide: str, language: str, shop: Merchant, tmp_path: Path
) -> None:
    if guide == "webhooks":
        shop.payment()  # something to reconcile: nobody has received its event
    given = {"LAARI": shop.service.origin, "SECRET_KEY": shop.secret_key}
    ended = run(guide, language, tmp_path, given)
    OUTCOMES[guide](shop, ended.output)
    if language == "sh":
        refused = [block.value("refused") for block in samples(guide, "sh")]
        expected = [int(status) for status in refused if status]
        assert [status for status in ended.statuses if status >= 400] == expected


def test_no_page_with_samples_is_left_out() -> None:
    assert OUTCOMES.keys() == set(WITH_SAMPLES)


@pytest.mark.parametrize("guide", OUTCOMES)
def test_what_is_shown_in_one_language_is_shown_in_all(guide: str) -> None:
    numbers = {language: len(samples(guide, language)) for language in LANGUAGES}
    assert len(set(numbers.values())) == 1, numbers


def test_what_is_not_run_is_known() -> None:
    """Installing, starting and exporting; the receivers and the trainer have their own test."""
    left = [
        (guide, block.code.split("\n")[0])
        for guide in GUIDES
        for block in blocks(guide)
        if block.language in LANGUAGES and "by-hand" in block.words
    ]
    assert left == [
        ("quick-start", "python3 -m venv laari-env"),
        ("quick-start", "export LAARI=http://127.0.0.1:8000"),
        (
            "webhooks",
            "laari webhook train http://127.0.0.1:8080/hook --secret -   # asks for the secret key",
        ),
    ]
