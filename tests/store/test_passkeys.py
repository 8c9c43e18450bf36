"""Passkeys in the database: races of two processes, and rows that somebody changes by hand."""

import asyncio
import functools
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.people.passkeys import KNOWN, STALE, EndPasskeys
from laari.rules.records.people import CustomerId, Passkey
from laari.rules.refusals import Refusal
from laari.store.counters.sessions import NOWHERE, Proof
from laari.store.people import devices
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import passkeys
from tests.actors import MASTER, OPERATOR, change
from tests.deciding import decide, done
from tests.making import make_customer
from tests.passkeys import Authenticator, add_passkey, adding, using

BOTH = frozenset({"email", "sms"})


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


async def new_customer(connection: asyncpg.Connection, **contacts: Any) -> UUID:
    values = {"name": "Aisha", "mode": "live", "tier": "basic", **contacts}
    return (await make_customer(connection, OPERATOR, **values)).id


async def test_of_two_customers_with_one_credential_at_once_one_gets_it(
    dsn: str, connection: asyncpg.Connection
) -> None:
    both = [await new_customer(connection) for _ in range(2)]
    one = Authenticator("https://laari.test")
    commands = [await adding(connection, each, one) for each in both]
    outcomes = await asyncio.gather(*(decide(dsn, each, BOTH) for each in commands))
    [refused] = [each for each in outcomes if isinstance(each, Refusal)]
    assert refused.message == KNOWN


async def test_of_one_answer_at_several_processes_one_counts(
    dsn: str, connection: asyncpg.Connection
) -> None:
    passkey = await add_passkey(connection, await new_customer(connection))
    command = using(passkey, 0)
    outcomes = await asyncio.gather(*(decide(dsn, command) for _ in range(4)))
    refused = [each.message for each in outcomes if isinstance(each, Refusal)]
    assert refused == [STALE] * 3


async def test_what_is_read_is_what_can_be_used(dsn: str, connection: asyncpg.Connection) -> None:
    customer = await new_customer(connection)
    first = await add_passkey(connection, customer)
    second = await add_passkey(connection, customer)
    found = await passkeys.by_credential(connection, first.credential)
    assert found is not None
    assert found.passkey == first
    assert [each.id for each in await passkeys.of_customer(connection, customer)] == [
        second.id,
        first.id,
    ]
    assert await done(dsn, EndPasskeys(OPERATOR, customer)) == 2
    assert await passkeys.by_credential(connection, first.credential) is None
    assert await passkeys.of_customer(connection, customer) == []
    assert first.credential in await passkeys.ids(connection, [first.credential])


async def test_a_log_in_that_races_with_the_end_of_its_passkey_has_no_session_afterwards(
    dsn: str, connection: asyncpg.Connection
) -> None:
    """The answer has counted; its session is being opened, in each order of the two."""
    customer = await new_customer(connection)
    passkey, ended = [await add_passkey(connection, customer) for _ in range(2)]
    found = await passkeys.by_credential(connection, passkey.credential)
    assert found is not None
    opening = functools.partial(
        devices.open_session,
        master=MASTER,
        whose=CustomerId(customer),
        now=datetime.now(UTC),
        opened=NOWHERE,
        channels=frozenset(),
    )
    async with connection_to(dsn) as other:
        ending = other.transaction()  # the end first: the log-in waits for it and finds it
        await ending.start()
        await other.execute("SELECT FROM customers WHERE id = $1 FOR NO KEY UPDATE", customer)
        await change(other, "UPDATE passkeys SET ended_at = now() WHERE id = $1", ended.id)
        log_in = asyncio.create_task(
            opening(connection, proof=Proof(found.password_hash, ended.id))
        )
        await asyncio.sleep(0.2)
        assert not log_in.done()
        await ending.commit()
        assert await log_in is None

        logging_in = other.transaction()  # the log-in first: the end waits for it and ends it
        await logging_in.start()
        assert await opening(other, proof=Proof(found.password_hash, passkey.id)) is not None
        end = asyncio.create_task(decide(dsn, EndPasskeys(OPERATOR, customer)))
        await asyncio.sleep(0.2)
        assert not end.done()
        await logging_in.commit()
        assert await end == 1
    assert await connection.fetchval("SELECT count(*) FROM sessions") == 0


async def test_an_ended_passkey_stays_as_it_is(dsn: str, connection: asyncpg.Connection) -> None:
    customer = await new_customer(connection)
    await add_passkey(connection, customer)
    await done(dsn, EndPasskeys(OPERATOR, customer))
    for statement in ("UPDATE passkeys SET ended_at = NULL", "DELETE FROM passkeys"):
        with pytest.raises(asyncpg.RestrictViolationError):
            await change(connection, statement)


async def test_a_passkey_that_was_changed_by_hand_opens_nothing(
    dsn: str, connection: asyncpg.Connection
) -> None:
    """With an entry in the journal it is written, but its binding needs the master key."""
    passkey = await add_passkey(connection, await new_customer(connection))
    with pytest.raises(asyncpg.RestrictViolationError, match="needs an actor"):
        await connection.execute("UPDATE passkeys SET public_key = 'mine'")
    await change(connection, "UPDATE passkeys SET public_key = 'mine'")
    refused = await decide(dsn, using(replace(passkey, public_key=b"mine"), 1))
    assert isinstance(refused, Refusal)
    assert refused.code == "not_found"


async def test_a_use_has_no_entry_and_the_others_have(
    dsn: str, connection: asyncpg.Connection
) -> None:
    customer = await new_customer(connection)
    passkey = await add_passkey(connection, customer)
    used = await done(dsn, using(passkey, 5))
    assert isinstance(used, Passkey)
    assert used.used_at is not None
    assert used.used_at - passkey.added_at < timedelta(minutes=5)
    await done(dsn, EndPasskeys(OPERATOR, customer))
    rows = await connection.fetch(
        "SELECT action, object_id FROM journal WHERE object_type = 'passkey' ORDER BY id"
    )
    own = f"psk_{passkey.id.hex}"
    assert [tuple(row) for row in rows] == [("passkey.add", own), ("passkey.end", own)]
