"""Rows held by somebody else: the batch waits, splits, and answers what it cannot get."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from laari.store.postgres.pool import connection_to
from tests.databases import Engine
from tests.serving import Merchant, Service, serving

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def pair(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """It waits for a lock as long as in production."""
    dsn, folder = engine.migrated("locks"), tmp_path_factory.mktemp("locks")
    with serving(dsn, folder, workers=2, in_earnest=True) as service:
        yield service


def test_a_held_payment_is_a_conflict_and_delays_its_neighbours_little(shop: Merchant) -> None:
    held, free = shop.payment(), shop.payment()

    async def hold() -> tuple[int, int]:
        async with connection_to(shop.service.dsn) as connection:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(
                "SELECT FROM payments WHERE id = $1::uuid FOR UPDATE",
                held["id"].partition("_")[2],
            )
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(2) as pool:
                answers = await asyncio.gather(
                    *(
                        loop.run_in_executor(pool, shop.post, f"/payments/{p['id']}/cancel")
                        for p in (held, free)
                    )
                )
            await transaction.rollback()
        return answers[0].status_code, answers[1].status_code

    assert asyncio.run(hold()) == (409, 200)  # the client gives up earlier than the other lets go
    assert shop.post(f"/payments/{held['id']}/cancel").status_code == 200


@pytest.mark.parametrize("kind", ["payments", "payment-requests"])
def test_reading_what_is_overdue_and_held_answers_it_as_it_is(shop: Merchant, kind: str) -> None:
    """It expires at the next reading: a reader is never told of a conflict."""
    asked = shop.payment() if kind == "payments" else shop.request()
    shop.advance(25 * 3600)
    statuses = []

    async def hold() -> None:
        async with connection_to(shop.service.dsn) as connection, connection.transaction():
            await connection.execute(
                f"SELECT FROM {kind.replace('-', '_')} WHERE id = $1::uuid FOR UPDATE",
                asked["id"].partition("_")[2],
            )
            for path in (f"/{kind}/{asked['id']}", f"/{kind}"):
                answer = await asyncio.to_thread(shop.get, path)
                assert answer.status_code == 200, answer.text
                data = answer.json()["data"]
                statuses.append((data[0] if isinstance(data, list) else data)["status"])

    asyncio.run(hold())
    assert statuses == ["pending", "pending"]
    assert shop.get(f"/{kind}/{asked['id']}").json()["data"]["status"] == "expired"


def test_a_key_that_another_process_works_under_is_in_progress(shop: Merchant) -> None:
    from laari.store.batch.loaders.advisory_locks import lock_number

    tenant_id = shop.service.execute(
        "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'sandbox'", shop.id
    )[0]["id"]
    number = lock_number((tenant_id, "create_payment", "held"))
    body = {"reference": "under-key", "amount": 1}

    async def hold() -> tuple[int, str]:
        async with connection_to(shop.service.dsn) as connection:
            await connection.execute("SELECT pg_advisory_lock($1)", number)
            response = await asyncio.to_thread(shop.post, "/payments", body, Idempotency_Key="held")
            return response.status_code, response.json()["error"]["code"]

    assert asyncio.run(hold()) == (409, "idempotency_in_progress")
    assert shop.get("/payments").json()["data"] == []
    assert shop.post("/payments", body, Idempotency_Key="held").status_code == 201


def test_a_held_authorization_is_in_progress(shop: Merchant) -> None:
    """The row lock is the processing lock: whoever holds it, others are told to come back."""
    held, free = shop.approved(), shop.approved()
    number = held["id"].partition("_")[2]

    def charge(authorization: dict[str, Any], **headers: str) -> httpx.Response:
        body = {"reference": f"on-{authorization['id']}", "amount": 10}
        return shop.post(f"/authorizations/{authorization['id']}/charge", body, **headers)

    calls: list[Callable[[], httpx.Response]] = [
        lambda: charge(held, Idempotency_Key="held"),
        lambda: charge(free),
        lambda: shop.post(f"/authorizations/{held['id']}/cancel"),
        lambda: shop.post(f"/sandbox/authorizations/{held['id']}/suspend"),
    ]

    async def while_held() -> list[httpx.Response]:
        async with connection_to(shop.service.dsn) as connection, connection.transaction():
            await connection.execute(
                "SELECT FROM authorizations WHERE id = $1::uuid FOR UPDATE", number
            )
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(len(calls)) as pool:
                running = [loop.run_in_executor(pool, call) for call in calls]
                return await asyncio.gather(*running)

    bodies = [response.json() for response in asyncio.run(while_held())]
    outcomes = [
        body["error"]["code"] if "error" in body else body["data"]["status"] for body in bodies
    ]
    assert outcomes == [
        "payment_in_progress",
        "paid",
        "authorization_not_cancellable",
        "authorization_unavailable",
    ]
    # Nothing was saved under the key: the same request does its work now.
    again = charge(held, Idempotency_Key="held")
    assert again.status_code == 201
    assert "Idempotent-Replayed" not in again.headers
