"""A primary and a standby of its own: only what can be written is used, and it has to be proved."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from laari.rules.command import Command
from laari.rules.payments.authorizations import AuthorizationDraft, CreateAuthorization
from laari.rules.payments.payment_requests import CreateRequest, RequestDraft
from laari.rules.payments.payments import CancelPayment, CreatePayment, PaymentDraft
from laari.rules.records.merchants import AccessToken
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.tokens import IssueToken
from laari.spine.batches import OutcomeUnknown, Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.connect import DatabaseUnreachableError, connect
from laari.store.postgres.pool import Pool, connection_to, open_pool
from tests.actors import OPERATOR
from tests.replication import Pair, replicated

pytestmark = pytest.mark.ci


@pytest.fixture(autouse=True)
def _deadlines(in_earnest: None) -> None:
    """A standby that is gone is known after seconds."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with replicated(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


def issue(number: int) -> IssueToken:
    return IssueToken(number.to_bytes(32, "big"), bytes(32), "cl_" + "a" * 20, "payments:read", 0)


async def test_of_several_hosts_the_primary_is_taken(pair: Pair) -> None:
    for _ in range(2):
        connection = await connect(pair.both, writing=True)
        assert not await connection.fetchval("SELECT pg_is_in_recovery()")
        connection.terminate()


async def test_a_standby_alone_will_not_do(pair: Pair) -> None:
    with pytest.raises(DatabaseUnreachableError, match="is a standby"):
        await connect(pair.standby)
    assert not await Pool(pair.standby).is_writable()


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["merchant", "list"], ["migrate"]])
def test_a_command_on_a_standby_is_refused_in_one_line(pair: Pair, command: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "laari", *command],
        env={**os.environ, "LAARI_DATABASE_URL": pair.standby, "LAARI_MASTER_KEY": "00" * 32},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "laari: the database is a standby, which cannot be written\n"


