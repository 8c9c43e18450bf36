"""Payment requests and tokens under many clients and two processes."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.serving import Merchant, ask_for_token

pytestmark = pytest.mark.ci

AtOnce = Callable[..., list[Any]]

VPA = {"type": "vpa", "value": "sandbox"}


def outcome(response: httpx.Response) -> str:
    body = response.json()
    return body["error"]["code"] if "error" in body else body["data"]["status"]


def audited(shop: Merchant) -> bool:
    result = shop.service.laari("audit", "--json")
    assert result.returncode == 0, result.stdout
    return True


def test_a_reference_has_one_winner_across_payments_requests_and_charges(
    shop: Merchant, at_once: AtOnce
) -> None:
    authorization = shop.approved()

    def create(n: int) -> httpx.Response:
        body = {"reference": "same", "amount": 100}
        match n % 3:
            case 0:
                return shop.post("/payments", body)
            case 1:
                return shop.post("/payment-requests", {**body, "customer": VPA})
            case _:
                return shop.charge(authorization, 100, "same")

    responses = list(enumerate(at_once(create)))
    made = {n: response.json()["data"]["id"] for n, response in responses if response.is_success}
    assert len(set(made.values())) == 1
    # All of the winner's kind are its retries, all of the other kinds were too late.
    (winner,) = {n % 3 for n in made}
    assert len(made) == sum(n % 3 == winner for n, _ in responses)
    lost = {outcome(response) for n, response in responses if n not in made}
    assert lost == {"reference_conflict"}
    listed = [
        each["id"]
        for path in ("/payments", "/payment-requests")
        for each in shop.get(path).json()["data"]
    ]
    assert listed == list(set(made.values()))
    assert audited(shop)


def test_requests_that_differ_have_one_winner(shop: Merchant, at_once: AtOnce) -> None:
    def create(n: int) -> httpx.Response:
        body = {"reference": "same", "amount": 1, "customer": VPA, "title": f"title {n}"}
        return shop.post("/payment-requests", body)

    outcomes = Counter(outcome(response) for response in at_once(create))
    assert outcomes == {"pending": 1, "reference_conflict": outcomes.total() - 1}


def test_a_request_is_paid_once(shop: Merchant, at_once: AtOnce) -> None:
    request = shop.request(amount=1_000)
    path = f"/sandbox/payment-requests/{request['id']}/pay"
    outcomes = Counter(outcome(response) for response in at_once(lambda _: shop.post(path)))
    assert outcomes["paid"] == 1
    assert set(outcomes) == {"paid", "payment_conflict"}
    assert len(shop.get("/payments").json()["data"]) == 1
    assert shop.control("wallet", {})["balance"] == 10_000_000 - 1_000
    assert audited(shop)


def test_paying_rejecting_and_cancelling_have_one_winner(shop: Merchant, at_once: AtOnce) -> None:
    request = shop.request()
    sandbox = f"/sandbox/payment-requests/{request['id']}"
    paths = (f"{sandbox}/pay", f"{sandbox}/reject", f"/payment-requests/{request['id']}/cancel")
    outcomes = {outcome(response) for response in at_once(lambda n: shop.post(paths[n % 3]))}
    final = shop.get(f"/payment-requests/{request['id']}").json()["data"]["status"]
    refusals = {"payment_conflict", "payment_request_not_cancellable"}
    assert outcomes - refusals == {final}
    assert shop.events(request["id"]) == ["payment_request.created", f"payment_request.{final}"]
    assert audited(shop)


def test_a_request_expires_once(shop: Merchant, at_once: AtOnce) -> None:
    request = shop.request()
    shop.advance(86_401)

    def read(n: int) -> httpx.Response:
        return shop.get("/payment-requests") if n % 2 else shop.get(path)

    path = f"/payment-requests/{request['id']}"
    assert {response.status_code for response in at_once(read)} == {200}
    assert shop.events(request["id"]) == ["payment_request.created", "payment_request.expired"]


def test_tokens_work_on_every_process_as_soon_as_they_are_given(
    shop: Merchant, at_once: AtOnce
) -> None:
    client = shop.client()

    def take_and_use(_: int) -> int:
        token = ask_for_token(shop.service, auth=client).json()["access_token"]
        header = {"Authorization": f"Bearer {token}"}
        # A connection of its own may reach the other process.
        return httpx.get(f"{shop.service.origin}/merchant/payments", headers=header).status_code

    assert set(at_once(take_and_use)) == {200}
