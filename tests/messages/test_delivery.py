"""The outbox: leases, attempts, results, and what is left of a message."""

import asyncio
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

import asyncpg
import pytest

from laari.errors import UnavailableError
from laari.rules.command import Command
from laari.rules.needs import Needs
from laari.rules.payments.payment_requests import CreateRequest, RequestDraft
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.people.message_resends import ResendMessage
from laari.rules.records.messages import MessageKind
from laari.rules.records.payments import PaymentRequest
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.batch.runner import BatchRunner
from laari.store.batch.save import writing
from laari.store.counters.purge import purge_messages
from laari.store.outbox import messages
from laari.store.outbox.messages import LeasedMessage
from laari.store.postgres.pool import Pool
from laari.store.reads import tenants
from laari.store.secrets import keys_of
from laari.workers.messages import delivery
from laari.workers.messages.delivery import RETRY_SECONDS, NotSent, send_due
from laari.workers.messages.smtp import Mailer
from tests.actors import MASTER, OPERATOR
from tests.making import make_customer, make_merchant
from tests.messages.outbox import FROM, LINK, Mailbox, add, mail_server, make_due, row_of
from tests.people import decided


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    pool = Pool(dsn)
    yield pool
    await pool.close()


class Sender:
    """Remembers what it sends, or raises what it is told to."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)
        self.sent: list[LeasedMessage] = []

    async def __call__(self, message: LeasedMessage) -> None:
        if self.problems:
            raise self.problems.pop(0)
        self.sent.append(message)


async def test_a_message_that_is_sent_loses_its_parameters(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    [message_id] = await add(connection)
    sender = Sender()
    await send_due(pool, MASTER, "email", sender)
    await send_due(pool, MASTER, "email", sender)
    assert [message.id for message in sender.sent] == [message_id]
    assert LINK.encode() in sender.sent[0].parameters
    row = await row_of(connection, message_id)
    assert (row["status"], row["attempts"], row["last_error"]) == ("sent", 1, None)
    assert row["sent_at"] is not None
    assert row["parameters"] is None


async def test_a_channel_without_a_transport_here_is_left_to_others(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    [message_id] = await add(connection, channel="sms")
    sender = Sender()
    await send_due(pool, MASTER, "email", sender)
    assert sender.sent == []
    assert (await row_of(connection, message_id))["attempts"] == 0


async def test_temporary_failures_wait_longer_each_time_and_then_end(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    [message_id] = await add(connection)
    sender = Sender(*[NotSent("451 later")] * 9)
    waits = []
    for number in range(1, 6):
        await send_due(pool, MASTER, "email", sender)
        row = await row_of(connection, message_id)
        assert (row["attempts"], row["last_error"]) == (number, "451 later")
        if row["status"] == "pending":
            waits.append(round((row["next_attempt_at"] - datetime.now(UTC)).total_seconds(), -1))
        await send_due(pool, MASTER, "email", sender)  # it is not due
        await make_due(connection)
    assert waits == [60, 300, 1800, 7200] == list(RETRY_SECONDS)
    assert row["status"] == "failed"
    assert row["parameters"] is not None  # it can be sent again
    assert not await send_due(pool, MASTER, "email", sender)
    assert len(sender.problems) == 4


async def test_a_permanent_refusal_ends_at_once(connection: asyncpg.Connection, pool: Pool) -> None:
    [message_id] = await add(connection)
    await send_due(pool, MASTER, "email", Sender(NotSent("550 no such user", permanent=True)))
    row = await row_of(connection, message_id)
    assert (row["status"], row["attempts"], row["last_error"]) == ("failed", 1, "550 no such user")


async def test_a_failed_message_is_sent_again_as_if_it_were_new(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    [message_id] = await add(connection)
    await send_due(pool, MASTER, "email", Sender(NotSent("550", permanent=True)))
    await decided(connection, ResendMessage(OPERATOR, message_id))
    sender = Sender()
    await send_due(pool, MASTER, "email", sender)
    assert [(message.id, message.attempts) for message in sender.sent] == [(message_id, 1)]


async def test_a_message_that_cannot_be_written_does_not_stop_the_others(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    """For example one of a newer version, while two versions run."""
    [unknown] = await add(connection, kind=cast("MessageKind", "novelty"))
    [good] = await add(connection)
    mailbox = Mailbox()
    async with mail_server(mailbox) as server:
        await send_due(pool, MASTER, "email", Mailer(server, FROM).send)
    assert len(mailbox.received) == 1
    assert (await row_of(connection, good))["status"] == "sent"
    row = await row_of(connection, unknown)
    assert (row["status"], row["last_error"]) == ("pending", "KeyError")


async def test_errors_are_one_bounded_line(connection: asyncpg.Connection, pool: Pool) -> None:
    [message_id] = await add(connection)
    await send_due(pool, MASTER, "email", Sender(NotSent("a\x00b\r\nc" + "x" * 1000)))
    error = (await row_of(connection, message_id))["last_error"]
    assert error.startswith("a b cxxx")
    assert len(error) == 300


async def test_the_log_names_neither_recipient_nor_text(
    connection: asyncpg.Connection, pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    await add(connection, 2, recipient="aisha@example.mv")
    problems = NotSent("550 <aisha@example.mv> unknown"), ValueError("aisha@example.mv Two coffees")
    with caplog.at_level(logging.DEBUG):
        await send_due(pool, MASTER, "email", Sender(*problems))
    assert len(caplog.records) == 2
    for word in ("aisha", "coffees", "550 <", "Seagull"):
        assert word not in caplog.text


@pytest.mark.ci
async def test_two_services_send_each_message_once(
    connection: asyncpg.Connection, dsn: str
) -> None:
    ids = await add(connection, 40)
    mailbox = Mailbox()
    pools = [Pool(dsn) for _ in range(3)]
    async with mail_server(mailbox) as server:

        async def work(pool: Pool) -> None:
            while await send_due(pool, MASTER, "email", Mailer(server, FROM).send):
                pass

        await asyncio.gather(*map(work, pools))
    for pool in pools:
        await pool.close()
    assert Counter(email["Message-ID"] for email in mailbox.received) == Counter(
        f"<msg_{message_id.hex}@example.com>" for message_id in ids
    )


async def test_a_sender_killed_before_it_recorded_sends_once_more_with_the_same_id(
    connection: asyncpg.Connection, pool: Pool, dsn: str
) -> None:
    [message_id] = await add(connection)
    mailbox = Mailbox()
    async with mail_server(mailbox) as server:
        command = ("-m", "tests.messages.process", dsn, str(server.port))
        process = await asyncio.create_subprocess_exec(sys.executable, *command)
        assert await process.wait() == -signal.SIGKILL
        assert len(mailbox.received) == 1
        send = Mailer(server, FROM).send
        await send_due(pool, MASTER, "email", send)  # while its lease lasts, nothing
        async with asyncio.timeout(30):
            while (await row_of(connection, message_id))["status"] != "sent":
                await send_due(pool, MASTER, "email", send)
                await asyncio.sleep(0.1)
        await make_due(connection)
        await send_due(pool, MASTER, "email", send)
    first, second = mailbox.received
    assert first.as_bytes() == second.as_bytes()
    assert first["Message-ID"] == f"<msg_{message_id.hex}@example.com>"


async def test_a_result_is_recorded_though_the_database_was_away(
    connection: asyncpg.Connection, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    [message_id] = await add(connection)
    monkeypatch.setattr(delivery.asyncio, "sleep", lambda seconds: real_sleep(0))
    write, fails = pool.write, iter([False, True, True])

    async def sometimes(*given: object) -> object:
        if next(fails, False):
            raise UnavailableError("away")
        return await write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "write", sometimes)
    sender = Sender()
    await send_due(pool, MASTER, "email", sender)
    assert (await row_of(connection, message_id))["status"] == "sent"


real_sleep = asyncio.sleep


async def test_a_failure_after_its_lease_changes_nothing_but_a_success_counts(
    connection: asyncpg.Connection,
) -> None:
    [message_id] = await add(connection)
    [first] = await messages.lease(connection, "email", 5, 0)
    [second] = await messages.lease(connection, "email", 5, 60)
    await messages.record(connection, first, "failed", "late", 0)
    assert (await row_of(connection, message_id))["status"] == "pending"
    await messages.record(connection, second, "failed", "no", 0)
    await messages.record(connection, first, "sent", None, 0)
    assert (await row_of(connection, message_id))["status"] == "sent"


async def test_ended_messages_are_purged_by_age(connection: asyncpg.Connection, pool: Pool) -> None:
    sent, failed, waiting = await add(connection, 3)
    later = datetime.now(UTC) + timedelta(seconds=1)
    await connection.execute("UPDATE messages SET status = 'failed' WHERE id = $1", failed)
    await connection.execute(
        "UPDATE messages SET status = 'sent', sent_at = now(), parameters = NULL WHERE id = $1",
        sent,
    )
    assert await pool.write(purge_messages, later - timedelta(hours=1)) == 0
    assert await pool.write(purge_messages, later) == 2
    left = await connection.fetch("SELECT id FROM messages")
    assert [row["id"] for row in left] == [waiting]


@dataclass(frozen=True)
class Defect(Command[None]):
    def needs(self, needs: Needs) -> None:
        pass

    def decide(self, world: World) -> None:
        raise RuntimeError("a defect")


async def test_a_message_is_written_with_its_cause_or_not_at_all(
    connection: asyncpg.Connection, dsn: str
) -> None:
    shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
    await make_customer(
        connection,
        OPERATOR,
        name="Aisha",
        mode="live",
        tier="basic",
        mobile="7771234",
        email="a@b.mv",
    )
    tenant = await tenants.of_merchant(connection, shop.merchant.id, "live")
    sending = {"channels": frozenset({"email"}), "keys": keys_of(MASTER)}
    runner = BatchRunner(dsn, "http://laari.test", **sending)
    good = CreateRequest(tenant, RequestDraft("a", 100, "mobile", "7771234"), False)
    refused = CreateRequest(tenant, RequestDraft("b", 100, "mobile", "7770000"), False)
    batch: list[Command[object]] = [good, Defect()]
    with pytest.raises(RuntimeError):
        await runner.run(batch, 1.0)
    assert await connection.fetchval("SELECT count(*) FROM messages") == 0
    outcomes = await runner.run([good, refused], 1.0)
    await runner.close()
    assert isinstance(outcomes[0], PaymentRequest)
    assert isinstance(outcomes[1], Refusal)
    [row] = await connection.fetch("SELECT * FROM messages")
    assert (row["object_id"], row["recipient"], row["status"]) == (
        outcomes[0].id,
        "a@b.mv",
        "pending",
    )


def test_a_batch_without_a_message_has_no_work_with_messages() -> None:
    world = World(datetime.now(UTC), "", os.urandom, frozenset({"email", "sms"}))
    tenant = Tenant(1, "mer_1", "Shop", "live", 0, 0, 0, 1, True)
    CreatePayment(tenant, PaymentDraft("a", 100)).decide(world)
    assert World.messages.touched(world) is None
    assert "messages" not in writing(world)[0]


@pytest.mark.parametrize("column", ["recipient", "language", "kind", "parameters"])
async def test_a_message_that_was_changed_in_the_database_is_not_sent(
    connection: asyncpg.Connection, pool: Pool, column: str
) -> None:
    values = {"recipient": "'evil@b.mv'", "language": "'dv'", "kind": "'receipt'"}
    other, own = await add(connection, 2)
    value = values.get(column, f"(SELECT parameters FROM messages WHERE id = '{other}')")
    await connection.execute(f"UPDATE messages SET {column} = {value} WHERE id = $1", own)
    sender = Sender()
    await send_due(pool, MASTER, "email", sender)
    assert [message.id for message in sender.sent] == [other]
    row = await row_of(connection, own)
    assert (row["status"], row["attempts"]) == ("failed", 1)
    assert row["last_error"] == "the message was changed in the database"
