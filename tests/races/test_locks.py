"""Rows held by somebody else: the batch waits, splits, and answers what it cannot get."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from laari.store.database import connection_to
from tests.serving import Merchant


def test_a_held_payment_is_a_conflict_and_delays_its_neighbours_little(shop: Merchant) -> None:
    held, free = shop.payment(), shop.payment()

    async def hold() -> tuple[int, int, float]:
        async with connection_to(shop.service.dsn) as connection:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(
                "SELECT FROM payments WHERE id = $1::uuid FOR UPDATE",
                held["id"].partition("_")[2],
            )
            loop = asyncio.get_running_loop()
            start = time.monotonic()
            with ThreadPoolExecutor(2) as pool:
                answers = await asyncio.gather(
                    *(
                        loop.run_in_executor(pool, shop.post, f"/payments/{p['id']}/cancel")
                        for p in (held, free)
                    )
                )
            seconds = time.monotonic() - start
            await transaction.rollback()
        return answers[0].status_code, answers[1].status_code, seconds

    blocked, neighbour, seconds = asyncio.run(hold())
    assert (blocked, neighbour) == (409, 200)
    assert seconds < 4
    assert shop.post(f"/payments/{held['id']}/cancel").status_code == 200


def test_a_key_that_another_process_works_under_is_in_progress(shop: Merchant) -> None:
    from laari.store.batch import _lock_number

    tenant_id = shop.service.execute(
        "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'sandbox'", shop.id
    )[0]["id"]
    number = _lock_number((tenant_id, "create_payment", "held"))
    body = {"reference": "under-key", "amount": 1}

    async def hold() -> tuple[int, str]:
        async with connection_to(shop.service.dsn) as connection:
            await connection.execute("SELECT pg_advisory_lock($1)", number)
            response = await asyncio.to_thread(shop.post, "/payments", body, Idempotency_Key="held")
            return response.status_code, response.json()["error"]["code"]

    assert asyncio.run(hold()) == (409, "idempotency_in_progress")
    assert shop.get("/payments").json()["data"] == []
    assert shop.post("/payments", body, Idempotency_Key="held").status_code == 201
