"""What charges need is loaded in one statement, as safely as in one for each table."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from laari.rules.actors import Payer
from laari.rules.needs import Needs
from laari.rules.payments.authorizations import (
    ApproveAuthorization,
    AuthorizationDraft,
    CreateAuthorization,
)
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.batch.load import load
from laari.store.batch.load_charge import _LOAD, _is_before
from laari.store.batch.runner import _SESSION, BatchRunner
from laari.store.batch.save import save
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.making import make_customer, make_merchant

ORIGIN = "http://laari.test"


@dataclass
class Shop:
    connection: asyncpg.Connection
    runner: BatchRunner
    tenant: Tenant

    async def run(self, *commands: Any) -> list[Any]:
        return list(await self.runner.run(commands, 10.0))

    async def authorization(self, reference: str, **limits: Any) -> UUID:
        draft = AuthorizationDraft(reference, "Box", **limits)
        [made] = await self.run(CreateAuthorization(self.tenant, draft))
        found: UUID = made.id
        return found

    async def customer(self, balance: int = 1000) -> int:
        made = await make_customer(
            self.connection, OPERATOR, name="Aisha", mode="live", tier="business", balance=balance
        )
        account: int = made.account
        return account

    async def approved(self, reference: str, **limits: Any) -> tuple[UUID, int]:
        authorization = await self.authorization(reference, **limits)
        account = await self.customer()
        payer = Payer(account, "live")
        await self.run(ApproveAuthorization(self.tenant, authorization, payer))
        return authorization, account

    def charge(self, authorization: UUID, reference: str, amount: int = 100) -> ChargeAuthorization:
        return ChargeAuthorization(self.tenant, authorization, PaymentDraft(reference, amount))

    async def decide_here(self, command: ChargeAuthorization) -> Payment | Refusal:
        """As another process would, in a transaction that is still open."""
        needs = Needs()
        command.needs(needs)
        world = await load(self.connection, needs, ORIGIN, lambda: datetime.now(UTC))
        outcome = command.decide(world)
        await save(self.connection, world)
        return outcome

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """A transaction of another process, open for as long as the block."""
        async with self.connection.transaction():
            yield


@pytest.fixture
async def shop(dsn: str) -> AsyncIterator[Shop]:
    runner = BatchRunner(dsn, ORIGIN)
    async with connection_to(dsn) as connection:
        made = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        tenant = await tenants.of_merchant(connection, made.merchant.id, "live")
        yield Shop(connection, runner, tenant)
    await runner.close()


async def waits(task: asyncio.Task[Any]) -> bool:
    _, pending = await asyncio.wait([task], timeout=0.3)
    return bool(pending)


async def test_a_charge_takes_four_round_trips(shop: Shop) -> None:
    authorization, _ = await shop.approved("a")
    await shop.run(shop.charge(authorization, "c0"))
    assert shop.runner._connection is not None
    asked: list[str] = []
    with shop.runner._connection.query_logger(lambda record: asked.append(record.query)):
        [paid, made] = await shop.run(
            shop.charge(authorization, "c1"), CreatePayment(shop.tenant, PaymentDraft("p1", 100))
        )
        assert isinstance(paid, Payment)
        assert isinstance(made, Payment)
        await asyncio.sleep(0)  # the driver tells of the last one a moment later
        assert (asked[0], asked[1], len(asked), asked[-1]) == ("BEGIN", _LOAD, 4, "COMMIT")
        # One that was made before is read as it is, after the locks.
        assert await shop.run(shop.charge(authorization, "c1")) == [paid]
        [other_kind] = await shop.run(shop.charge(authorization, "p1"))
        assert isinstance(other_kind, Refusal)


async def test_a_charge_that_waited_for_its_twin_finds_it(shop: Shop) -> None:
    """And not the limit that the twin has used up."""
    authorization, _ = await shop.approved("a", total=100)
    async with shop.held():
        twin = await shop.decide_here(shop.charge(authorization, "c"))
        again = asyncio.create_task(shop.run(shop.charge(authorization, "c")))
        assert await waits(again)
    assert isinstance(twin, Payment)
    assert [each.id for each in await again] == [twin.id]


async def test_a_charge_that_waited_rests_on_what_the_other_has_left(shop: Shop) -> None:
    authorization, account = await shop.approved("a")
    async with shop.held():
        await shop.connection.execute("UPDATE wallets SET balance = 40 WHERE account = $1", account)
        late = asyncio.create_task(shop.run(shop.charge(authorization, "c")))
        assert await waits(late)
    [outcome] = await late
    assert isinstance(outcome, Refusal)
    assert outcome.code == "insufficient_balance"


async def test_a_payer_who_waited_rests_on_what_the_other_has_left(shop: Shop) -> None:
    """Wallets of other commands are locked by a statement of their own."""
    [payment] = await shop.run(CreatePayment(shop.tenant, PaymentDraft("p", 100)))
    account = await shop.customer()
    async with shop.held():
        await shop.connection.execute("UPDATE wallets SET balance = 40 WHERE account = $1", account)
        pay = PayPayment(shop.tenant, payment.id, Payer(account, "live"))
        late = asyncio.create_task(shop.run(pay))
        assert await waits(late)
    [outcome] = await late
    assert isinstance(outcome, Refusal)
    assert outcome.code == "insufficient_balance"


async def test_a_wallet_that_is_newer_than_the_statement_is_locked_too(shop: Shop) -> None:
    """An authorization that was approved in between, by a customer who has just come."""
    authorization = await shop.authorization("a")
    async with shop.held():
        account = await shop.customer()
        await shop.connection.execute(
            "UPDATE authorizations SET status = 'active', account = $2, approved_at = now() "
            "WHERE id = $1",
            authorization,
            account,
        )
        late = asyncio.create_task(shop.run(shop.charge(authorization, "c")))
        assert await waits(late)
    [outcome] = await late
    assert isinstance(outcome, Payment)
    assert outcome.payer_account == account


async def test_no_wallet_is_locked_before_all_authorizations_are(shop: Shop) -> None:
    """In the order of their keys: a batch that went another way could wait crosswise."""
    given = sorted([await shop.approved(f"a{n}") for n in range(3)])
    lock = "SELECT FROM wallets WHERE account = ANY($1) FOR NO KEY UPDATE NOWAIT"
    async with shop.held():
        await shop.connection.execute(
            "SELECT FROM authorizations WHERE id = $1 FOR NO KEY UPDATE", given[1][0]
        )
        charges = [shop.charge(each, f"c{n}") for n, (each, _) in enumerate(reversed(given))]
        late = asyncio.create_task(shop.run(*charges))
        assert await waits(late)
        await shop.connection.execute(lock, [account for _, account in given])
        # The first is locked, the last is not yet.
        one = "SELECT FROM authorizations WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED"
        assert await shop.connection.fetch(one, given[0][0]) == []
        assert await shop.connection.fetch(one, given[2][0]) == [()]
    assert all(isinstance(outcome, Payment) for outcome in await late)


async def test_what_charges_need_is_found_by_keys(dsn: str) -> None:
    async with connection_to(dsn, 60.0, **_SESSION) as connection:
        # The tables are empty. If they were analysed, reading them whole would look cheap.
        await connection.execute("SET enable_seqscan = off")
        await connection.execute(f"PREPARE look_up AS {_LOAD}")
        rows = await connection.fetch("EXPLAIN EXECUTE look_up ('{}', '{}', '{}', '{}', '{}')")
    plan = [row[0] for row in rows]
    walked = [line for line in plan if "Seq Scan" in line]
    assert all("Seq Scan on tiers" in line for line in walked), plan
    conditions = [line for line in plan if "Index Cond" in line]
    both = ("(tenant_id = wanted.tenant_id)", "(reference = wanted.reference)")
    for keys in (("(id = ANY ($1))",), ("(account = ANY (",), both):
        assert any(all(key in line for key in keys) for line in conditions), plan


@pytest.mark.parametrize(
    ("changed", "snapshot", "is_before"),
    [
        (7, 8, True),
        (8, 8, False),
        (9, 8, False),
        (2**32 - 1, 2**32 + 5, True),
        (4, 2**32 + 5, True),
        (5, 2**32 + 5, False),
        (6, 2**32 + 5, False),
        (5, 2**32 + 5 + 2**31, True),
        (4, 2**32 + 5 + 2**31, False),  # too old to tell
    ],
)
def test_which_of_two_transactions_was_first(changed: int, snapshot: int, is_before: bool) -> None:
    assert _is_before(changed, snapshot) == is_before


def test_what_is_taken_back_is_not_loaded() -> None:
    needs = Needs()
    needs.read(World.references, (1, "a"))
    needs.take_back(World.references)
    assert World.references not in needs.reads
