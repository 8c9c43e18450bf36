"""Links and codes for forgotten passwords: reused, expired, foreign, guessed, replaced."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from laari.rules.limits.password_links import PASSWORD_CODE_DIGITS, PASSWORD_LINK_LIFE
from laari.rules.people.password_links import AskPasswordLink, ExchangeCode
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import CustomerId, PersonId
from laari.store.counters import sessions
from laari.store.counters.purge import purge_sessions
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import logins, password_links
from tests.actors import MASTER, OPERATOR
from tests.logins import opened, password_link, set_password, use_link
from tests.making import make_customer
from tests.messages.outbox import content_of
from tests.people import ORIGIN, RefusedError, add, decided

KEY = MASTER
NOW = datetime(2027, 7, 1, 9, 30, tzinfo=UTC)
BOTH = frozenset({"email", "sms"})
EMAIL = "finance@laari.example"
HANDLE = "a handle"


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


@pytest.fixture
async def person(connection: asyncpg.Connection) -> PersonId:
    added = await add(connection, OPERATOR, None, EMAIL, "finance", None, NewLogin("old hash"))
    return added.id


async def new_customer(connection: asyncpg.Connection, **contacts: str) -> CustomerId:
    made = await make_customer(
        connection, OPERATOR, name="Aisha", mode="live", tier="basic", **contacts
    )
    return CustomerId(made.id)


async def send(
    connection: asyncpg.Connection,
    whose: PersonId | CustomerId,
    channels: frozenset[str] = BOTH,
    now: datetime = NOW,
) -> None:
    await decided(connection, AskPasswordLink(whose, HANDLE), now, KEY, channels)


async def exchange(
    connection: asyncpg.Connection, code: str, handle: str = HANDLE, now: datetime = NOW
) -> str | None:
    """The token of the link; None if the code is refused."""
    digest = password_links.of_request(KEY, handle)
    try:
        return await decided(connection, ExchangeCode(digest, handle, code), now)
    except RefusedError:
        return None


async def sent(connection: asyncpg.Connection) -> tuple[str, str, dict[str, str]]:
    """Kind, recipient and values of the latest message."""
    row = await connection.fetchrow("SELECT * FROM messages ORDER BY id DESC LIMIT 1")
    assert row is not None
    return row["kind"], row["recipient"], content_of(row)


async def test_a_link_sets_the_password_once(
    connection: asyncpg.Connection, person: PersonId
) -> None:
    session = await opened(connection, EMAIL, NOW)
    await send(connection, person)
    kind, recipient, values = await sent(connection)
    assert (kind, recipient) == ("password_link", EMAIL)
    place, _, token = values["link"].rpartition("/")
    assert place == f"{ORIGIN}/dashboard/forgotten"
    assert await password_links.find(connection, MASTER, token, NOW) == person
    assert await use_link(connection, token, "new hash", NOW)
    assert await logins.password_hash_of(connection, person) == "new hash"
    assert await sessions.of_person(connection, MASTER, session, NOW) is None
    assert not await use_link(connection, token, "third hash", NOW)
    assert await password_links.find(connection, MASTER, token, NOW) is None
    assert await logins.password_hash_of(connection, person) == "new hash"


async def test_of_two_uses_at_once_one_works(
    connection: asyncpg.Connection, person: PersonId, dsn: str
) -> None:
    token = await password_link(connection, person, NOW)

    async def use(password_hash: str) -> bool:
        async with connection_to(dsn) as own:
            return await use_link(own, token, password_hash, NOW)

    assert sorted(await asyncio.gather(*(use(f"hash {n}") for n in range(4)))) == [
        *[False] * 3,
        True,
    ]


async def test_a_link_expires_and_is_purged(
    connection: asyncpg.Connection, person: PersonId
) -> None:
    token = await password_link(connection, person, NOW)
    late = NOW + PASSWORD_LINK_LIFE
    assert (
        await password_links.find(connection, MASTER, token, late - timedelta(seconds=1)) == person
    )
    assert await password_links.find(connection, MASTER, token, late) is None
    assert not await use_link(connection, token, "new hash", late)
    await purge_sessions(connection, late + timedelta(seconds=1))
    assert await connection.fetchval("SELECT count(*) FROM password_links") == 0


async def test_a_new_link_replaces_the_last(
    connection: asyncpg.Connection, person: PersonId
) -> None:
    first = await password_link(connection, person, NOW)
    second = await password_link(connection, person, NOW)
    assert not await use_link(connection, first, "new hash", NOW)
    assert await use_link(connection, second, "new hash", NOW)


async def test_a_changed_password_ends_the_link(
    connection: asyncpg.Connection, person: PersonId
) -> None:
    token = await password_link(connection, person, NOW)
    await set_password(connection, OPERATOR, person, "chosen elsewhere")
    assert not await use_link(connection, token, "new hash", NOW)


async def test_neither_tokens_nor_codes_are_stored(
    connection: asyncpg.Connection, person: PersonId
) -> None:
    token = await password_link(connection, person, NOW)
    row = await connection.fetchrow("SELECT * FROM password_links")
    assert token not in str(row)
    assert not await use_link(connection, token[:-1], "new hash", NOW)


async def test_a_customer_without_email_gets_a_code(connection: asyncpg.Connection) -> None:
    customer = await new_customer(connection, mobile="7771234")
    await send(connection, customer)
    kind, recipient, values = await sent(connection)
    assert (kind, recipient) == ("password_code", "+9607771234")
    code = values["code"]
    assert len(code) == PASSWORD_CODE_DIGITS
    # The code needs the secret of its request, and the request needs the code.
    assert await exchange(connection, code, "another") is None
    assert await password_links.find(connection, MASTER, HANDLE, NOW) is None
    assert not await use_link(connection, HANDLE, "new hash", NOW)
    token = await exchange(connection, code)
    assert token is not None
    assert await exchange(connection, code) is None
    assert await use_link(connection, token, "new hash", NOW)
    assert await logins.password_hash_of(connection, customer) == "new hash"
    last = await connection.fetch("SELECT actor_kind, action FROM journal ORDER BY id DESC LIMIT 2")
    assert {tuple(row) for row in last} == {
        ("customer", "customer.set_password"),
        ("customer", "wallet_key.revoke"),
    }


async def test_a_code_is_guessed_three_times_at_most(
    connection: asyncpg.Connection, dsn: str
) -> None:
    customer = await new_customer(connection, mobile="7771234")
    await send(connection, customer)
    code = (await sent(connection))[2]["code"]

    async def guess(wrong: str) -> str | None:
        async with connection_to(dsn) as own:
            return await exchange(own, wrong)

    guesses = (guess(f"{(int(code) + n) % 10**6:06}") for n in range(1, 9))
    assert set(await asyncio.gather(*guesses)) == {None}
    assert await connection.fetchval("SELECT attempts FROM password_links") == 3
    assert await exchange(connection, code) is None


async def test_a_code_expires(connection: asyncpg.Connection) -> None:
    customer = await new_customer(connection, mobile="7771234")
    await send(connection, customer)
    code = (await sent(connection))[2]["code"]
    late = NOW + PASSWORD_LINK_LIFE
    assert await exchange(connection, code, now=late) is None


@pytest.mark.parametrize("channels", [frozenset(), frozenset({"sms"})])
async def test_without_a_way_to_reach_the_person_nothing_is_written(
    connection: asyncpg.Connection, person: PersonId, channels: frozenset[str]
) -> None:
    await send(connection, person, channels)
    assert await connection.fetchval("SELECT count(*) FROM messages") == 0
    assert await connection.fetchval("SELECT count(*) FROM password_links") == 0


async def test_a_sandbox_customer_gets_no_message(connection: asyncpg.Connection) -> None:
    made = await make_customer(
        connection, OPERATOR, name="Aisha", mode="sandbox", tier="basic", email="a@example.mv"
    )
    await send(connection, CustomerId(UUID(str(made.id))))
    assert await connection.fetchval("SELECT count(*) FROM messages") == 0
