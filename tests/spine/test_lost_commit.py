"""A commit whose answer is lost may have happened: its batch must not be run again."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.command import Command
from laari.rules.tokens import IssueToken
from laari.spine.batches import OutcomeUnknown, Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR, change
from tests.making import make_customer


class CutAt(BatchRunner):
    """Loses the connection before it hears that the statement beginning so was done."""

    def __init__(self, dsn: str, statement: str) -> None:
        super().__init__(dsn, "http://laari.test")
        self.statement = statement
        self.cuts = 0

    async def _ready(self, lock_seconds: float) -> Any:
        return _Cut(self, await super()._ready(lock_seconds))


class _Cut:
    def __init__(self, runner: CutAt, connection: asyncpg.Connection) -> None:
        self._runner = runner
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, statement: str, *values: Any) -> Any:
        return self._cut_at(statement, await self._connection.execute(statement, *values))

    async def fetch(self, statement: str, *values: Any) -> Any:
        return self._cut_at(statement, await self._connection.fetch(statement, *values))

    def _cut_at(self, statement: str, done: Any) -> Any:
        if statement.startswith(self._runner.statement) and not self._runner.cuts:
            self._runner.cuts += 1
            self._connection.terminate()
            raise asyncpg.ConnectionDoesNotExistError("connection was closed")
        return done


async def test_money_is_not_moved_twice(dsn: str) -> None:
    customer = "00000000-0000-0000-0000-000000000001"
    connection = await asyncpg.connect(dsn)
    await change(
        connection, f"INSERT INTO customers (id, name, mode) VALUES ('{customer}', 'Aisha', 'live')"
    )
    await change(
        connection,
        "INSERT INTO wallets (customer_id, mode, tier) VALUES ($1, 'live', 'basic')",
        customer,
    )
    account = await connection.fetchval("SELECT max(account) FROM wallets")
    runner = CutAt(dsn, "COMMIT")
    spine = Spine(runner.run)
    spine.start()
    top_up = MoveMoney(OPERATOR, None, account, "topup", 500, "Cash")

    with pytest.raises(OutcomeUnknown):
        await spine.submit(top_up)
    assert await connection.fetchval("SELECT balance FROM wallets") == 500

    await spine.submit(top_up)  # the spine works on, on a connection of its own again
    assert await connection.fetchval("SELECT balance FROM wallets") == 1000
    await spine.close()
    await runner.close()
    await connection.close()


async def test_a_batch_that_is_one_statement_is_not_run_again_either(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    runner = CutAt(dsn, "WITH w1 AS (INSERT INTO access_tokens")
    spine = Spine(runner.run)
    spine.start()
    issue = IssueToken(bytes(32), bytes(32), "cl_" + "a" * 20, "payments:read", 0)

    with pytest.raises(OutcomeUnknown):
        await spine.submit(issue)
    assert await connection.fetchval("SELECT count(*) FROM access_tokens") == 1
    await spine.close()
    await runner.close()
    await connection.close()


class _Failed(_Cut):
    """A transaction that has failed without anybody noticing, when it comes to its commit."""

    async def execute(self, statement: str, *values: Any) -> Any:
        if statement == "COMMIT" and not self._runner.cuts:
            self._runner.cuts += 1
            with suppress(asyncpg.DivisionByZeroError):
                await self._connection.execute("SELECT 1 / 0")
        return await self._connection.execute(statement, *values)


class FailedBeforeCommit(CutAt):
    async def _ready(self, lock_seconds: float) -> Any:
        return _Failed(self, await BatchRunner._ready(self, lock_seconds))


async def test_a_commit_that_is_answered_with_a_rollback_is_no_success(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        customer = await make_customer(
            connection, OPERATOR, name="Aisha", mode="live", tier="basic", balance=0, password="x"
        )
    runner = FailedBeforeCommit(dsn, "COMMIT")
    spine = Spine(runner.run)
    spine.start()
    await spine.submit(MoveMoney(OPERATOR, None, customer.account, "topup", 500, "Cash"))
    assert runner.cuts == 1
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT balance FROM wallets") == 500
    await spine.close()
    await runner.close()


async def test_every_command_of_the_batch_hears_of_it() -> None:
    runs = 0

    async def run(commands: Sequence[Command[Any]], lock_seconds: float) -> list[Any]:
        nonlocal runs
        runs += 1
        raise OutcomeUnknown

    spine = Spine(run)
    commands = [MoveMoney(OPERATOR, None, account, "topup", 1, "Cash") for account in (1, 2, 3)]
    submitted = [asyncio.ensure_future(spine.submit(command)) for command in commands]
    await asyncio.sleep(0)
    spine.start()
    outcomes = await asyncio.gather(*submitted, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * 3
    assert runs == 1
    await spine.close()
