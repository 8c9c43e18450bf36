"""What nobody reads is expired and forgotten in the background, by its own clock, once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.rules.actors import sandbox_customer
from laari.rules.limits.invitations import INVITATION_LIFE
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.payments.payment_requests import (
    CreateRequest,
    ExpireRequest,
    RequestDraft,
    ReserveRequest,
)
from laari.rules.people.invitations import Offer
from laari.rules.records.tenants import Tenant
from laari.rules.tokens import IssueToken
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.counters.purge import purge_access_tokens
from laari.store.postgres.pool import Pool, connection_to, open_pool
from laari.store.reads import tenants
from laari.workers.expiry import expire_overdue_requests
from laari.workers.invitations import expire_overdue
from tests import people
from tests.actors import OPERATOR
from tests.making import make_merchant

SOON = timedelta(seconds=60)


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(dsn, 2)
    yield pool
    await pool.close()


@pytest.fixture
async def spine(dsn: str) -> AsyncIterator[Spine]:
    runner = BatchRunner(dsn, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    yield spine
    await spine.close()
    await runner.close()


async def new_tenant(dsn: str) -> Tenant:
    async with connection_to(dsn) as connection:
        new = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        return await tenants.of_merchant(connection, new.merchant.id, "sandbox")


async def ask(spine: Spine, tenant: Tenant, reference: str) -> CreateRequest:
    deadline = datetime.now(UTC).replace(microsecond=0) + SOON
    draft = RequestDraft(reference, 100, "vpa", "sandbox", expires_at=deadline)
    return await spine.submit(CreateRequest(tenant, draft, designated=True))


async def statuses(pool: Pool) -> dict[str, str]:
    rows = await pool.read(
        asyncpg.Connection.fetch, "SELECT reference, status FROM payment_requests"
    )
    return dict(map(tuple, rows))


async def test_requests_expire_by_their_own_clock_once(dsn: str, pool: Pool, spine: Spine) -> None:
    late, early = await new_tenant(dsn), await new_tenant(dsn)
    for number in range(5):
        await ask(spine, late, f"late {number}")
    reserved = await ask(spine, late, "reserved")
    await spine.submit(ReserveRequest(late, reserved.id, sandbox_customer(late)))
    await ask(spine, early, "early")
    assert await expire_overdue_requests(pool, spine) == 0

    await spine.submit(MoveClock(late, OPERATOR, 61))
    assert await expire_overdue_requests(pool, spine, chunk=2) == 5
    assert await expire_overdue_requests(pool, spine) == 0
    assert await statuses(pool) == {
        **{f"late {number}": "expired" for number in range(5)},
        "reserved": "pending",
        "early": "pending",
    }
    events = await pool.read(
        asyncpg.Connection.fetchval,
        "SELECT count(*) FROM events WHERE type = 'payment_request.expired'",
    )
    assert events == 5


async def test_a_request_that_cannot_be_had_is_left_for_later(
    dsn: str, pool: Pool, spine: Spine
) -> None:
    tenant = await new_tenant(dsn)
    await ask(spine, tenant, "held")
    await spine.submit(MoveClock(tenant, OPERATOR, 61))
    async with connection_to(dsn) as other, other.transaction():
        await other.execute("SELECT 1 FROM payment_requests FOR UPDATE")
        assert await expire_overdue_requests(pool, spine, chunk=1) == 0
    assert await expire_overdue_requests(pool, spine, chunk=1) == 1


async def test_expired_tokens_are_forgotten(pool: Pool, spine: Spine) -> None:
    for number in range(7):
        await spine.submit(IssueToken(bytes([number]) * 32, bytes(32), "cl_x", "", 0))
    now = datetime.now(UTC)
    assert await pool.write_each(purge_access_tokens, now + timedelta(hours=23)) == 0
    assert await pool.write_each(purge_access_tokens, now + timedelta(hours=25), most=3) == 7
    assert await pool.read(asyncpg.Connection.fetchval, "SELECT count(*) FROM access_tokens") == 0


async def test_one_tenant_with_many_keeps_no_other_waiting(
    dsn: str, pool: Pool, spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded, quiet, last = [await new_tenant(dsn) for _ in range(3)]
    for number in range(12):
        await ask(spine, crowded, f"crowded {number}")
    await ask(spine, quiet, "quiet")
    for number in range(3):
        await ask(spine, last, f"last {number}")
    for tenant in (crowded, quiet, last):
        await spine.submit(MoveClock(tenant, OPERATOR, 61))
    order: list[int] = []
    submit = spine.submit

    async def noted(command: ExpireRequest) -> object:
        order.append(command.tenant.id)
        return await submit(command)

    monkeypatch.setattr(spine, "submit", noted)
    assert await expire_overdue_requests(pool, spine, chunk=4) == 16
    assert (order.index(quiet.id), order.index(last.id)) == (2, 3)
    assert order[-6:] == [crowded.id] * 6  # the others are done by then
    assert set((await statuses(pool)).values()) == {"expired"}


async def test_an_invitation_that_nobody_accepted_ends(dsn: str, pool: Pool, spine: Spine) -> None:
    now = datetime.now(UTC)
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        place = (connection, OPERATOR, bytes(32), shop.merchant.id)
        await people.invite(*place, Offer("late@shop.mv", "manager"), now - INVITATION_LIFE)
        await people.invite(*place, Offer("new@shop.mv", "manager"), now)
        assert not await expire_overdue(pool, spine)
        left = await connection.fetch("SELECT email FROM invitations")
    assert [row["email"] for row in left] == ["new@shop.mv"]
