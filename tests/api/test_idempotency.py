"""Idempotency-Key on POST /payments."""

from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service

BODY: dict[str, Any] = {"reference": "idem", "amount": 100}


def create(shop: Merchant, body: Any = None, key: str = "key-1", **headers: str) -> httpx.Response:
    return shop.post("/payments", BODY if body is None else body, Idempotency_Key=key, **headers)


def test_a_repeated_request_is_replayed_exactly(shop: Merchant) -> None:
    first = create(shop)
    assert first.status_code == 201
    assert "Idempotent-Replayed" not in first.headers
    shop.post(f"/payments/{first.json()['data']['id']}/cancel")
    again = create(shop, {"amount": 100, "reference": "idem"})
    assert again.status_code == 201
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    "other",
    [
        {**BODY, "amount": 101},
        {**BODY, "amount": 100.0},
        {**BODY, "amount": "100"},
        {**BODY, "title": None},
        {**BODY, "metadata": {}},
        {"reference": "idem"},
        {**BODY, "reference": "other"},
    ],
)
def test_other_data_under_the_key_is_a_conflict(shop: Merchant, other: Any) -> None:
    create(shop)
    response = create(shop, other)
    assert response.status_code == 409
    assert response.json()["error"]["code"] == "idempotency_conflict"
    assert len(shop.get("/payments").json()["data"]) == 1


def test_a_refusal_of_fields_is_saved_and_replayed(shop: Merchant) -> None:
    bad = {"reference": "idem", "amount": 0}
    first = create(shop, bad)
    assert first.status_code == 400
    again = create(shop, bad)
    assert (again.status_code, again.content) == (400, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert create(shop).json()["error"]["code"] == "idempotency_conflict"


def test_a_conflict_of_references_is_saved(shop: Merchant) -> None:
    shop.payment(reference="idem", amount=5)
    first = create(shop)
    assert first.json()["error"]["code"] == "reference_conflict"
    assert create(shop).headers["Idempotent-Replayed"] == "true"


def test_a_matching_reference_under_another_key_returns_the_original(shop: Merchant) -> None:
    first = create(shop, key="one")
    second = create(shop, key="two")
    assert second.json() == first.json()
    assert "Idempotent-Replayed" not in second.headers


def test_keys_are_per_merchant_and_mode(service: Service, shop: Merchant) -> None:
    first = create(shop)
    other = create(service.merchant())
    assert other.json()["data"]["id"] != first.json()["data"]["id"]
    service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", shop.id)
    live = create(shop)
    assert live.json()["data"]["id"] != first.json()["data"]["id"]


def test_keys_are_case_sensitive(shop: Merchant) -> None:
    create(shop, key="Key")
    other = create(shop, {"reference": "other", "amount": 1}, key="key")
    assert other.status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ké", "tab\tbed"])
def test_bad_keys_are_refused(shop: Merchant, key: str) -> None:
    response = shop.http.post(
        "/payments", json=BODY, headers={b"Idempotency-Key": key.encode("latin-1")}
    )
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_idempotency_key"
    assert shop.get("/payments").json()["data"] == []


@pytest.mark.parametrize("key", ["!", "~" * 255, "a,b;c='\""])
def test_keys_at_the_bounds(shop: Merchant, key: str) -> None:
    assert create(shop, key=key).status_code == 201
    assert create(shop, key=key).headers["Idempotent-Replayed"] == "true"


def test_two_keys_in_one_request_are_no_key(shop: Merchant) -> None:
    response = shop.http.post(
        "/payments", json=BODY, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    )
    assert response.json()["error"]["code"] == "invalid_idempotency_key"


def test_what_fails_before_the_body_is_read_reserves_nothing(shop: Merchant) -> None:
    malformed = shop.http.post(
        "/payments",
        content=b"{",
        headers={"Idempotency-Key": "k", "Content-Type": "application/json"},
    )
    assert malformed.json()["error"]["code"] == "invalid_json"
    stranger = shop.http.post(
        "/payments", json=BODY, headers={"Idempotency-Key": "k", "X-API-Key": "wrong"}
    )
    assert stranger.status_code == 401
    assert create(shop, key="k").status_code == 201


def test_a_completed_key_may_be_reused_after_24_hours(shop: Merchant) -> None:
    create(shop)
    shop.advance(24 * 3600 - 60)
    assert create(shop).headers["Idempotent-Replayed"] == "true"
    shop.advance(61)
    fresh = create(shop, {"reference": "new", "amount": 7})
    assert fresh.status_code == 201
    assert fresh.json()["data"]["reference"] == "new"
    assert create(shop, {"reference": "new", "amount": 7}).headers["Idempotent-Replayed"] == "true"


def test_the_header_is_ignored_where_it_does_not_apply(shop: Merchant) -> None:
    payment = shop.payment()
    response = shop.post(f"/payments/{payment['id']}/cancel", Idempotency_Key="not a key")
    assert response.status_code == 200


def replays_of(shop: Merchant, key: str) -> tuple[int, bool]:
    ((count, last),) = shop.service.execute(
        "SELECT s.replays, s.last_replayed_at FROM saved_responses s "
        "JOIN tenants t ON t.id = s.tenant_id WHERE t.merchant_id = $1 AND s.key = $2",
        shop.id,
        key,
    )
    return count, last is not None


def test_replays_are_counted_and_begin_anew_with_the_key(shop: Merchant) -> None:
    create(shop, key="k")
    assert replays_of(shop, "k") == (0, False)
    for _ in range(3):
        assert create(shop, key="k").headers["Idempotent-Replayed"] == "true"
    assert create(shop, {"reference": "other", "amount": 7}, key="k").status_code == 409
    assert replays_of(shop, "k") == (3, True)
    shop.advance(24 * 3600 + 1)
    create(shop, {"reference": "other", "amount": 7}, key="k")
    assert replays_of(shop, "k") == (0, False)


def resources_of(shop: Merchant) -> dict[str, str | None]:
    """What each saved response is about, by its key."""
    rows = shop.service.execute(
        "SELECT s.key, s.resource_id FROM saved_responses s "
        "JOIN tenants t ON t.id = s.tenant_id WHERE t.merchant_id = $1",
        shop.id,
    )
    return {key: None if found is None else f"pay_{found.hex}" for key, found in rows}


def test_a_saved_response_names_what_it_shows(shop: Merchant) -> None:
    body = {"reference": "named", "amount": 7}
    payment = create(shop, body, key="first").json()["data"]["id"]
    create(shop, body, key="same-payment")
    create(shop, {**body, "amount": 8}, key="refused")
    assert resources_of(shop) == {"first": payment, "same-payment": payment, "refused": None}
    shop.advance(24 * 3600 + 1)
    other = create(shop, {"reference": "another", "amount": 7}, key="first").json()["data"]["id"]
    assert resources_of(shop)["first"] == other


def test_a_response_that_was_saved_without_a_name_is_replayed(shop: Merchant) -> None:
    """As an older version of the service left it."""
    first = create(shop, key="old")
    shop.service.execute("UPDATE saved_responses SET resource_id = NULL WHERE key = 'old'")
    again = create(shop, key="old")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
