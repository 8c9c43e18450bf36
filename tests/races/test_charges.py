"""Many clients charge at the same moment, against two processes."""

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


def usage(shop: Merchant, authorization: dict[str, Any]) -> tuple[int, int]:
    data = shop.get(f"/authorizations/{authorization['id']}").json()["data"]["usage"]
    return data["payment_count"], data["total_paid"]


def deadlocks(shop: Merchant) -> int:
    (row,) = shop.service.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    return row["deadlocks"]


def test_one_wallet_pays_exactly_what_it_has(shop: Merchant, at_once: AtOnce) -> None:
    """64 authorizations on one wallet with money for 37 charges."""
    authorizations = at_once(lambda _: shop.approved(), 64)
    shop.control("wallet", {"tier": "business", "balance": 37 * 100 + 99})
    before = deadlocks(shop)
    outcomes = Counter(outcome(r) for r in at_once(lambda n: shop.charge(authorizations[n], 100)))
    assert outcomes == {"paid": 37, "insufficient_balance": 27}
    assert shop.control("wallet", {})["balance"] == 99
    assert deadlocks(shop) == before
    assert audited(shop)


def charge_everything(shop: Merchant, at_once: AtOnce, count: int) -> None:
    shop.control("wallet", {"tier": "business", "balance": 10 * count})
    authorizations = at_once(
        lambda n: shop.approved(
            limits={"period": {"interval": "day", "amount": 10**18 - 1}, "total": 10**18 - 1}
        ),
        count,
    )
    before = deadlocks(shop)
    responses = at_once(lambda n: shop.charge(authorizations[n], 10), count)
    assert Counter(map(outcome, responses)) == {"paid": count}
    assert deadlocks(shop) == before
    assert shop.control("wallet", {})["balance"] == 0
    assert audited(shop)


def test_many_authorizations_without_an_error(shop: Merchant, at_once: AtOnce) -> None:
    charge_everything(shop, at_once, 200)


@pytest.mark.campaign
def test_a_thousand_authorizations_without_an_error(shop: Merchant, at_once: AtOnce) -> None:
    for _ in range(5):
        charge_everything(shop, at_once, 1_000)


def test_limits_hold_among_processes(shop: Merchant, at_once: AtOnce) -> None:
    total = shop.approved(limits={"total": 1_050})
    count = shop.approved(limits={"max_payments": 7})
    period = shop.approved(limits={"period": {"interval": "year", "amount": 500}})
    for authorization, expected, refused in (
        (total, 10, "total_limit_exceeded"),
        (count, 7, "payment_count_limit_exceeded"),
        (period, 5, "period_limit_exceeded"),
    ):
        responses = at_once(lambda _, a=authorization: shop.charge(a, 100))
        assert Counter(map(outcome, responses)) == {"paid": expected, refused: 64 - expected}
        assert usage(shop, authorization) == (expected, expected * 100)


def test_one_time_is_charged_once(shop: Merchant, at_once: AtOnce) -> None:
    once = shop.approved(type="one_time")
    outcomes = Counter(outcome(r) for r in at_once(lambda _: shop.charge(once, 100)))
    assert outcomes == {"paid": 1, "authorization_inactive": 63}
    assert audited(shop)


def test_equal_charges_all_answer_the_one_payment(shop: Merchant, at_once: AtOnce) -> None:
    """Also where that one payment has used the authorization and the wallet up."""
    for number in range(5):
        once = shop.approved(type="one_time")
        shop.control("wallet", {"balance": 100})
        responses = at_once(lambda _, o=once, n=number: shop.charge(o, 100, f"same-{n}"))
        assert {response.status_code for response in responses} == {201}
        assert len({response.content for response in responses}) == 1
        assert shop.control("wallet", {})["balance"] == 0


def test_one_reference_is_won_by_one_authorization(shop: Merchant, at_once: AtOnce) -> None:
    authorizations = at_once(lambda _: shop.approved(), 8)
    outcomes = Counter(
        outcome(r) for r in at_once(lambda n: shop.charge(authorizations[n % 8], 100, "won"))
    )
    assert outcomes == {"paid": 8, "reference_conflict": 56}
    assert len(shop.get("/payments").json()["data"]) == 1


def test_equal_creations_make_one_authorization(shop: Merchant, at_once: AtOnce) -> None:
    body = {"title": "Box"}
    responses = at_once(
        lambda n: shop.post("/authorizations", {**body, "reference": f"same-{n % 3}"})
    )
    assert {response.status_code for response in responses} == {201}
    assert len({response.json()["data"]["id"] for response in responses}) == 3
    assert audited(shop)


def test_cancelling_and_charging_have_one_order(shop: Merchant, at_once: AtOnce) -> None:
    active = shop.approved()
    paths = (f"/authorizations/{active['id']}/cancel", f"/authorizations/{active['id']}/charge")
    responses = at_once(
        lambda n: shop.post(paths[n % 2], {"reference": f"c{n}", "amount": 1} if n % 2 else None)
    )
    outcomes = Counter(map(outcome, responses))
    assert outcomes["revoked"] == 32
    assert set(outcomes) <= {"revoked", "paid", "authorization_inactive"}
    assert usage(shop, active)[0] == outcomes["paid"]
    assert shop.events(active["id"]).count("authorization.revoked") == 1
