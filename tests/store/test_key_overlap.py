"""Rotation of the secret key with an overlap: which keys work, and which one signs, until when."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.store.merchants import merchants
from laari.store.merchants.merchants import key_digest
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests import shops
from tests.actors import OPERATOR, change
from tests.making import make_merchant
from tests.people import RefusedError

MASTER_KEY = bytes(range(32))
DAY = timedelta(hours=24)


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


async def a_merchant(connection: asyncpg.Connection) -> tuple[str, str]:
    new = await make_merchant(connection, OPERATOR, MASTER_KEY, name="Shop", mode="sandbox")
    return new.merchant.id, new.secret_key


async def rotate(connection: asyncpg.Connection, merchant_id: str, overlap: timedelta = DAY) -> str:
    return (await shops.rotate_key(connection, OPERATOR, MASTER_KEY, merchant_id, overlap))[1]


async def working(connection: asyncpg.Connection, *keys: str) -> list[str]:
    """The keys that authenticate, looked up together as the service does."""
    found = await tenants.by_secret_digest(
        connection, [key_digest(MASTER_KEY, key) for key in keys]
    )
    return [key for key in keys if key_digest(MASTER_KEY, key) in found]


async def signing(connection: asyncpg.Connection, merchant_id: str) -> str:
    return await merchants.signing_key_of(connection, MASTER_KEY, merchant_id)


async def end_overlap(connection: asyncpg.Connection, merchant_id: str, when: str) -> None:
    await change(
        connection, f"UPDATE merchants SET old_secret_until = {when} WHERE id = $1", merchant_id
    )


async def test_both_keys_work_during_the_overlap(connection: asyncpg.Connection) -> None:
    merchant_id, old = await a_merchant(connection)
    found, new = await shops.rotate_key(connection, OPERATOR, MASTER_KEY, merchant_id, DAY)
    assert await working(connection, old, new) == [old, new]
    assert await working(connection, old) == [old]
    by_old, by_new = (
        await tenants.by_secret_digest(
            connection, [key_digest(MASTER_KEY, old), key_digest(MASTER_KEY, new)]
        )
    ).values()
    assert by_old == by_new
    assert found.old_key_until is not None
    assert abs(found.old_key_until - (datetime.now(UTC) + DAY)) < timedelta(minutes=5)
    assert (await merchants.show(connection, merchant_id)).old_key_until == found.old_key_until


@pytest.mark.parametrize(
    ("end", "is_over"),
    [
        ("now() + interval '1 microsecond'", False),
        ("now()", True),
        ("now() - interval '1 microsecond'", True),
    ],
)
async def test_the_old_key_ends_at_the_exact_moment_and_the_new_one_signs(
    connection: asyncpg.Connection, end: str, is_over: bool
) -> None:
    merchant_id, old = await a_merchant(connection)
    new = await rotate(connection, merchant_id)
    assert await signing(connection, merchant_id) == old
    async with connection.transaction():  # the database's clock stands still in it
        await end_overlap(connection, merchant_id, end)
        assert await working(connection, old, new) == ([new] if is_over else [old, new])
        assert await signing(connection, merchant_id) == (new if is_over else old)
        shown = await merchants.show(connection, merchant_id)
        assert (shown.old_key_until is None) is is_over


async def test_without_an_overlap_the_old_key_ends_at_once(connection: asyncpg.Connection) -> None:
    merchant_id, old = await a_merchant(connection)
    new = await rotate(connection, merchant_id, timedelta())
    assert await working(connection, old, new) == [new]
    assert await signing(connection, merchant_id) == new
    kept = await connection.fetchval("SELECT num_nonnulls(old_secret_digest) FROM merchants")
    assert kept == 0


async def test_a_second_overlap_is_refused_and_changes_nothing(
    connection: asyncpg.Connection,
) -> None:
    merchant_id, old = await a_merchant(connection)
    new = await rotate(connection, merchant_id)
    before = await connection.fetchrow("SELECT * FROM merchants")
    with pytest.raises(RefusedError, match="still works"):
        await rotate(connection, merchant_id, timedelta(hours=1))
    assert await connection.fetchrow("SELECT * FROM merchants") == before
    assert await working(connection, old, new) == [old, new]
    await end_overlap(connection, merchant_id, "now()")
    third = await rotate(connection, merchant_id)
    assert await working(connection, old, new, third) == [new, third]


async def test_a_stolen_key_ends_at_once_also_during_an_overlap(
    connection: asyncpg.Connection,
) -> None:
    merchant_id, old = await a_merchant(connection)
    new = await rotate(connection, merchant_id)
    third = await rotate(connection, merchant_id, timedelta())
    assert await working(connection, old, new, third) == [third]
    assert await signing(connection, merchant_id) == third
    assert (await merchants.show(connection, merchant_id)).old_key_until is None


async def test_the_old_key_can_be_ended_before_its_time(connection: asyncpg.Connection) -> None:
    merchant_id, old = await a_merchant(connection)
    new = await rotate(connection, merchant_id)
    for _ in range(2):  # a second time changes nothing
        assert (await shops.end_old_key(connection, OPERATOR, merchant_id)).old_key_until is None
        assert await working(connection, old, new) == [new]
        assert await signing(connection, merchant_id) == new
    with pytest.raises(RefusedError, match="mer_none"):
        await shops.end_old_key(connection, OPERATOR, "mer_none")


async def test_another_merchants_keys_are_untouched(connection: asyncpg.Connection) -> None:
    (one, _), (other, key) = await a_merchant(connection), await a_merchant(connection)
    other_new = await rotate(connection, other)
    await rotate(connection, one)
    await rotate(connection, one, timedelta())
    await shops.end_old_key(connection, OPERATOR, one)
    assert await working(connection, key, other_new) == [key, other_new]
    assert await signing(connection, other) == key


async def test_of_rotations_at_once_one_wins_and_no_key_is_lost(
    dsn: str, connection: asyncpg.Connection
) -> None:
    merchant_id, old = await a_merchant(connection)

    async def one() -> str | None:
        async with connection_to(dsn) as own:
            try:
                return await rotate(own, merchant_id)
            except RefusedError:
                return None

    made = [key for key in await asyncio.gather(*(one() for _ in range(6))) if key is not None]
    assert len(made) == 1
    assert await working(connection, old, *made) == [old, *made]


@pytest.mark.parametrize(
    "half",
    [
        "old_secret_until = NULL",
        "old_secret_encrypted = NULL",
        "old_secret_digest = NULL",
        "old_secret_digest = secret_digest",
        "old_secret_digest = '\\x00'",
    ],
)
async def test_no_half_of_an_old_key_can_be_stored(
    connection: asyncpg.Connection, half: str
) -> None:
    merchant_id, _ = await a_merchant(connection)
    await rotate(connection, merchant_id)
    with pytest.raises(asyncpg.CheckViolationError):
        await change(connection, f"UPDATE merchants SET {half}")
