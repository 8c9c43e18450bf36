"""Events over HTTP: exact bytes, delivery state, filters, pages, ownership."""

import asyncio
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from laari.rules import ids
from laari.rules.events import EVENTS, sample_event
from laari.store.outbox import deliveries
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.serving import Merchant, Service


def test_an_event_is_shown_exactly_as_it_was_frozen(shop: Merchant) -> None:
    payment = shop.payment(metadata={"ދިވެހި": "☂", "b": "", "a": "1"})
    (listed,) = shop.get("/events").json()["data"]
    assert listed["type"] == "payment.created"
    assert listed["data"] == payment
    assert listed["delivery"] is None  # no webhook is set
    ((frozen,),) = shop.service.execute(
        "SELECT body FROM events WHERE id = $1::uuid", listed["id"].removeprefix("evt_")
    )
    response = shop.get(f"/events/{listed['id']}")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert response.content == b'{"data":' + frozen[:-1] + b',"delivery":null}}'
    assert json.loads(frozen) == {k: v for k, v in listed.items() if k != "delivery"}


@pytest.mark.parametrize("scope", ["payments:read", "payment_requests:read", "authorizations:read"])
def test_a_sample_is_read_with_any_scope_to_read(shop: Merchant, scope: str) -> None:
    sample = send_sample(shop)
    shop.payment()
    reader = shop.bearer(shop.token(scope))
    shown = reader.get(f"/events/{sample}")
    assert (shown.status_code, shown.json()["data"]["type"]) == (200, "webhook.test")
    assert sample in [event["id"] for event in reader.get("/events").json()["data"]]
    other = shop.bearer(shop.token("payments:create"))
    assert other.get(f"/events/{sample}").status_code == 403


def test_an_event_that_was_removed_is_unknown_and_pages_go_on(shop: Merchant) -> None:
    for _ in range(6):
        shop.payment()
    first = shop.get("/events?limit=2").json()
    shown = [event["id"] for event in shop.get("/events").json()["data"]]
    gone = shown[1:4]  # the one that the cursor stands at, and the next ones
    with removed(shop, gone):
        rest = shop.get(f"/events?limit=2&after={first['pagination']['next_cursor']}").json()
        assert [event["id"] for event in rest["data"]] == shown[4:]
        assert rest["pagination"]["has_more"] is False
        missing = shop.get(f"/events/{gone[0]}")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


@contextmanager
def removed(shop: Merchant, event_ids: list[str]) -> Iterator[None]:
    """Without these events; others audit the same database, so they come back."""

    async def remove() -> list[asyncpg.Record]:
        async with connection_to(shop.service.dsn) as connection:
            return await connection.fetch(
                "DELETE FROM events WHERE id = ANY($1::uuid[]) RETURNING *",
                [each.removeprefix("evt_") for each in event_ids],
            )

    async def put_back(rows: list[asyncpg.Record]) -> None:
        async with connection_to(shop.service.dsn) as connection:
            await connection.copy_records_to_table("events", records=rows)

    rows = asyncio.run(remove())
    assert len(rows) == len(event_ids)
    yield
    asyncio.run(put_back(rows))


def send_sample(shop: Merchant) -> str:
    """As the dashboard sends one."""

    async def send() -> str:
        async with connection_to(shop.service.dsn) as connection:
            tenant = await tenants.of_merchant(connection, shop.id, "sandbox")
            sample = sample_event(tenant, datetime.now(UTC), os.urandom)
            await deliveries.save_events(connection, [sample])
        return ids.show_id(ids.EVENT, sample.id)

    return asyncio.run(send())


def test_every_change_is_an_event_newest_first(shop: Merchant) -> None:
    first, second = shop.payment(), shop.payment()
    shop.control(f"payments/{first['id']}/pay")
    shop.post(f"/payments/{second['id']}/cancel")
    shop.post(f"/payments/{second['id']}/cancel")
    events = shop.get("/events").json()["data"]
    assert [(event["type"], event["data"]["id"]) for event in events] == [
        ("payment.cancelled", second["id"]),
        ("payment.paid", first["id"]),
        ("payment.created", second["id"]),
        ("payment.created", first["id"]),
    ]
    assert all(event["mode"] == "sandbox" for event in events)
    paid = shop.get("/events", type="payment.paid").json()
    assert [event["data"]["id"] for event in paid["data"]] == [first["id"]]
    assert paid["pagination"] == {"limit": 20, "has_more": False, "next_cursor": None}


def _set_delivery(shop: Merchant, event_id: str, status: str) -> None:
    delivered_at = "now()" if status == "delivered" else "NULL"
    shop.service.execute(
        "INSERT INTO deliveries "
        "(event_id, tenant_id, status, failed_attempts, delivered_at, next_attempt_at) "
        f"SELECT id, tenant_id, $2, 0, {delivered_at}, now() + interval '1 day' "  # not to be tried
        "FROM events WHERE id = $1::uuid",
        event_id.removeprefix("evt_"),
        status,
    )


