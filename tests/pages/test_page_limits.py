"""What people do on pages leaves room for payments, and for other people."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
import pytest

from laari.edge.load.heavy import MOST_EXPORTS_OF_A_MERCHANT, RETRY_AFTER_SECONDS
from laari.edge.pages.request import PAGES_OVER_SECONDS, PAGES_PER_SECOND
from laari.store.postgres.pool import connection_to
from tests.logins import opened
from tests.pages.owners import Owner, new_owner
from tests.pages.people import new_customer
from tests.serving import Service

MANY = 12  # more than there are connections for reads of any kind
BURST = int(PAGES_PER_SECOND * PAGES_OVER_SECONDS)
ROWS = 60_000  # a file that is longer than what fits between us and a client that does not read


@asynccontextmanager
async def browser(service: Service, whose: UUID | str) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is logged in."""
    async with connection_to(service.dsn) as connection:
        token = await opened(connection, whose, master=service.master_key)
    name = "laari" if isinstance(whose, UUID) else "laari-dashboard"
    async with httpx.AsyncClient(
        base_url=service.origin, cookies={name: token}, timeout=60
    ) as client:
        yield client


async def test_pages_that_wait_for_the_database_keep_no_payment_waiting(service: Service) -> None:
    shop = service.merchant()
    shop.payment()
    cookies = {"laari-dashboard": "x"}
    async with (
        connection_to(service.dsn) as connection,
        httpx.AsyncClient(base_url=service.origin, cookies=cookies, timeout=60) as client,
    ):
        async with connection.transaction():
            await connection.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
            waiting = [asyncio.create_task(client.get("/dashboard")) for _ in range(MANY)]
            await asyncio.sleep(0.5)
            began = time.monotonic()
            for _ in range(10):
                answer = await asyncio.to_thread(shop.get, "/payments", terminal_label="None")
                assert answer.status_code == 200
            assert time.monotonic() - began < 20  # and not until the pages are served: never
            assert not any(task.done() for task in waiting)
        answers = await asyncio.gather(*waiting)
    assert {answer.status_code for answer in answers} == {303}


@pytest.mark.ci
async def test_a_person_who_opens_too_many_pages_is_told_to_wait(service: Service) -> None:
    owner, other = new_owner(service), new_owner(service)
    path = f"/dashboard/{owner.shop.id}/sandbox/webhooks"
    async with browser(service, owner.email) as one, browser(service, owner.email) as two:
        found = await asyncio.gather(
            *(one.get(path) for _ in range(BURST // 2)), *(two.get(path) for _ in range(2 * BURST))
        )
        codes = {each.status_code for each in found}
        assert codes - {503} == {200, 429}  # 503: the pages of a busy machine wait for each other
        refused = next(each for each in found if each.status_code == 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert "opened many pages" in refused.text
        async with browser(service, other.email) as neighbour:
            assert (await neighbour.get(other.url("/sandbox/webhooks"))).status_code == 200
        await asyncio.sleep(int(refused.headers["Retry-After"]))
        assert (await one.get(path)).status_code == 200


@pytest.mark.ci
async def test_customers_are_counted_too(service: Service) -> None:
    customer = await new_customer(service)
    async with browser(service, customer.id) as phone:
        found = await asyncio.gather(*(phone.get("/app") for _ in range(3 * BURST)))
        statuses = {each.status_code for each in found}
    assert statuses == {200, 429}


@pytest.fixture
def large(service: Service) -> Owner:
    owner = new_owner(service)
    service.execute(
        "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, metadata, "
        "created_at, expires_at, status) "
        "SELECT gen_random_uuid(), t.id, 'hosted', 'many-' || n || '-' || t.id, 'many-' || n, 100, "
        "'{}', now() - n * interval '1 second', now() + interval '1 day', 'pending' "
        "FROM tenants t, generate_series(1, $2) AS n WHERE merchant_id = $1 AND mode = 'sandbox'",
        owner.shop.id,
        ROWS,
    )
    return owner


async def test_exports_of_one_merchant_at_a_time(service: Service, large: Owner) -> None:
    path = large.url("/sandbox/payments/export.csv")
    async with browser(service, large.email) as client:
        held = [
            await client.send(client.build_request("GET", path), stream=True)
            for _ in range(MOST_EXPORTS_OF_A_MERCHANT)
        ]
        assert {answer.status_code for answer in held} == {200}
        refused = await client.get(path)
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) >= 1
        assert "exports are running" in refused.text
        assert "Content-Disposition" not in refused.headers
        # The rest of the dashboard is there meanwhile, and so is the place of one that left.
        assert (await client.get(large.url("/sandbox"))).status_code == 200
        await held[0].aclose()
        for _ in range(50):
            again = await client.send(client.build_request("GET", path), stream=True)
            await again.aclose()
            if again.status_code == 200:
                break
            await asyncio.sleep(0.1)
        assert again.status_code == 200
        await held[1].aclose()


@pytest.mark.ci
async def test_a_person_waits_for_one_overview_and_other_tabs_come_back(service: Service) -> None:
    owner = new_owner(service)
    async with browser(service, owner.email) as client:
        async with connection_to(service.dsn) as connection, connection.transaction():
            await connection.execute("LOCK TABLE daily_figures IN ACCESS EXCLUSIVE MODE")
            waiting = [asyncio.create_task(client.get(owner.url("/sandbox"))) for _ in range(MANY)]
            await asyncio.sleep(1)
            asked = await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND query LIKE '%FROM daily_figures%' AND state = 'active' "
                "AND pid <> pg_backend_pid()"
            )
            assert asked == 1
        answers = await asyncio.gather(*waiting)
    refused = [answer for answer in answers if answer.status_code == 503]
    assert [answer.status_code for answer in answers].count(200) >= 1
    assert len(refused) >= MANY - 2  # all but the one that is made and the one that waits
    assert {answer.headers["Refresh"] for answer in refused} == {str(RETRY_AFTER_SECONDS)}
