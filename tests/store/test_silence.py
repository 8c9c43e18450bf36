"""A database that goes silent holds nobody up for long, and nothing is done twice because of it."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import asyncpg
import pytest

from laari.errors import ConnectionLostError, LaariError, UnavailableError
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.records.merchants import AccessToken
from laari.rules.refusals import refuse
from laari.rules.tokens import IssueToken
from laari.spine.batches import OutcomeUnknown, Spine
from laari.spine.gather import Coalesced
from laari.store.batch.runner import BatchRunner
from laari.store.merchants import installation
from laari.store.postgres import migrate
from laari.store.postgres import pool as pool_module
from laari.store.postgres.connect import (
    STALE_SECONDS,
    DatabaseUnreachableError,
    Host,
    connect,
    hosts_of,
)
from laari.store.postgres.pool import Pool, connection_to, open_pool
from tests.actors import OPERATOR, change
from tests.making import make_customer
from tests.silence import Proxy, proxy_to

pytestmark = pytest.mark.ci


@pytest.fixture
def proxy(dsn: str, in_earnest: None) -> Iterator[Proxy]:
    with proxy_to(dsn) as proxy:
        yield proxy


@pytest.fixture
async def pool(proxy: Proxy) -> AsyncIterator[Pool]:
    pool = await open_pool(proxy.dsn, seconds=pool_module.STATEMENT_SECONDS)
    yield pool
    await pool.close()


@pytest.fixture
async def spine(proxy: Proxy) -> AsyncIterator[Spine]:
    runner = BatchRunner(proxy.dsn, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    yield spine
    await spine.close()
    await runner.close()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


async def process(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT pg_backend_pid()")


async def add_tier(connection: asyncpg.Connection, name: str) -> str:
    return await change(connection, "INSERT INTO tiers (name) VALUES ($1)", name)


async def tiers(dsn: str, name: str) -> int:
    async with connection_to(dsn) as connection:
        return await connection.fetchval("SELECT count(*) FROM tiers WHERE name = $1", name)


def issue(number: int) -> IssueToken:
    return IssueToken(number.to_bytes(32, "big"), bytes(32), "cl_" + "a" * 20, "payments:read", 0)


# Connecting.


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://laari@a:1,b:2/laari", [Host("a", 1), Host("b", 2)]),
        ("postgresql://laari:x@a,[::1]:7/laari", [Host("a", None), Host("::1", 7)]),
        ("postgresql:///laari?host=a,b&port=1,2", [Host("a", 1), Host("b", 2)]),
        ("postgresql:///laari?host=/run/a,/run/b&port=9", [Host("/run/a", 9), Host("/run/b", 9)]),
        ("postgresql://%2Frun%2Fa/laari", [Host("/run/a", None)]),
        ("postgresql:///laari", [Host(None, None)]),
        (
            "postgresql://a,b/laari?target_session_attrs=read-write",
            [Host("a", None), Host("b", None)],
        ),
    ],
)
def test_the_hosts_of_a_url(url: str, hosts: list[Host]) -> None:
    assert list(hosts_of(url)) == hosts


@pytest.mark.parametrize("wanted", ["standby", "prefer-standby", "read-only"])
async def test_a_url_that_asks_for_a_standby_is_refused_in_one_line(wanted: str) -> None:
    with pytest.raises(LaariError, match="needs a server that can be written"):
        await connect(f"postgresql://laari@127.0.0.1:1/laari?target_session_attrs={wanted}")


async def test_a_silent_host_does_not_hide_one_that_works(dsn: str, proxy: Proxy) -> None:
    with proxy_to(dsn) as other:
        proxy.silence()
        both = other.dsn.replace("127.0.0.1:", f"127.0.0.1:{proxy.port},127.0.0.1:")
        with within(1.5):
            connection = await connect(both)
        connection.terminate()
        with within(1):  # it is known by now which one answers
            connection = await connect(both)
        connection.terminate()


async def test_hosts_that_are_all_silent_are_given_up(proxy: Proxy) -> None:
    proxy.silence()
    two = proxy.dsn.replace("127.0.0.1:", f"127.0.0.1:{proxy.port},127.0.0.1:")
    for url in (proxy.dsn, two):
        with within(2.7), pytest.raises(DatabaseUnreachableError, match="does not answer"):
            await connect(url)


async def test_a_peer_that_is_gone_is_noticed_on_an_idle_connection(proxy: Proxy) -> None:
    async with connection_to(proxy.dsn) as connection:
        own = connection._transport.get_extra_info("socket")
        assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 8000


# Reads and writes through the pool.


async def test_a_read_on_a_silent_connection_is_done_on_another(proxy: Proxy, pool: Pool) -> None:
    before = await pool.read(process)
    proxy.silence_open()
    with within(4.5):
        assert await pool.read(process) != before


async def test_what_may_take_long_finds_out_before_it_begins(proxy: Proxy) -> None:
    pool = await open_pool(proxy.dsn, seconds=6)
    proxy.silence_open()
    await asyncio.sleep(STALE_SECONDS)
    with within(2.5):
        await pool.read(process)
    await pool.close()


async def test_a_stuck_look_up_does_not_hold_up_the_next(proxy: Proxy, pool: Pool) -> None:
    async def fetch(keys: list[int]) -> dict[int, int]:
        return dict.fromkeys(keys, await pool.read(process))

    look_up = Coalesced(fetch)
    await look_up.get(1)
    proxy.silence_open()
    stuck = asyncio.create_task(look_up.get(1))
    await asyncio.sleep(0.1)
    with within(1.5):
        assert await look_up.get(2) is not None
    assert not stuck.done()
    with within(4):
        await stuck


async def test_reads_and_writes_are_given_up_where_all_is_silent(proxy: Proxy, pool: Pool) -> None:
    await pool.read(process)
    await pool.write(process)
    proxy.silence()
    asked = [pool.read(process) for _ in range(20)] + [pool.write(process) for _ in range(5)]
    with within(7.5):
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} <= {UnavailableError, DatabaseUnreachableError}
    proxy.heal()
    await asyncio.sleep(0.3)
    with within(1):
        await pool.read(process)
        await pool.write(process)


async def test_a_write_finds_out_before_it_begins(proxy: Proxy, pool: Pool) -> None:
    await pool.write(process)
    proxy.silence_open()
    await asyncio.sleep(STALE_SECONDS)
    with within(2):
        await pool.write(add_tier, "new")
    assert await tiers(proxy.dsn, "new") == 1


async def test_a_write_whose_commit_is_lost_is_not_done_again(proxy: Proxy, pool: Pool) -> None:
    proxy.silence_after(b"COMMIT")
    with within(4.5), pytest.raises(OutcomeUnknown):
        await pool.write(add_tier, "new")
    assert await tiers(proxy.dsn, "new") == 1


async def test_a_write_that_is_lost_before_its_commit_left_nothing(
    proxy: Proxy, pool: Pool
) -> None:
    proxy.silence_after(b"INSERT INTO tiers")
    with within(4.5), pytest.raises(UnavailableError):
        await pool.write(add_tier, "new")
    assert await tiers(proxy.dsn, "new") == 0


async def test_what_reads_cannot_write(dsn: str, pool: Pool) -> None:
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await pool.read(add_tier, "new")
    assert await tiers(dsn, "new") == 0


async def test_a_write_whose_error_was_swallowed_is_no_success(dsn: str, pool: Pool) -> None:
    async def careless(connection: asyncpg.Connection) -> None:
        await add_tier(connection, "new")
        try:
            await connection.execute("SELECT 1 / 0")
        except asyncpg.DivisionByZeroError:
            return

    with pytest.raises(asyncpg.InFailedSQLTransactionError):
        await pool.write(careless)
    assert await tiers(dsn, "new") == 0


async def test_a_command_of_the_operator_is_bounded_too(proxy: Proxy) -> None:
    async def command() -> None:
        async with connection_to(proxy.dsn, seconds=0.5) as connection:
            proxy.silence()
            await add_tier(connection, "new")

    with within(2), pytest.raises(LaariError, match="may or may not be done"):
        await command()


# The spine.


async def test_a_batch_on_a_silent_connection_is_run_on_another(proxy: Proxy, spine: Spine) -> None:
    assert isinstance(await spine.submit(issue(1)), AccessToken)
    proxy.silence_open()
    await asyncio.sleep(STALE_SECONDS)
    with within(4):
        assert isinstance(await spine.submit(issue(2)), AccessToken)


async def test_a_commit_that_goes_unanswered_is_not_run_again(proxy: Proxy, spine: Spine) -> None:
    async with connection_to(proxy.dsn) as connection:
        customer = await make_customer(
            connection, OPERATOR, name="Aisha", mode="live", tier="basic", balance=0, password="x"
        )
    top_up = MoveMoney(OPERATOR, None, customer.account, "topup", 500, "Cash")
    proxy.silence_after(b"COMMIT")
    with within(5), pytest.raises(OutcomeUnknown):
        await spine.submit(top_up)
    await spine.submit(top_up)  # the spine works on, on a connection of its own again
    async with connection_to(proxy.dsn) as connection:
        assert await connection.fetchval("SELECT balance FROM wallets") == 1000


async def test_a_full_queue_is_refused_in_time(proxy: Proxy, spine: Spine) -> None:
    await spine.submit(issue(0))
    proxy.silence()
    await asyncio.sleep(STALE_SECONDS)

    async def timed(number: int) -> float:
        began = time.monotonic()
        assert await spine.submit(issue(number)) == refuse("service_unavailable")
        return time.monotonic() - began

    submitted = []
    for number in range(1, 80):
        submitted.append(asyncio.create_task(timed(number)))
        await asyncio.sleep(0.05)
    assert max(await asyncio.gather(*submitted)) < 8


async def test_a_database_that_is_gone_is_said_at_once_to_all(proxy: Proxy, spine: Spine) -> None:
    await spine.submit(issue(0))
    proxy.refuse()
    await asyncio.sleep(0.1)
    with within(2):
        outcomes = await asyncio.gather(*(spine.submit(issue(n)) for n in range(1, 200)))
    assert set(outcomes) == {refuse("service_unavailable")}
    proxy.heal()
    assert isinstance(await spine.submit(issue(1)), AccessToken)


@pytest.mark.parametrize("asked", [b"schema_migrations", b"master_key_check"])
async def test_a_start_on_a_server_that_goes_silent_is_given_up(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, asked: bytes
) -> None:
    """Its process would say for ever that it lives, and never serve."""
    monkeypatch.setattr(migrate, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(installation, "PROVE_SECONDS", 0.3)
    proxy.silence_after(asked)

    async def start() -> None:
        await migrate.check(proxy.dsn)
        await installation.prove_master_key(proxy.dsn, bytes(32), "the key")

    with pytest.raises(ConnectionLostError):
        await asyncio.wait_for(start(), 5)