async def test_a_connection_whose_server_was_demoted_is_dropped(pair: Pair) -> None:
    runner = BatchRunner(pair.primary, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    try:
        await spine.submit(issue(1))
        assert runner._connection is not None
        before = runner._connection
        await before.execute("SET default_transaction_read_only = on")
        assert isinstance(await spine.submit(issue(2)), AccessToken)
        assert before.is_closed()
    finally:
        await spine.close()
        await runner.close()


async def test_a_read_only_database_is_neither_ready_nor_started_on(pair: Pair) -> None:
    pool = await open_pool(pair.primary)
    runner = BatchRunner(pair.primary, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    try:
        await pair.execute("ALTER DATABASE laari SET default_transaction_read_only = on")
        assert not await pool.is_writable()
        assert await spine.submit(issue(3)) == refuse("service_unavailable")
        with pytest.raises(DatabaseUnreachableError, match="cannot be written: it is read-only"):
            await connect(pair.primary, writing=True)
        assert await pool.read(asyncpg.Connection.fetchval, "SELECT 1") == 1
    finally:
        await pair.execute(
            "SET default_transaction_read_only = off", "ALTER DATABASE laari RESET ALL"
        )
        await spine.close()
        await runner.close()
        await pool.close()


async def test_commits_that_wait_for_a_standby_that_is_gone(tmp_path: Path, pair: Pair) -> None:
    """One is in doubt; then it is known, and the others are refused before they begin."""
    pool = await open_pool(pair.primary)
    runner = BatchRunner(pair.primary, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    try:
        assert await pool.is_writable()
        assert isinstance(await spine.submit(issue(10)), AccessToken)
        await pair.execute(
            "ALTER SYSTEM SET synchronous_commit = on",
            "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
            "SELECT pg_reload_conf()",
        )
        await asyncio.sleep(1.1)
        began = time.monotonic()
        assert not await pool.is_writable()
        assert time.monotonic() - began < 10  # the standby never comes
        with pytest.raises(OutcomeUnknown):
            await spine.submit(issue(11))
        waiting = await pair.waiting_commits()
        for number in range(12, 15):
            began = time.monotonic()
            assert await spine.submit(issue(number)) == refuse("service_unavailable")
            assert time.monotonic() - began < 10  # the standby never comes
            await asyncio.sleep(1.0)
            assert not await pool.is_writable()
        # Whoever tries leaves nobody behind who waits: connections are few.
        assert await pair.waiting_commits() == waiting
        assert await pool.read(asyncpg.Connection.fetchval, "SELECT 1") == 1
    finally:
        await pair.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
    await asyncio.sleep(1.1)
    assert await pool.is_writable()
    assert isinstance(await spine.submit(issue(15)), AccessToken)
    await spine.close()
    await runner.close()
    await pool.close()


@pytest.mark.parametrize("told", ["pg_cancel_backend", "pg_terminate_backend"])
@pytest.mark.parametrize("kind", ["token", "payment"])
async def test_a_commit_that_is_told_not_to_wait_for_its_standby_is_in_doubt(
    pair: Pair, kind: str, told: str
) -> None:
    """Nor is it enough to find it on the primary, where a payment would be looked up."""
    runner = BatchRunner(pair.primary, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    tenant = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
    payment = CreatePayment(tenant, PaymentDraft(told, 100))
    command: Command[object] = payment if kind == "payment" else issue(20 + len(told))
    try:
        await spine.submit(CreatePayment(tenant, PaymentDraft(f"{kind} before {told}", 100)))
        await pair.execute(
            "ALTER SYSTEM SET synchronous_commit = on",
            "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
            "SELECT pg_reload_conf()",
        )
        await asyncio.sleep(0.2)
        submitted = asyncio.create_task(spine.submit(command))
        while not await pair.waiting_commits():
            await asyncio.sleep(0.05)
        await pair.execute(f"SELECT {told}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        with pytest.raises(OutcomeUnknown):
            await submitted
    finally:
        await pair.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
        await spine.close()
        await runner.close()


SANDBOX = Tenant(2, "mer_a", "Shop", "sandbox", 0, 0, 0, 1, True)
SHOP = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
RETRIES: dict[str, Command[Any]] = {
    "payment": CreatePayment(SHOP, PaymentDraft("retried", 100)),
    "request": CreateRequest(SANDBOX, RequestDraft("asked", 100, "email", "a@b.example"), True),
    "authorization": CreateAuthorization(SHOP, AuthorizationDraft("allowed", "Rent")),
}


@pytest.mark.parametrize("kind", RETRIES)
async def test_a_retry_is_not_answered_before_the_standby_has_the_row(
    pair: Pair, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("laari.store.batch.runner.COMMIT_SECONDS", 60.0)
    await retry_on_the_primary_alone(pair, [RETRIES[kind]])


async def test_a_retry_beside_a_lock_that_finds_no_row_waits_too(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that has written and locked nothing waits for no standby by itself."""
    monkeypatch.setattr("laari.store.batch.runner.COMMIT_SECONDS", 60.0)
    retried = CreatePayment(SHOP, PaymentDraft("beside", 100))
    await retry_on_the_primary_alone(pair, [retried, CancelPayment(SHOP, UUID(int=0), OPERATOR)])


async def retry_on_the_primary_alone(pair: Pair, commands: list[Command[Any]]) -> None:
    """A commit that is told not to wait is visible on the primary alone, and can still be lost."""
    first, second = (BatchRunner(pair.primary, "http://laari.test") for _ in range(2))
    for runner in (first, second):  # a new connection would wait by itself
        await runner.run([CreatePayment(SHOP, PaymentDraft("before", 100))], 1.0)
    try:
        await pair.execute(
            "ALTER SYSTEM SET synchronous_commit = on",
            "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
            "SELECT pg_reload_conf()",
        )
        await asyncio.sleep(0.2)
        created = asyncio.create_task(first.run(commands, 1.0))
        while not await pair.waiting_commits():
            await asyncio.sleep(0.05)
        await pair.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        )
        with pytest.raises(OutcomeUnknown):
            await created
        retried = asyncio.create_task(second.run(commands, 1.0))
        while not await pair.waiting_commits():
            assert not retried.done()
            await asyncio.sleep(0.05)
    finally:
        await pair.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
    assert not isinstance((await retried)[0], Refusal)
    await first.close()
    await second.close()


async def test_a_retry_commits_nothing_without_a_synchronous_standby(pair: Pair) -> None:
    runner = BatchRunner(pair.primary, "http://laari.test")
    command = CreatePayment(SHOP, PaymentDraft("alone", 100))
    for _ in range(2):
        await runner.run([command], 1.0)
    async with connection_to(pair.primary) as connection:
        before = await connection.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
        await runner.run([command], 1.0)
        after = await connection.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
    assert before == after
    await runner.close()


async def test_another_write_that_is_told_not_to_wait_is_in_doubt_too(pair: Pair) -> None:
    """A secret key that was rotated so is lost where another server takes over."""
    pool = await open_pool(pair.primary)
    try:
        await pool.write(asyncpg.Connection.execute, "CREATE TABLE IF NOT EXISTS noted (n int)")
        await pair.execute(
            "ALTER SYSTEM SET synchronous_commit = on",
            "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
            "SELECT pg_reload_conf()",
        )
        await asyncio.sleep(0.2)
        writing = asyncio.create_task(
            pool.write(asyncpg.Connection.execute, "INSERT INTO noted VALUES (1)")
        )
        while not await pair.waiting_commits():
            await asyncio.sleep(0.05)
        await pair.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        )
        with pytest.raises(OutcomeUnknown):
            await writing
    finally:
        await pair.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()", "DROP TABLE noted")
        await pool.close()
