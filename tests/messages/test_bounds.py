"""Bounds for messages: to one customer, to one address, and SMS in an hour."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest
from msgspec import Struct

from laari.rules.health import checks
from laari.rules.limits.invitations import INVITATIONS_A_DAY
from laari.rules.limits.messages import (
    EMAILS_OF_A_KIND,
    MOST_OF_A_MERCHANT,
    SMS_OF_A_KIND,
    most_to_one,
)
from laari.rules.messages import (
    AccessContent,
    CodeContent,
    TrustContent,
    TrustedAuthorizationContent,
    TrustedPaymentContent,
)
from laari.rules.people.invitations import Offer
from laari.rules.records.messages import MessageKind
from laari.store.outbox.messages import LeasedMessage
from laari.store.postgres.pool import Pool
from laari.store.reads import health
from laari.workers.messages.delivery import NotSent, send_due
from tests import people
from tests.actors import MASTER, OPERATOR
from tests.making import make_merchant
from tests.messages.outbox import add, make_due, row_of
from tests.people import RefusedError

MOST = MOST_OF_A_MERCHANT["payment_request"]


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
    def __init__(self) -> None:
        self.sent: list[LeasedMessage] = []

    async def __call__(self, message: LeasedMessage) -> None:
        self.sent.append(message)


async def send_all(pool: Pool, per_hour: int | None = None) -> list[LeasedMessage]:
    sender = Sender()
    channel = "email" if per_hour is None else "sms"
    while await send_due(pool, MASTER, channel, sender, per_hour=per_hour):
        pass
    return sender.sent


async def test_one_merchant_sends_a_customer_some_messages_a_day(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    customer = uuid4()
    made = sorted(await add(connection, 3 * MOST, customer_id=customer))
    others = await add(connection, customer_id=customer, tenant_id=2)
    others += await add(connection, customer_id=customer, kind="receipt")
    others += await add(connection)
    sent = {message.id for message in await send_all(pool)}
    assert sent == {*made[:MOST], *others}
    row = await row_of(connection, made[MOST])
    assert (row["status"], row["parameters"]) == ("suppressed", None)
    assert row["last_error"] == f"the customer had {MOST} of this merchant in 24 hours"
    assert (await health.noted(connection)).messages_failed == 0  # nobody is woken up for it


async def test_a_trusted_person_hears_of_some_withdrawals_a_day(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    """Two customers could use up an hour's SMS by withdrawing and cancelling."""
    most, customer = MOST_OF_A_MERCHANT["trusted_payment"], uuid4()
    content = TrustedPaymentContent("Aisha", 5_000, "BML", datetime.now(UTC))
    about = {"content": content, "kind": "trusted_payment", "customer_id": customer}
    made = sorted(await add(connection, most + 3, tenant_id=None, **about))
    others = await add(connection, tenant_id=1, **about)
    others += await add(connection, tenant_id=None, **about | {"customer_id": uuid4()})
    sent = {message.id for message in await send_all(pool)}
    assert sent == {*made[:most], *others}
    row = await row_of(connection, made[-1])
    assert row["last_error"] == f"the customer had {most} about no merchant in 24 hours"


async def test_the_bound_is_of_24_hours(connection: asyncpg.Connection, pool: Pool) -> None:
    customer, now = uuid4(), datetime.now(UTC)
    await add(connection, MOST, customer_id=customer, at=now - timedelta(hours=48))
    await add(connection, MOST - 1, customer_id=customer, at=now - timedelta(hours=23))
    [last] = await add(connection, customer_id=customer)
    await add(connection, customer_id=customer, at=now + timedelta(seconds=1))
    sent = await send_all(pool)
    assert len(sent) == 2 * MOST
    assert last in {message.id for message in sent}


