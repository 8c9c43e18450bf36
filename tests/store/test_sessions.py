"""Sessions: found by their token while they live, and gone afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.store import customers, merchants, sessions
from laari.store.connect import connect

NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.fixture
async def connection(dsn: str):
    connection = await connect(dsn)
    yield connection
    await connection.close()


async def person(connection: asyncpg.Connection, **contacts: str) -> customers.NewCustomer:
    return await customers.create(
        connection, name="Ali", mode="live", tier="basic", password="secret", **contacts
    )


async def test_a_session_ends_when_idle_and_at_the_end_of_its_life(connection) -> None:
    customer = await person(connection)
    token = await sessions.open_for(connection, customer.id, NOW)

    async def found(after: timedelta) -> sessions.CustomerSession | None:
        return await sessions.of_customer(connection, token, NOW + after)

    session = await found(timedelta(minutes=29))
    assert session is not None
    assert (session.account, session.mode) == (customer.account, "live")
    assert await found(timedelta(minutes=31)) is None
    for minutes in range(20, 12 * 60 + 20, 20):
        await sessions.note_seen(connection, session, NOW + timedelta(minutes=minutes))
    assert await found(timedelta(hours=11, minutes=59)) is not None
    assert await found(timedelta(hours=12, minutes=1)) is None
    assert await sessions.of_user(connection, token, NOW) is None
    assert await sessions.of_customer(connection, token + "x", NOW) is None


async def test_only_the_digest_is_stored(connection) -> None:
    token = await sessions.open_for(connection, (await person(connection)).id, NOW)
    row = await connection.fetchrow("SELECT * FROM sessions")
    assert len(token) >= 43
    assert token not in str(row)


async def test_a_new_password_ends_the_others(connection) -> None:
    customer, neighbour = await person(connection), await person(connection, vpa="b")
    tokens = [await sessions.open_for(connection, customer.id, NOW) for _ in range(3)]
    other = await sessions.open_for(connection, neighbour.id, NOW)
    own = await sessions.of_customer(connection, tokens[0], NOW)
    assert own is not None
    await sessions.end_others(connection, own)
    left = [await sessions.of_customer(connection, token, NOW) for token in (*tokens, other)]
    assert [session is not None for session in left] == [True, False, False, True]
    await sessions.end(connection, tokens[0])
    assert await sessions.of_customer(connection, tokens[0], NOW) is None


async def test_merchants_people_have_sessions_of_their_own(connection) -> None:
    made = await merchants.create(
        connection, bytes(32), name="Shop", mode="live", email="a@shop.mv", password="secret"
    )
    token = await sessions.open_for(connection, "a@shop.mv", NOW)
    session = await sessions.of_user(connection, token, NOW)
    assert session is not None
    assert (session.merchant_id, session.merchant_name) == (made.merchant.id, "Shop")
    assert await sessions.of_customer(connection, token, NOW) is None
    assert await sessions.password_hash_of(connection, session) is not None


async def test_what_ended_is_forgotten(connection) -> None:
    customer = await person(connection)
    await sessions.open_for(connection, customer.id, NOW - timedelta(hours=1))
    await sessions.open_for(connection, customer.id, NOW)
    await sessions.forget_ended(connection, NOW)
    assert await connection.fetchval("SELECT count(*) FROM sessions") == 1


async def test_a_customer_is_found_by_each_contact_and_a_number_is_a_mobile_first(
    connection,
) -> None:
    first = await person(connection, mobile="7771234", email="a@b.mv", vpa="ali")
    second = await person(connection, vpa="7771234")

    async def found(**contact: str | None):
        named = {"mobile": None, "email": None, "vpa": None, **contact}
        login = await sessions.customer_login(connection, "live", **named)
        return None if login is None else login.whose

    assert await found(mobile="7771234", vpa="7771234") == first.id
    assert await found(email="a@b.mv") == await found(vpa="ali") == first.id
    assert await found(vpa="7771234") == second.id
    assert await found() is None
    assert (
        await sessions.customer_login(connection, "sandbox", mobile="7771234", email=None, vpa=None)
        is None
    )
