"""Changes of contacts: codes, the delay, the link that stops them, races and the journal."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from laari.rules.people.contact_changes import (
    STOP_LINK,
    ApplyContactChange,
    CancelContactChange,
    ConfirmContactChange,
    RequestContactChange,
    StopContactChange,
)
from laari.rules.records.people import ContactChange, ContactKind, CustomerId
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.postgres.pool import connection_to
from laari.store.reads import contact_changes
from laari.store.reads.people import logins, password_links
from laari.store.secrets import derive
from tests.actors import MASTER, OPERATOR
from tests.actors import change as change_by_hand
from tests.deciding import ORIGIN, decide, done, refused
from tests.logins import password_link
from tests.making import make_customer
from tests.messages.outbox import content_of

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
    return CustomerId((await make_customer(connection, OPERATOR, **values)).id)


@pytest.fixture
async def customer(connection: asyncpg.Connection) -> CustomerId:
    return await new_customer(connection, mobile=OLD, email=EMAIL)


def request(
    customer: CustomerId, value: str = NEW, contact: ContactKind = "mobile"
) -> RequestContactChange:
    return RequestContactChange(OPERATOR, customer.id, contact, value, "lost phone")


def confirm(
    change: ContactChange,
    code: str | None = None,
    *,
    reason: str | None = None,
    delay: timedelta = timedelta(0),
) -> ConfirmContactChange:
    return ConfirmContactChange(
        OPERATOR, change.customer_id, change.contact, change.id, code, reason, delay
    )


def cancel(change: ContactChange, reason: str) -> CancelContactChange:
    return CancelContactChange(OPERATOR, change.customer_id, change.contact, change.id, reason)


async def stop(dsn: str, change: ContactChange, link: str, address: str | None = None) -> bool:
    digest = derive(MASTER, STOP_LINK, link.rpartition("/")[2])
    command = StopContactChange(change.customer_id, change.id, digest, address)
    return not isinstance(await decide(dsn, command), Refusal)


async def apply_due(dsn: str, connection: asyncpg.Connection) -> list[str]:
    """The ends of the changes whose moment has come."""
    due = await contact_changes.due(connection, datetime.now(UTC), 10)
    commands = [ApplyContactChange(each.customer_id, each.id) for each in due]
    return [(await done(dsn, command)).status for command in commands]


async def sent(connection: asyncpg.Connection, kind: str) -> dict[str, dict[str, str]]:
    """The values of the messages of this kind, by recipient."""
    rows = await connection.fetch("SELECT * FROM messages WHERE kind = $1 ORDER BY id", kind)
    return {row["recipient"]: content_of(row) for row in rows}


async def code_of(connection: asyncpg.Connection, recipient: str = f"+960{NEW}") -> str:
    return (await sent(connection, "contact_code"))[recipient]["code"]


async def confirmed(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> ContactChange:
    """A change whose moment has come."""
    change = await done(dsn, request(customer), BOTH)
    return await done(dsn, confirm(change, await code_of(connection)), BOTH)


async def mobile_of(connection: asyncpg.Connection, customer: CustomerId) -> object:
    return await connection.fetchval("SELECT mobile FROM customers WHERE id = $1", customer.id)


async def status_of(connection: asyncpg.Connection, change: ContactChange) -> object:
    return await connection.fetchval("SELECT status FROM contact_changes WHERE id = $1", change.id)


async def expire_code(connection: asyncpg.Connection, change: ContactChange) -> None:
    await change_by_hand(
        connection, "UPDATE contact_changes SET code_expires_at = now() WHERE id = $1", change.id
    )


async def test_a_confirmed_change_takes_effect_after_the_delay(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await done(dsn, request(customer), BOTH)
    waiting = await done(dsn, confirm(change, await code_of(connection), delay=DAY), BOTH)
    assert waiting.effective_at is not None
    assert waiting.effective_at - waiting.requested_at >= DAY
    assert await apply_due(dsn, connection) == []
    early = ApplyContactChange(customer.id, change.id)
    assert "does not wait for its effect" in await refused(dsn, early)
    assert await mobile_of(connection, customer) == OLD
    await change_by_hand(
        connection,
        "UPDATE contact_changes SET confirmed_at = now() - interval '25 hours', "
        "effective_at = now() - interval '1 hour'",
    )
    assert await apply_due(dsn, connection) == ["done"]
    assert await mobile_of(connection, customer) == NEW
    assert await apply_due(dsn, connection) == []
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
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    now = (await confirmed(dsn, connection, customer)).requested_at
    token = await password_link(connection, customer, now)
    await connection.execute(
        "INSERT INTO sessions (digest, binding, customer_id, created_at, authenticated_at, "
        "seen_at) VALUES (sha256('token'), sha256(''), $1, now(), now(), now())",
        customer.id,
    )
    assert await sessions.list_of(connection, customer, now, b"") != []
    assert await apply_due(dsn, connection) == ["done"]
    assert await sessions.list_of(connection, customer, now, b"") == []
    assert await password_links.find(connection, MASTER, token, now) is None
    for mobile, known in ((OLD, False), (NEW, True)):
        login = await logins.of_customer(connection, "live", mobile=mobile, email=None, vpa=None)
        assert (login is not None) is known


async def test_every_present_contact_gets_a_link_that_stops_it_once(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await done(dsn, request(customer), BOTH)
    assert await sent(connection, "contact_change") == {}
    await done(dsn, confirm(change, await code_of(connection)), BOTH)
    notices = await sent(connection, "contact_change")
    assert notices.keys() == {f"+960{OLD}", EMAIL}
    assert NEW not in notices[EMAIL]["new_contact"]
    link = notices[EMAIL]["link"]
    assert link.rpartition("/")[0] == f"{ORIGIN}/app/contact"
    digest = derive(MASTER, STOP_LINK, link.rpartition("/")[2])
    found = await contact_changes.by_stop_digest(connection, digest)
    assert found is not None
    assert found.id == change.id
    assert not await stop(dsn, change, link[:-1])
    assert await stop(dsn, change, link, "192.0.2.1")
    assert not await stop(dsn, change, link)
    assert await contact_changes.by_stop_digest(connection, digest) is None
    assert await apply_due(dsn, connection) == []
    assert await mobile_of(connection, customer) == OLD
    last = await connection.fetchrow(
        "SELECT actor_kind, action, address FROM journal ORDER BY id DESC LIMIT 1"
    )
    assert tuple(last) == ("customer", "contact_change.stop", "192.0.2.1")


async def test_a_link_cannot_stop_a_change_in_effect(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await confirmed(dsn, connection, customer)
    link = (await sent(connection, "contact_change"))[EMAIL]["link"]
    assert await apply_due(dsn, connection) == ["done"]
    assert not await stop(dsn, change, link)
    assert await mobile_of(connection, customer) == NEW


async def test_a_code_is_guessed_three_times_at_most(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    """A refused guess is counted, of several processes at once too."""
    change = await done(dsn, request(customer), BOTH)
    code = await code_of(connection)
    guesses = [f"{(int(code) + n) % 10**6:06}" for n in range(1, 9)]
    answers = await asyncio.gather(*(refused(dsn, confirm(change, each)) for each in guesses))
    assert sum("is wrong" in each for each in answers) == 3
    assert sum("no longer works" in each for each in answers) == 5
    assert "no longer works" in await refused(dsn, confirm(change, code))


async def test_a_code_expires(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await done(dsn, request(customer), BOTH)
    await expire_code(connection, change)
    answer = await refused(dsn, confirm(change, await code_of(connection)))
    assert "no longer works" in answer


async def test_a_new_request_replaces_one_whose_code_expired(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    old = await done(dsn, request(customer), BOTH)
    assert "is open" in await refused(dsn, request(customer, "7770001"), BOTH)
    code = await code_of(connection)
    await expire_code(connection, old)
    new = await done(dsn, request(customer, "7770001"), BOTH)
    assert await status_of(connection, old) == "cancelled"
    assert await status_of(connection, new) == "waiting"
    assert "no open change" in await refused(dsn, confirm(old, code))
    actions = await connection.fetch(
        "SELECT action, object_id FROM journal WHERE object_type = 'contact_change' "
        "AND action <> 'test.change' ORDER BY id"
    )
    assert [tuple(row) for row in actions] == [
        ("contact_change.request", f"chg_{old.id.hex}"),
        ("contact_change.expire", f"chg_{old.id.hex}"),
        ("contact_change.request", f"chg_{new.id.hex}"),
    ]


async def test_of_requests_at_once_one_replaces_the_expired_one(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    old = await done(dsn, request(customer), BOTH)
    await expire_code(connection, old)
    values = [f"777000{number}" for number in range(4)]
    answers = await asyncio.gather(*(decide(dsn, request(customer, v), BOTH) for v in values))
    assert sum(isinstance(each, Refusal) for each in answers) == 3
    rows = await connection.fetch("SELECT status FROM contact_changes ORDER BY status")
    assert [row["status"] for row in rows] == ["cancelled", "waiting"]


async def test_a_refused_request_leaves_the_expired_one(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    await new_customer(connection, mobile="7770002")
    old = await done(dsn, request(customer), BOTH)
    await expire_code(connection, old)
    await refused(dsn, request(customer, "7770002"), BOTH)  # of another customer
    assert await status_of(connection, old) == "waiting"


async def test_a_change_that_waits_for_no_code_is_not_replaced(
    dsn: str, customer: CustomerId
) -> None:
    await done(dsn, request(customer))
    assert "is open" in await refused(dsn, request(customer, "7770001"))


async def test_a_late_confirmation_and_a_new_request_do_not_block_each_other(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    old = await done(dsn, request(customer), BOTH)
    code = await code_of(connection)
    await expire_code(connection, old)
    for number in range(5):
        late, new = await asyncio.gather(
            decide(dsn, confirm(old, code), BOTH),
            decide(dsn, request(customer, f"777000{number}"), BOTH),
        )
        assert isinstance(late, Refusal)
        assert isinstance(new, ContactChange)
        assert await status_of(connection, new) == "waiting"
        old, code = new, await code_of(connection, f"+960777000{number}")
        await expire_code(connection, new)


async def test_a_code_that_was_sent_cannot_be_left_out(dsn: str, customer: CustomerId) -> None:
    """Also if the transport was switched off meanwhile."""
    change = await done(dsn, request(customer), BOTH)
    for channels in (BOTH, NONE):
        answer = await refused(dsn, confirm(change, reason="I know the voice"), channels)
        assert "needs the code" in answer


@pytest.mark.parametrize("channels", [NONE, frozenset({"email"})])
async def test_without_a_transport_a_reason_confirms(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId, channels: frozenset[str]
) -> None:
    change = await done(dsn, request(customer), channels)
    assert not change.has_code
    assert "needs a reason" in await refused(dsn, confirm(change, "123456"), channels)
    await done(dsn, confirm(change, reason="saw the passport"), channels)
    # A channel that exists still carries the notice.
    assert set(await sent(connection, "contact_change")) == ({EMAIL} if channels else set())


async def test_one_open_change_for_each_contact(dsn: str, customer: CustomerId) -> None:
    answers = await asyncio.gather(
        *(decide(dsn, request(customer, value)) for value in ("7770001", "7770002"))
    )
    assert sum(isinstance(each, Refusal) for each in answers) == 1
    await done(dsn, request(customer, "b@example.mv", "email"))
    [first] = [each for each in answers if isinstance(each, ContactChange)]
    await done(dsn, cancel(first, "wrong number"))
    assert "no open change" in await refused(dsn, cancel(first, "again"))
    assert "no open change" in await refused(dsn, confirm(first, "123456"))
    await done(dsn, request(customer))
    # The operator's screen still has the first one.
    assert "no open change" in await refused(dsn, cancel(first, "again"))


async def test_a_contact_of_another_customer_is_refused(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    await new_customer(connection, mobile=NEW)
    assert "Another customer" in await refused(dsn, request(customer))
    answer = await refused(dsn, request(customer, OLD))
    assert "has this mobile number already" in answer
    # The other mode has its own contacts.
    await new_customer(connection, mobile="7779999", mode="sandbox")
    await done(dsn, request(customer, "7779999"))


async def test_a_contact_that_was_taken_meanwhile_fails_and_changes_nothing(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await confirmed(dsn, connection, customer)
    await new_customer(connection, mobile=NEW)
    assert await apply_due(dsn, connection) == ["failed"]
    assert await status_of(connection, change) == "failed"
    assert await mobile_of(connection, customer) == OLD
    assert await apply_due(dsn, connection) == []


async def test_a_contact_that_is_taken_at_this_moment_fails_too(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    """The look-up does not see the other customer yet; the unique index does."""
    change = await confirmed(dsn, connection, customer)
    async with connection.transaction():
        await new_customer(connection, mobile=NEW)
        command = ApplyContactChange(customer.id, change.id)
        applying = asyncio.create_task(decide(dsn, command))
        async with connection_to(dsn) as watch:
            while not await watch.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                assert not applying.done(), applying.result()
                await asyncio.sleep(0.01)
    await applying
    assert await status_of(connection, change) == "failed"
    assert await mobile_of(connection, customer) == OLD


async def test_a_contact_that_was_changed_meanwhile_stays(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    """By an operator in the database: the notice went to another contact then."""
    made = await confirmed(dsn, connection, customer)
    await change_by_hand(
        connection, "UPDATE customers SET mobile = '7770009' WHERE id = $1", customer.id
    )
    assert await apply_due(dsn, connection) == ["failed"]
    assert await status_of(connection, made) == "failed"
    assert await mobile_of(connection, customer) == "7770009"


async def test_two_appliers_at_once_change_it_once(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await confirmed(dsn, connection, customer)
    command = ApplyContactChange(customer.id, change.id)
    answers = await asyncio.gather(*(decide(dsn, command) for _ in range(4)))
    assert sum(not isinstance(each, Refusal) for each in answers) == 1
    assert await status_of(connection, change) == "done"


async def test_a_customer_of_the_sandbox_gets_no_messages(
    dsn: str, connection: asyncpg.Connection
) -> None:
    sandbox = await new_customer(connection, mobile=OLD, mode="sandbox")
    change = await done(dsn, request(sandbox), BOTH)
    assert not change.has_code
    await done(dsn, confirm(change, reason="test"), BOTH)
    assert await connection.fetchval("SELECT count(*) FROM messages") == 0


async def test_an_ended_change_stays_as_it_is(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await done(dsn, request(customer), BOTH)
    await done(dsn, cancel(change, "wrong number"))
    for statement in (
        "UPDATE contact_changes SET new_value = '7770000'",
        "DELETE FROM contact_changes",
    ):
        with pytest.raises(asyncpg.RestrictViolationError):
            await connection.execute(statement)


async def test_every_change_of_its_status_needs_an_actor_and_has_an_entry(
    dsn: str, connection: asyncpg.Connection, customer: CustomerId
) -> None:
    change = await done(dsn, request(customer), BOTH)
    for statement in (
        "UPDATE contact_changes SET new_value = '7770000'",
        "UPDATE contact_changes SET code_digest = sha256('mine')",
        "UPDATE contact_changes SET status = 'cancelled', ended_at = now(), ended_by = 'x'",
    ):
        with pytest.raises(asyncpg.RestrictViolationError, match="needs an actor"):
            await connection.execute(statement)
    await refused(dsn, confirm(change, "no code"))  # an attempt is no change
    await done(dsn, confirm(change, await code_of(connection)), BOTH)
    link = (await sent(connection, "contact_change"))[EMAIL]["link"]
    assert await stop(dsn, change, link, "203.0.113.7")
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
        "waiting",
        "confirmed",
        "stopped",
    ]
    assert rows[2]["address"] == "203.0.113.7"
