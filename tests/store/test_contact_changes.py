"""Changes of contacts: codes, the delay, the link that stops them, races and the journal."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from laari.store.people import contact_changes, customers, logins, password_links, sessions
from laari.store.people.contact_changes import Contact, ContactChange, ContactError
from laari.store.people.logins import CustomerId
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.actors import change as change_by_hand
from tests.logins import password_link

KEY = b"k" * 32
ORIGIN = "https://pay.example.com"
BOTH = frozenset({"email", "sms"})
NONE = frozenset[str]()
DAY = timedelta(hours=24)
OLD, NEW = "7771234", "7775678"
EMAIL = "a@example.mv"


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


async def new_customer(connection: asyncpg.Connection, **contacts: Any) -> CustomerId:
    values = {"name": "Aisha", "mode": "live", "tier": "basic", **contacts}
    return CustomerId((await customers.create(connection, OPERATOR, **values)).id)


@pytest.fixture
async def customer(connection: asyncpg.Connection) -> CustomerId:
    return await new_customer(connection, mobile=OLD, email=EMAIL)


async def request(
    connection: asyncpg.Connection,
    customer: CustomerId,
    value: str = NEW,
    contact: Contact = "mobile",
    channels: frozenset[str] = BOTH,
) -> ContactChange:
    return await contact_changes.request(
        connection, OPERATOR, KEY, customer.id, contact, value, "lost phone", channels
    )


async def confirm(
    connection: asyncpg.Connection,
    change: ContactChange,
    code: str | None = None,
    *,
    reason: str | None = None,
    delay: timedelta = timedelta(0),
    channels: frozenset[str] = BOTH,
) -> ContactChange | None:
    return await contact_changes.confirm(
        *(connection, OPERATOR, KEY, change.id),
        code=code,
        reason=reason,
        delay=delay,
        channels=channels,
        origin=ORIGIN,
    )


async def sent(connection: asyncpg.Connection, kind: str) -> dict[str, dict[str, str]]:
    """The values of the messages of this kind, by recipient."""
    rows = await connection.fetch(
        "SELECT recipient, parameters FROM messages WHERE kind = $1 ORDER BY id", kind
    )
    return {row["recipient"]: json.loads(row["parameters"]) for row in rows}


async def code_of(connection: asyncpg.Connection, recipient: str = f"+960{NEW}") -> str:
    return (await sent(connection, "contact_code"))[recipient]["code"]


async def confirmed(connection: asyncpg.Connection, customer: CustomerId) -> ContactChange:
    """A change whose moment has come."""
    change = await request(connection, customer)
    assert await confirm(connection, change, await code_of(connection)) is not None
    return change


async def mobile_of(connection: asyncpg.Connection, customer: CustomerId) -> object:
    return await connection.fetchval("SELECT mobile FROM customers WHERE id = $1", customer.id)


async def status_of(connection: asyncpg.Connection, change: ContactChange) -> object:
    return await connection.fetchval("SELECT status FROM contact_changes WHERE id = $1", change.id)


async def test_a_confirmed_change_takes_effect_after_the_delay(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await request(connection, customer)
    waiting = await confirm(connection, change, await code_of(connection), delay=DAY)
    assert waiting is not None
    assert waiting.effective_at is not None
    assert waiting.effective_at - waiting.requested_at >= DAY
    assert not await contact_changes.apply_due(connection)
    assert await mobile_of(connection, customer) == OLD
    await change_by_hand(
        connection,
        "UPDATE contact_changes SET confirmed_at = now() - interval '25 hours', "
        "effective_at = now() - interval '1 hour'",
    )
    assert await contact_changes.apply_due(connection)
    assert await mobile_of(connection, customer) == NEW
    assert not await contact_changes.apply_due(connection)
    rows = await connection.fetch(
        "SELECT action FROM journal WHERE object_type IN ('contact_change', 'customer') ORDER BY id"
    )
    assert [row["action"] for row in rows] == [
        "customer.create",
        "contact_change.request",
        "contact_change.confirm",
        "test.change",
        "customer.set_contact",
        "contact_change.apply",
    ]


async def test_sessions_links_and_the_old_log_in_end_at_the_effect(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    now = (await confirmed(connection, customer)).requested_at
    token = await password_link(connection, customer, now)
    await connection.execute(
        "INSERT INTO sessions (digest, customer_id, created_at, authenticated_at, seen_at) "
        "VALUES (sha256('token'), $1, now(), now(), now())",
        customer.id,
    )
    assert await sessions.list_of(connection, customer, now, b"") != []
    assert await contact_changes.apply_due(connection)
    assert await sessions.list_of(connection, customer, now, b"") == []
    assert await password_links.find(connection, token, now) is None
    for mobile, known in ((OLD, False), (NEW, True)):
        login = await logins.of_customer(connection, "live", mobile=mobile, email=None, vpa=None)
        assert (login is not None) is known


async def test_every_present_contact_gets_a_link_that_stops_it_once(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await request(connection, customer)
    assert await sent(connection, "contact_change") == {}
    await confirm(connection, change, await code_of(connection))
    notices = await sent(connection, "contact_change")
    assert notices.keys() == {f"+960{OLD}", EMAIL}
    assert NEW not in notices[EMAIL]["new_contact"]
    place, _, token = notices[EMAIL]["link"].rpartition("/")
    assert place == f"{ORIGIN}/app/contact"
    assert not await contact_changes.stop(connection, token[:-1], None)
    assert await contact_changes.stop(connection, token, "192.0.2.1")
    assert not await contact_changes.stop(connection, token, None)
    assert await contact_changes.by_link(connection, token) is None
    assert not await contact_changes.apply_due(connection)
    assert await mobile_of(connection, customer) == OLD
    last = await connection.fetchrow(
        "SELECT actor_kind, action, address FROM journal ORDER BY id DESC LIMIT 1"
    )
    assert tuple(last) == ("customer", "contact_change.stop", "192.0.2.1")


async def test_a_link_cannot_stop_a_change_in_effect(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    await confirmed(connection, customer)
    link = (await sent(connection, "contact_change"))[EMAIL]["link"]
    await contact_changes.apply_due(connection)
    assert not await contact_changes.stop(connection, link.rpartition("/")[2], None)
    assert await mobile_of(connection, customer) == NEW


async def test_a_code_is_guessed_three_times_at_most(
    connection: asyncpg.Connection, customer: CustomerId, dsn: str
) -> None:
    change = await request(connection, customer)
    code = await code_of(connection)

    async def guess(wrong: str) -> object:
        async with connection_to(dsn) as own:
            return await confirm(own, change, wrong)

    guesses = [guess(f"{(int(code) + n) % 10**6:06}") for n in range(1, 9)]
    answers = await asyncio.gather(*guesses, return_exceptions=True)
    assert answers.count(None) == 3
    assert sum(isinstance(each, ContactError) for each in answers) == 5
    with pytest.raises(ContactError, match="no longer works"):
        await confirm(connection, change, code)


async def test_a_code_expires(connection: asyncpg.Connection, customer: CustomerId) -> None:
    change = await request(connection, customer)
    await connection.execute("UPDATE contact_changes SET code_expires_at = now()")
    with pytest.raises(ContactError, match="no longer works"):
        await confirm(connection, change, await code_of(connection))


async def test_a_new_request_replaces_one_whose_code_expired(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    old = await request(connection, customer)
    with pytest.raises(ContactError, match="is open"):
        await request(connection, customer, "7770001")
    code = await code_of(connection)
    await connection.execute("UPDATE contact_changes SET code_expires_at = now()")
    new = await request(connection, customer, "7770001")
    assert await status_of(connection, old) == "cancelled"
    assert await status_of(connection, new) == "waiting"
    with pytest.raises(ContactError, match="does not wait"):
        await confirm(connection, old, code)
    actions = await connection.fetch(
        "SELECT action, object_id FROM journal WHERE object_type = 'contact_change' ORDER BY id"
    )
    assert [tuple(row) for row in actions] == [
        ("contact_change.request", f"chg_{old.id.hex}"),
        ("contact_change.expire", f"chg_{old.id.hex}"),
        ("contact_change.request", f"chg_{new.id.hex}"),
    ]


async def test_of_requests_at_once_one_replaces_the_expired_one(
    connection: asyncpg.Connection, customer: CustomerId, dsn: str
) -> None:
    await request(connection, customer)
    await connection.execute("UPDATE contact_changes SET code_expires_at = now()")

    async def ask(value: str) -> object:
        async with connection_to(dsn) as own:
            return await request(own, customer, value)

    values = [f"777000{number}" for number in range(4)]
    answers = await asyncio.gather(*map(ask, values), return_exceptions=True)
    kinds = sorted(type(each).__name__ for each in answers)
    assert kinds == ["ContactChange", "ContactError", "ContactError", "ContactError"]
    rows = await connection.fetch("SELECT status FROM contact_changes ORDER BY status")
    assert [row["status"] for row in rows] == ["cancelled", "waiting"]


async def test_a_refused_request_leaves_the_expired_one(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    await new_customer(connection, mobile="7770002")
    old = await request(connection, customer)
    await connection.execute("UPDATE contact_changes SET code_expires_at = now()")
    with pytest.raises(ContactError):
        await request(connection, customer, "7770002")  # of another customer
    assert await status_of(connection, old) == "waiting"


async def test_a_change_that_waits_for_no_code_is_not_replaced(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    await request(connection, customer, channels=NONE)
    with pytest.raises(ContactError, match="is open"):
        await request(connection, customer, "7770001")


async def test_a_late_confirmation_and_a_new_request_do_not_block_each_other(
    connection: asyncpg.Connection, customer: CustomerId, dsn: str
) -> None:
    old = await request(connection, customer)
    code = await code_of(connection)
    async with connection_to(dsn) as other, connection_to(dsn) as watch:
        async with connection.transaction():
            await connection.execute("SELECT FROM customers WHERE id = $1 FOR UPDATE", customer.id)
            late = asyncio.create_task(confirm(other, old, code))
            while not await watch.fetchval(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1",
                other.get_server_pid(),
            ):
                await asyncio.sleep(0.01)
            # The code expires while the confirmation waits for the customer.
            await connection.execute("SELECT FROM contact_changes WHERE id = $1 FOR UPDATE", old.id)
            await connection.execute("UPDATE contact_changes SET code_expires_at = now()")
            new = await request(connection, customer, "7770001")
        with pytest.raises(ContactError, match="does not wait"):
            await late
    assert await status_of(connection, new) == "waiting"


@pytest.mark.parametrize("channels", [BOTH, NONE])
async def test_a_code_that_was_sent_cannot_be_left_out(
    connection: asyncpg.Connection, customer: CustomerId, channels: frozenset[str]
) -> None:
    """Also if the transport was switched off meanwhile."""
    change = await request(connection, customer)
    with pytest.raises(ContactError, match="needs the code"):
        await confirm(connection, change, reason="I know the voice", channels=channels)


@pytest.mark.parametrize("channels", [NONE, frozenset({"email"})])
async def test_without_a_transport_a_reason_confirms(
    connection: asyncpg.Connection, customer: CustomerId, channels: frozenset[str]
) -> None:
    change = await request(connection, customer, channels=channels)
    assert not change.has_code
    with pytest.raises(ContactError, match="needs a reason"):
        await confirm(connection, change, "123456", channels=channels)
    assert await confirm(connection, change, reason="saw the passport", channels=channels)
    # A channel that exists still carries the notice.
    assert set(await sent(connection, "contact_change")) == ({EMAIL} if channels else set())


async def test_one_open_change_for_each_contact(
    connection: asyncpg.Connection, customer: CustomerId, dsn: str
) -> None:
    async def ask(value: str) -> object:
        async with connection_to(dsn) as own:
            return await request(own, customer, value)

    answers = await asyncio.gather(*map(ask, ("7770001", "7770002")), return_exceptions=True)
    assert sorted(type(each).__name__ for each in answers) == ["ContactChange", "ContactError"]
    assert await request(connection, customer, "b@example.mv", "email")
    [first] = [each for each in answers if isinstance(each, ContactChange)]
    await contact_changes.cancel(connection, OPERATOR, first.id, "wrong number")
    with pytest.raises(ContactError, match="ended already"):
        await contact_changes.cancel(connection, OPERATOR, first.id, "again")
    with pytest.raises(ContactError, match="does not wait"):
        await confirm(connection, first, "123456")
    assert await request(connection, customer)


async def test_a_contact_of_another_customer_is_refused(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    await new_customer(connection, mobile=NEW)
    with pytest.raises(ContactError, match="another customer"):
        await request(connection, customer)
    with pytest.raises(ContactError, match="has this mobile number already"):
        await request(connection, customer, OLD)
    # The other mode has its own contacts.
    await new_customer(connection, mobile="7779999", mode="sandbox")
    assert await request(connection, customer, "7779999")


async def test_a_contact_that_was_taken_meanwhile_fails_and_changes_nothing(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await confirmed(connection, customer)
    await new_customer(connection, mobile=NEW)
    assert await contact_changes.apply_due(connection)
    assert await status_of(connection, change) == "failed"
    assert await mobile_of(connection, customer) == OLD
    assert not await contact_changes.apply_due(connection)


async def test_a_contact_that_was_changed_meanwhile_stays(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    """By an operator in the database: the notice went to another contact then."""
    made = await confirmed(connection, customer)
    await change_by_hand(
        connection, "UPDATE customers SET mobile = '7770009' WHERE id = $1", customer.id
    )
    assert await contact_changes.apply_due(connection)
    assert await status_of(connection, made) == "failed"
    assert await mobile_of(connection, customer) == "7770009"


async def test_two_appliers_at_once_change_it_once(
    connection: asyncpg.Connection, customer: CustomerId, dsn: str
) -> None:
    change = await confirmed(connection, customer)

    async def apply() -> bool:
        async with connection_to(dsn) as own:
            return await contact_changes.apply_due(own)

    assert sum(await asyncio.gather(*(apply() for _ in range(4)))) == 1
    assert await status_of(connection, change) == "done"


async def test_a_customer_of_the_sandbox_gets_no_messages(connection: asyncpg.Connection) -> None:
    change = await request(connection, await new_customer(connection, mobile=OLD, mode="sandbox"))
    assert not change.has_code
    assert await confirm(connection, change, reason="test") is not None
    assert await connection.fetchval("SELECT count(*) FROM messages") == 0


async def test_an_ended_change_stays_as_it_is(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await request(connection, customer)
    await contact_changes.cancel(connection, OPERATOR, change.id, "wrong number")
    for statement in (
        "UPDATE contact_changes SET new_value = '7770000'",
        "DELETE FROM contact_changes",
    ):
        with pytest.raises(asyncpg.RestrictViolationError):
            await connection.execute(statement)


async def test_every_change_of_its_status_needs_an_actor_and_has_an_entry(
    connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await request(connection, customer)
    for statement in (
        "UPDATE contact_changes SET new_value = '7770000'",
        "UPDATE contact_changes SET code_digest = sha256('mine')",
        "UPDATE contact_changes SET status = 'cancelled', ended_at = now(), ended_by = 'x'",
    ):
        with pytest.raises(asyncpg.RestrictViolationError, match="needs an actor"):
            await connection.execute(statement)
    assert await confirm(connection, change, "no code") is None  # an attempt is no change
    assert await confirm(connection, change, await code_of(connection))
    link = (await sent(connection, "contact_change"))[EMAIL]["link"]
    assert await contact_changes.stop(connection, link.rpartition("/")[2], "203.0.113.7")
    rows = await connection.fetch(
        "SELECT * FROM journal WHERE object_type = 'contact_change' ORDER BY id"
    )
    assert {(row["object_id"], row["mode"]) for row in rows} == {(f"chg_{change.id.hex}", "live")}
    assert [(row["action"], row["actor_name"], row["reason"]) for row in rows] == [
        ("contact_change.request", OPERATOR.name, "lost phone"),
        ("contact_change.confirm", OPERATOR.name, None),
        ("contact_change.stop", f"cus_{customer.id.hex}", None),
    ]
    assert [json.loads(row["after"])["status"] for row in rows] == [
        *("waiting", "confirmed", "stopped")
    ]
    assert rows[2]["address"] == "203.0.113.7"