@pytest.fixture
def unmade_deliveries(shop: Merchant) -> Iterator[None]:
    """Takes deliveries back that were never tried: the audits of other tests would find them."""
    yield
    shop.service.execute(
        "DELETE FROM deliveries WHERE tenant_id IN (SELECT id FROM tenants WHERE merchant_id = $1)",
        shop.id,
    )


@pytest.mark.usefixtures("unmade_deliveries")
def test_undelivered_events_can_be_fetched(shop: Merchant) -> None:
    for _ in range(4):
        shop.payment()
    ids = [event["id"] for event in shop.get("/events").json()["data"]]
    _set_delivery(shop, ids[0], "delivered")
    _set_delivery(shop, ids[1], "failed")
    _set_delivery(shop, ids[2], "pending")

    def listed(**query: Any) -> list[tuple[str, str | None]]:
        data = shop.get("/events", **query).json()["data"]
        return [(event["id"], (event["delivery"] or {}).get("status")) for event in data]

    assert listed(delivered="false") == [(ids[1], "failed"), (ids[2], "pending"), (ids[3], None)]
    assert listed(delivered="true") == [(ids[0], "delivered")]
    pending = shop.get(f"/events/{ids[2]}").json()["data"]["delivery"]
    assert pending["attempts"] == 0
    assert pending["next_attempt_at"].endswith("+05:00")
    failed = shop.get(f"/events/{ids[1]}").json()["data"]["delivery"]
    assert failed == {"status": "failed", "attempts": 0, "next_attempt_at": None}


def test_pages_cover_everything_once(shop: Merchant) -> None:
    for _ in range(5):
        shop.payment()
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": "2", "delivered": "false"} | ({"after": cursor} if cursor else {})
        page = shop.get("/events", **query).json()
        seen += [event["id"] for event in page["data"]]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 5


@pytest.mark.parametrize(
    "query",
    [{"delivered": "yes"}, {"delivered": ""}, {"type": "payment.exploded"}, {"limit": "x"}],
)
def test_wrong_filters_are_refused(shop: Merchant, query: dict[str, str]) -> None:
    response = shop.get("/events", **query)
    assert response.status_code == 400
    assert response.json()["error"]["field"] == next(iter(query))


def test_events_of_others_are_not_found(service: Service, shop: Merchant) -> None:
    shop.payment()
    event_id = shop.get("/events").json()["data"][0]["id"]
    other = service.merchant()
    assert other.get("/events").json()["data"] == []
    assert other.get(f"/events/{event_id}").json()["error"]["code"] == "not_found"
    assert shop.get("/events/evt_0").status_code == 404
    assert shop.post("/events").status_code == 405


def test_every_type_happens_once_each(shop: Merchant) -> None:
    """Each twice over where a repetition is allowed: a second time is no second event."""
    paid, cancelled = shop.payment(), shop.payment()
    shop.control(f"payments/{paid['id']}/pay")
    for _ in range(2):
        shop.post(f"/payments/{cancelled['id']}/cancel")
    requests = {action: _request(shop) for action in ("pay", "reject", "cancel", "expire")}
    shop.control(f"payment-requests/{requests['pay']}/pay")
    shop.control(f"payment-requests/{requests['reject']}/reject")
    for _ in range(2):
        shop.post(f"/payment-requests/{requests['cancel']}/cancel")
    authorizations = {action: _authorization(shop) for action in ("revoke", "reject", "cancel")}
    shop.control(f"authorizations/{authorizations['revoke']}/approve")
    shop.control(f"authorizations/{authorizations['reject']}/reject")
    for _ in range(2):
        shop.post(f"/authorizations/{authorizations['cancel']}/cancel")
        shop.post(f"/authorizations/{authorizations['revoke']}/cancel")
    for status in (201, 409):
        assert shop.post(f"/payments/{paid['id']}/refunds", {}).status_code == status
    expired = shop.payment()
    shop.advance(25 * 3600)
    for _ in range(2):
        shop.get(f"/payments/{expired['id']}")
        shop.get("/payments")
        shop.get(f"/payment-requests/{requests['expire']}")
    events = shop.get("/events", limit="100").json()["data"]
    payouts = {"payout.sent", "payout.settled", "payout.returned"}  # in test_payouts
    assert {event["type"] for event in events} == set(EVENTS) - payouts
    told = [(event["type"], event["data"]["id"]) for event in events]
    assert len(told) == len(set(told)) == 23
    assert len({event["id"] for event in events}) == 23


def _request(shop: Merchant) -> str:
    customer = {"type": "vpa", "value": "sandbox"}
    body = {"reference": secrets.token_hex(8), "amount": 100, "customer": customer}
    response = shop.post("/payment-requests", body)
    assert response.status_code == 201, response.text
    return str(response.json()["data"]["id"])


def _authorization(shop: Merchant) -> str:
    response = shop.post("/authorizations", {"reference": secrets.token_hex(8), "title": "Water"})
    assert response.status_code == 201, response.text
    return str(response.json()["data"]["id"])