async def test_messages_that_failed_count_and_suppressed_ones_do_not(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    customer, now = uuid4(), datetime.now(UTC)
    await add(connection, 2 * MOST, customer_id=customer, at=now - timedelta(hours=20))

    async def fail(message: LeasedMessage) -> None:
        raise NotSent("550", permanent=True)

    while await send_due(pool, MASTER, "email", fail):
        pass
    await add(connection, 1, customer_id=customer)
    assert await send_all(pool) == []
    later = now + timedelta(hours=5)
    await add(connection, MOST, customer_id=customer, at=later)
    assert len(await send_all(pool)) == MOST


async def test_a_message_that_has_expired_is_not_sent(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    code = CodeContent("123456", datetime.now(UTC) - timedelta(seconds=1))
    [message_id] = await add(connection, content=code, kind="password_code")
    assert await send_all(pool) == []
    row = await row_of(connection, message_id)
    assert (row["status"], row["last_error"]) == ("suppressed", "it has expired")


async def test_sms_of_an_hour_are_bounded_and_a_fifth_is_for_codes(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    code = CodeContent("123456", datetime.now(UTC) + timedelta(hours=1))
    await add(connection, 30, channel="sms")
    assert len(await send_all(pool, per_hour=5)) == 4
    assert len(await send_all(pool, per_hour=10)) == 4
    await add(connection, 3, channel="sms", content=code, kind="password_code")
    sent = await send_all(pool, per_hour=10)
    assert [message.kind for message in sent] == ["password_code"] * 2
    assert await send_all(pool, per_hour=10) == []
    noted = await health.noted(connection)
    assert noted.sms_of_last_hour == 10
    found = await health.read(connection)
    now = datetime.now(UTC)
    for per_hour, ok in ((10, False), (12, False), (13, True)):
        [check] = [each for each in checks(found, now, None, per_hour) if each.name == "SMS"]
        assert check.ok is ok
    # An hour later there is room again, and what waited is sent.
    await connection.execute("UPDATE messages SET sent_at = sent_at - interval '1 hour'")
    await make_due(connection)
    kinds = Counter(message.kind for message in await send_all(pool, per_hour=10))
    assert kinds["password_code"] == 1
    assert kinds["payment_request"] in (7, 8)  # the code was among the first eight, or not


async def test_one_number_gets_some_sms_of_a_kind_from_all_causes(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    """A customer who remembers and forgets a device in a loop, or lets many shops charge."""
    device = AccessContent("Firefox", datetime.now(UTC), "http://laari.test/app/forgotten")
    agreed = TrustedAuthorizationContent("Aisha", "Seagull", "Water")
    kinds: dict[MessageKind, Struct] = {
        "device_remembered": device,
        "device_forgotten": device,
        "trusted_authorization": agreed,
    }
    made = {
        kind: sorted(await add(connection, 30, channel="sms", kind=kind, content=content))
        for kind, content in kinds.items()
    }
    number = "+9607771234"
    to_other = {"channel": "sms", "kind": "device_forgotten", "content": device}
    others = await add(connection, recipient=number, **to_other)
    sent = {message.id for message in await send_all(pool, per_hour=1000)}
    first = [message for each in made.values() for message in each[:SMS_OF_A_KIND]]
    assert sent == {*first, *others}
    row = await row_of(connection, made["device_forgotten"][SMS_OF_A_KIND])
    assert (row["status"], row["parameters"]) == ("suppressed", None)
    assert row["last_error"] == f"the recipient had {SMS_OF_A_KIND} of this kind in 24 hours"


async def test_a_trusted_person_is_asked_once_a_day_by_the_same_customer(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    """Also if somebody else was asked in between."""
    now, content = datetime.now(UTC), TrustContent("Aisha", "…345", 100_000, "http://laari.test")
    about = {"channel": "sms", "kind": "trust_asked", "content": content, "object_id": uuid4()}
    [long_ago] = await add(connection, at=now - timedelta(hours=48), **about)
    [first] = await add(connection, at=now - timedelta(hours=23), **about)
    [other] = await add(connection, recipient="+9607775555", at=now, **about)
    [again] = await add(connection, at=now, **about)
    [of_another] = await add(connection, at=now, **about | {"object_id": uuid4()})
    sent = {message.id for message in await send_all(pool, per_hour=1000)}
    assert sent == {long_ago, first, other, of_another}
    assert (await row_of(connection, again))[
        "last_error"
    ] == "the recipient had the same in 24 hours"


async def test_one_address_gets_more_emails_of_a_kind(
    connection: asyncpg.Connection, pool: Pool
) -> None:
    made = sorted(await add(connection, EMAILS_OF_A_KIND + 1))
    assert {message.id for message in await send_all(pool)} == {*made[:-1]}


@pytest.mark.parametrize("kind", ["password_code", "signup_code", "contact_code"])
async def test_a_code_is_sent_in_an_hour_that_notices_filled(
    connection: asyncpg.Connection, pool: Pool, kind: MessageKind
) -> None:
    device = AccessContent("Firefox", datetime.now(UTC), "http://laari.test/app/forgotten")
    for number in range(20):
        to = f"+960777{number:04}"
        await add(connection, channel="sms", recipient=to, kind="device_forgotten", content=device)
    assert len(await send_all(pool, per_hour=10)) == 8
    code = CodeContent("123456", datetime.now(UTC) + timedelta(hours=1))
    await add(connection, channel="sms", content=code, kind=kind)
    assert [message.kind for message in await send_all(pool, per_hour=10)] == [kind]


def test_a_code_is_sent_more_often_than_a_notice() -> None:
    """Somebody who asks for codes of a victim must not keep the victim out for a day at once."""
    assert most_to_one("sms", "password_code") == 3 * most_to_one("sms", "new_device")


async def test_an_address_gets_some_invitations_a_day(connection: asyncpg.Connection) -> None:
    now = datetime.now(UTC)
    shops = [
        (
            await make_merchant(connection, OPERATOR, MASTER, name=f"Shop {n}", mode="live")
        ).merchant.id
        for n in range(2)
    ]

    async def invite(number: int, email: str = "aisha@example.mv") -> None:
        await people.invite(
            connection,
            OPERATOR,
            MASTER,
            shops[number % 2],
            Offer(email, "manager"),
            now,
            language="en",
        )

    for number in range(INVITATIONS_A_DAY):
        await invite(number)
    with pytest.raises(RefusedError, match="got 10 invitations in 24 hours"):
        await invite(0)
    assert await connection.fetchval("SELECT count(*) FROM messages") == INVITATIONS_A_DAY
    await invite(0, "other@example.mv")
    await connection.execute("UPDATE messages SET created_at = created_at - interval '1 day'")
    await invite(0)
