"""Many clients, two processes, one truth."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.serving import Merchant

pytestmark = pytest.mark.ci

AtOnce = Callable[..., list[Any]]


def outcome(response: httpx.Response) -> str:
    body = response.json()
    return body["error"]["code"] if "error" in body else body["data"]["status"]


def audited(shop: Merchant) -> bool:
    result = shop.service.laari("audit", "--json")
    assert result.returncode == 0, result.stdout
    return True


def test_equal_creations_make_one_payment(shop: Merchant, at_once: AtOnce) -> None:
    body = {"reference": "same", "amount": 100}
    responses = at_once(lambda _: shop.post("/payments", body))
    assert {response.status_code for response in responses} == {201}
    assert len({response.json()["data"]["id"] for response in responses}) == 1
    (payment,) = shop.get("/payments").json()["data"]
    assert shop.events(payment["id"]) == ["payment.created"]


def test_creations_with_different_amounts_have_one_winner(shop: Merchant, at_once: AtOnce) -> None:
    responses = at_once(lambda n: shop.post("/payments", {"reference": "same", "amount": n + 1}))
    counts = Counter(response.status_code for response in responses)
    assert counts == {201: 1, 409: len(responses) - 1}
    assert {outcome(r) for r in responses if r.is_error} == {"reference_conflict"}


def test_many_different_payments_at_once(shop: Merchant, at_once: AtOnce) -> None:
    responses = at_once(
        lambda n: shop.post("/payments", {"reference": f"r{n}", "amount": n + 1}), 512
    )
    assert {response.status_code for response in responses} == {201}
    assert len({response.json()["data"]["id"] for response in responses}) == 512


def test_one_key_does_its_work_once(shop: Merchant, at_once: AtOnce) -> None:
    body = {"reference": "keyed", "amount": 100}
    responses = at_once(lambda _: shop.post("/payments", body, Idempotency_Key="k"))
    outcomes = Counter(map(outcome, responses))
    assert set(outcomes) <= {"pending", "idempotency_in_progress"}
    done = {response.content for response in responses if response.is_success}
    assert len(done) == 1
    originals = [r for r in responses if r.is_success and "Idempotent-Replayed" not in r.headers]
    assert len(originals) == 1
    ((replays,),) = shop.service.execute(
        "SELECT s.replays FROM saved_responses s JOIN tenants t ON t.id = s.tenant_id "
        "WHERE t.merchant_id = $1",
        shop.id,
    )
    assert replays == sum("Idempotent-Replayed" in r.headers for r in responses)


def test_one_key_with_different_bodies_has_one_winner(shop: Merchant, at_once: AtOnce) -> None:
    responses = at_once(
        lambda n: shop.post("/payments", {"reference": f"k{n}", "amount": 1}, Idempotency_Key="k")
    )
    outcomes = Counter(map(outcome, responses))
    assert outcomes["pending"] == 1
    assert set(outcomes) <= {"pending", "idempotency_in_progress", "idempotency_conflict"}
    assert len(shop.get("/payments").json()["data"]) == 1


def test_a_payment_is_paid_once(shop: Merchant, at_once: AtOnce) -> None:
    payment = shop.payment(amount=1_000)
    path = f"/sandbox/payments/{payment['id']}/pay"
    outcomes = Counter(outcome(r) for r in at_once(lambda _: shop.post(path)))
    assert outcomes["paid"] == 1
    assert set(outcomes) == {"paid", "payment_conflict"}
    assert shop.control("wallet", {})["balance"] == 10_000_000 - 1_000
    assert audited(shop)


def test_a_wallet_is_never_overspent(shop: Merchant, at_once: AtOnce) -> None:
    payments = [shop.payment(amount=100) for _ in range(64)]
    shop.control("wallet", {"balance": 2_350})
    outcomes = Counter(
        outcome(r)
        for r in at_once(lambda n: shop.post(f"/sandbox/payments/{payments[n]['id']}/pay"))
    )
    assert outcomes == {"paid": 23, "insufficient_balance": 41}
    assert shop.control("wallet", {})["balance"] == 50
    assert audited(shop)


def test_pay_cancel_and_reject_have_one_winner(shop: Merchant, at_once: AtOnce) -> None:
    for _ in range(5):
        payment = shop.payment()
        paths = (
            f"/sandbox/payments/{payment['id']}/pay",
            f"/sandbox/payments/{payment['id']}/reject",
            f"/payments/{payment['id']}/cancel",
        )
        responses = at_once(lambda n, paths=paths: shop.post(paths[n % 3]), 12)
        final = shop.get(f"/payments/{payment['id']}").json()["data"]["status"]
        won = {outcome(response) for response in responses if response.is_success}
        assert won == {final}
    assert audited(shop)


def test_reading_an_overdue_payment_at_once_expires_it_once(
    shop: Merchant, at_once: AtOnce
) -> None:
    payment = shop.payment()
    shop.advance(25 * 3600)
    statuses = at_once(lambda _: outcome(shop.get(f"/payments/{payment['id']}")))
    assert set(statuses) == {"expired"}
    assert shop.events(payment["id"]) == ["payment.created", "payment.expired"]
    assert audited(shop)


def test_references_met_crosswise_do_not_deadlock(shop: Merchant, at_once: AtOnce) -> None:
    """Two processes that insert the same references in opposite orders must not wait in a ring."""
    references = [f"x{n}" for n in range(16)]

    def create(n: int) -> int:
        reference = references[n % 16] if n < 32 else references[-1 - n % 16]
        return shop.post("/payments", {"reference": reference, "amount": 1}).status_code

    assert set(at_once(create)) == {201}
    deadlocks = shop.service.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    assert deadlocks[0]["deadlocks"] == 0
