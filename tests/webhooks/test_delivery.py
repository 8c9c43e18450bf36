"""The delivery loop on a real database: at least once, three times at most, fair to all."""

import asyncio
from datetime import timedelta
from time import monotonic
from typing import Any

import asyncpg
import pytest
from aiohttp import web

from laari.rules.webhooks import signature
from laari.settings import read_settings
from laari.store.outbox import deliveries
from laari.store.outbox.deliveries import save_events
from laari.workers.webhooks import delivery
from laari.workers.webhooks.delivery import Deliverer
from laari.workers.webhooks.sender import TIMEOUT_SECONDS, Sender
from laari.workers.webhooks.windows import WindowLimits
from tests import shops
from tests.actors import OPERATOR, change
from tests.silence import proxy_to
from tests.webhooks.conftest import NAME
from tests.webhooks.receivers import Received, Receiver, answering
from tests.webhooks.shops import (
    MASTER_KEY,
    QUICK,
    at,
    attempts_of,
    delivering,
    delivery_of,
    emit,
    new_events,
    open_shop,
    settled,
    until,
)


async def test_an_event_goes_by_name_over_tls_and_is_recorded(
    dsn: str, connection: asyncpg.Connection, sender: Sender, receiver: Receiver
) -> None:
    shop = await open_shop(connection, f"https://{NAME}:{receiver.port}/hook")
    async with delivering(dsn, sender):
        (event,) = await emit(connection, shop)
        await until(lambda: settled(connection))
    (got,) = receiver.received
    assert got.body == event.body
    stamp = int(got.headers["service-signature"].split(",")[0].removeprefix("t="))
    assert got.headers["service-signature"] == signature(shop.secret, stamp, event.body)
    delivery = await delivery_of(connection, event.id)
    assert (delivery["status"], delivery["failed_attempts"]) == ("delivered", 0)
    (attempt,) = await attempts_of(connection, event.id)
    assert (attempt["http_status"], attempt["error"], attempt["answer"]) == (200, None, "thanks")


async def test_an_event_leaves_within_100_ms_of_its_commit(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shop = await open_shop(connection, at(plain))
    waits = []
    async with delivering(dsn, open_sender, limits=WindowLimits(poll_seconds=60)):
        await asyncio.sleep(0.2)
        for number in range(1, 8):
            await emit(connection, shop)
            committed = monotonic()
            await until(lambda count=number: len(plain.received) == count)
            waits.append(plain.received[-1].at - committed)
            await asyncio.sleep(0.05)
    # The quickest one: a busy machine is late now and then, not each time. None waits for the poll.
    assert min(waits) < 0.1
    assert max(waits) < 30


@pytest.mark.ci
@pytest.mark.usefixtures("in_earnest")
async def test_deliveries_go_on_where_the_database_has_gone_silent(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shop = await open_shop(connection, at(plain))
    with proxy_to(dsn) as proxy:
        async with delivering(proxy.dsn, open_sender):
            await emit(connection, shop)
            await until(lambda: settled(connection))
            proxy.silence_open()
            silent = monotonic()
            await emit(connection, shop)
            await until(lambda: settled(connection))
            assert monotonic() - silent < 5 + 2.75  # the last for what had to be recorded
            assert plain.received[-1].at - silent < 5


async def test_an_event_without_a_webhook_is_kept_and_not_delivered(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    without_url = await open_shop(connection, None)
    switched_off = await open_shop(connection, at(plain))
    await shops.update(connection, OPERATOR, switched_off.merchant_id, webhooks_enabled=False)
    events = [*await emit(connection, without_url), *await emit(connection, switched_off)]
    assert await connection.fetchval("SELECT count(*) FROM events") == 2
    assert await connection.fetchval("SELECT count(*) FROM deliveries") == 0
    # Once there is a URL, an operator can still send what was kept.
    await shops.update(connection, OPERATOR, switched_off.merchant_id, webhooks_enabled=True)
    assert await deliveries.resend(connection, events[1].id) is None
    async with delivering(dsn, open_sender):
        await until(lambda: settled(connection))
    assert plain.bodies() == [events[1].body]


async def test_three_failures_and_no_more(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    plain.answers["/"] = answering(500, "broken")
    shop = await open_shop(connection, at(plain))
    async with delivering(dsn, open_sender, retry_seconds=(0.2, 0.4)):
        (event,) = await emit(connection, shop)
        await until(lambda: settled(connection))
        await asyncio.sleep(0.2)
    assert plain.bodies() == [event.body] * 3
    first, second, third = (got.at for got in plain.received)
    assert second - first >= 0.2
    assert third - second >= 0.4
    delivery = await delivery_of(connection, event.id)
    assert (delivery["status"], delivery["failed_attempts"]) == ("failed", 3)
    attempts = await attempts_of(connection, event.id)
    assert [(a["http_status"], a["error"], a["answer"]) for a in attempts] == [
        (500, "answered 500", "broken")
    ] * 3


async def test_a_retry_is_signed_anew_with_the_secret_of_now(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    plain.answers["/"] = answering(503)
    shop = await open_shop(connection, at(plain))
    async with delivering(dsn, open_sender, retry_seconds=(1.1, 60)):
        (event,) = await emit(connection, shop)
        await until(lambda: len(plain.received) == 1)
        _, new_secret = await shops.rotate_key(connection, OPERATOR, MASTER_KEY, shop.merchant_id)
        plain.answers.clear()
        await until(lambda: settled(connection))
    before, after = (got.headers["service-signature"] for got in plain.received)
    stamps = [int(header.split(",")[0].removeprefix("t=")) for header in (before, after)]
    assert stamps[1] > stamps[0]
    assert before == signature(shop.secret, stamps[0], event.body)
    assert after == signature(new_secret, stamps[1], event.body)


async def test_the_process_does_not_keep_a_secret_that_was_rotated(
    dsn: str, connection: asyncpg.Connection, plain: Receiver
) -> None:
    """The whole of it, as the background process runs it: secrets that were opened are kept."""
    shop = await open_shop(connection, at(plain))
    settings, stop = read_settings({"LAARI_WEBHOOK_ALLOW_PRIVATE": "on"}), asyncio.Event()
    running = asyncio.create_task(delivery.run(dsn, MASTER_KEY, settings, stop, QUICK))
    secrets = [shop.secret]
    try:
        for number in (1, 2):
            await emit(connection, shop)
            await until(lambda count=number: len(plain.received) == count)
            secrets.append(
                (await shops.rotate_key(connection, OPERATOR, MASTER_KEY, shop.merchant_id))[1]
            )
    finally:
        stop.set()
        await running
    for got, secret in zip(plain.received, secrets, strict=False):
        header = got.headers["service-signature"]
        stamp = int(header.split(",")[0].removeprefix("t="))
        assert header == signature(secret, stamp, got.body)


async def test_the_old_key_signs_until_the_overlap_ends_also_what_is_pending(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    plain.answers["/"] = answering(503)
    shop, other = await open_shop(connection, at(plain)), await open_shop(connection, at(plain))
    _, new = await shops.rotate_key(
        connection, OPERATOR, MASTER_KEY, shop.merchant_id, timedelta(hours=1)
    )
    async with delivering(dsn, open_sender, retry_seconds=(1.0, 60)):
        await emit(connection, shop)
        await until(lambda: len(plain.received) == 1)
        await change(
            connection,
            "UPDATE merchants SET old_secret_until = now() WHERE id = $1",
            shop.merchant_id,
        )
        plain.answers.clear()
        await until(lambda: settled(connection))
        await emit(connection, shop)
        await until(lambda: len(plain.received) == 3)
        await emit(connection, other)
        await until(lambda: len(plain.received) == 4)
    keys = {"old": shop.secret, "new": new, "other": other.secret}
    assert [signed_with(got, keys) for got in plain.received] == ["old", "new", "new", "other"]


def signed_with(got: Received, keys: dict[str, str]) -> str:
    """The one key that verifies a delivery."""
    header = got.headers["service-signature"]
    stamp = int(header.split(",")[0].removeprefix("t="))
    (name,) = (name for name, key in keys.items() if header == signature(key, stamp, got.body))
    return name


async def test_sent_again_with_the_same_id_after_failing(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    plain.answers["/"] = answering(404)
    shop = await open_shop(connection, at(plain))
    async with delivering(dsn, open_sender, retry_seconds=()):
        (event,) = await emit(connection, shop)
        await until(lambda: settled(connection))
        plain.answers.clear()
        assert await deliveries.resend(connection, event.id) is None
        await until(lambda: settled(connection))
    assert plain.bodies() == [event.body] * 2
    assert (await delivery_of(connection, event.id))["status"] == "delivered"
    assert [a["http_status"] for a in await attempts_of(connection, event.id)] == [404, 200]


async def test_webhooks_switched_off_meanwhile_fail_in_words(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shop = await open_shop(connection, at(plain))
    (event,) = await emit(connection, shop)
    await shops.update(connection, OPERATOR, shop.merchant_id, webhooks_enabled=False)
    async with delivering(dsn, open_sender):
        await until(lambda: settled(connection))
    assert plain.received == []
    attempts = await attempts_of(connection, event.id)
    assert {a["error"] for a in attempts} == {"webhooks are switched off or no URL is set"}
    assert len(attempts) == 3


async def test_a_slow_database_records_what_has_piled_up(
    dsn: str,
    connection: asyncpg.Connection,
    open_sender: Sender,
    plain: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In pieces: as one statement it would run into the bound each time, and grow meanwhile."""
    record = deliveries.record

    async def slowly(own: asyncpg.Connection, attempts: list[deliveries.Attempt]) -> None:
        await own.execute("SELECT pg_sleep($1)", len(attempts) / 500)
        await record(own, attempts)

    monkeypatch.setattr(deliveries, "record", slowly)
    monkeypatch.setattr("laari.workers.webhooks.delivery.ANSWER_SECONDS", 0.5)
    monkeypatch.setattr("laari.workers.webhooks.delivery.MOST_RECORDED", 50)
    shop = await open_shop(connection, at(plain))
    await emit(connection, shop, 800)
    async with delivering(dsn, open_sender):
        await until(lambda: settled(connection))
    assert len(plain.received) == 800


async def test_what_could_not_be_recorded_at_first_is_recorded_before_the_end(
    dsn: str,
    connection: asyncpg.Connection,
    open_sender: Sender,
    plain: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record, failures = deliveries.record, iter([True, False, True])

    async def failing(own: asyncpg.Connection, attempts: list[deliveries.Attempt]) -> None:
        if next(failures, False):
            raise OSError("the database is away")
        await record(own, attempts)

    monkeypatch.setattr("laari.workers.webhooks.delivery.MOST_RECORDED", 2)
    shop = await open_shop(connection, at(plain))
    await emit(connection, shop, 7)
    async with delivering(dsn, open_sender):
        # Nothing is recorded until all have been sent and the process is told to end.
        blocked = asyncio.Event()

        async def later(own: asyncpg.Connection, attempts: list[deliveries.Attempt]) -> None:
            await blocked.wait()
            await failing(own, attempts)

        monkeypatch.setattr(deliveries, "record", later)
        await until(lambda: len(plain.received) == 7)
        asyncio.get_running_loop().call_later(0.3, blocked.set)
    assert await settled(connection)


async def test_what_a_killed_process_had_leased_is_sent_by_another(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shop = await open_shop(connection, at(plain))
    events = await emit(connection, shop, 3)
    taken = await deliveries.lease(connection, {shop.tenant_id: 10}, lease_seconds=0.3)
    assert {delivery.event_id for delivery in taken} == {event.id for event in events}
    assert await deliveries.lease(connection, {shop.tenant_id: 10}, lease_seconds=0.3) == []
    async with delivering(dsn, open_sender):
        await until(lambda: settled(connection))
    assert sorted(plain.bodies()) == sorted(event.body for event in events)


async def test_a_late_failure_does_not_count_against_the_next_attempt(
    connection: asyncpg.Connection,
) -> None:
    shop = await open_shop(connection, "https://hooks.shop.mv/")
    (event,) = await emit(connection, shop)
    (first,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=0)
    (second,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)
    assert (first.lease, second.lease) == (1, 2)
    late = failure(first, retry_seconds=None)
    await deliveries.record(connection, [late])
    delivery = await delivery_of(connection, event.id)
    assert (delivery["status"], delivery["failed_attempts"]) == ("pending", 0)
    assert len(await attempts_of(connection, event.id)) == 1
    # An acknowledgement counts whenever it comes.
    await deliveries.record(connection, [acknowledgement(first)])
    assert (await delivery_of(connection, event.id))["status"] == "delivered"
    await deliveries.record(connection, [failure(second, retry_seconds=None)])
    assert (await delivery_of(connection, event.id))["status"] == "delivered"


async def test_what_is_sent_again_has_all_its_attempts_before_it(
    connection: asyncpg.Connection,
) -> None:
    shop = await open_shop(connection, "https://shop.example")
    (event,) = await emit(connection, shop)
    (leased,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)
    await deliveries.record(connection, [failure(leased, None)])
    assert (await delivery_of(connection, event.id))["status"] == "failed"
    assert await deliveries.resend(connection, event.id) is None
    (again,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)
    assert (leased.failed_attempts, again.failed_attempts) == (0, 0)


async def test_an_attempt_begins_only_while_its_lease_outlasts_it(
    dsn: str,
    connection: asyncpg.Connection,
    open_sender: Sender,
    plain: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Later, another sender would be sending the same event at the same time."""
    shop = await open_shop(connection, at(plain))
    await emit(connection, shop)
    deliverer = Deliverer(dsn, open_sender, lambda *_: shop.secret, ())
    latest: list[tuple[deliveries.LeasedDelivery, float]] = []
    with monkeypatch.context() as patch:
        patch.setattr(deliverer, "_enqueue", lambda *each: latest.append(each))
        await deliverer._round(connection)
    ((leased, begin_by),) = latest
    assert begin_by + TIMEOUT_SECONDS < monotonic() + WindowLimits().lease_seconds
    for moment in (monotonic() - 1, begin_by):
        assert plain.received == []
        deliverer._enqueue(leased, moment)
        await asyncio.wait(deliverer._workers)
    assert len(plain.received) == 1


async def test_the_owners_of_an_event_that_is_given_up_are_told_with_its_outcome(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender
) -> None:
    shop = await open_shop(connection, "https://shop.example")
    told: list[set[int]] = []

    async def tell(_: asyncpg.Connection, tenants: set[int]) -> None:
        told.append(tenants)
        if len(told) == 1:
            raise ConnectionError  # the outcome is recorded again, with the message

    deliverer = Deliverer(dsn, open_sender, lambda *_: shop.secret, (), tell=tell)
    (event,) = await emit(connection, shop)
    (leased,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)
    await deliverer._record(connection, [failure(leased, retry_seconds=60)])
    assert told == []
    (leased,) = await lease_again(connection, shop.tenant_id)
    with pytest.raises(ConnectionError):
        await deliverer._record(connection, [failure(leased, retry_seconds=None)])
    assert (await delivery_of(connection, event.id))["status"] == "pending"
    for _ in range(2):
        await deliverer._record(connection, [failure(leased, retry_seconds=None)])
    assert told == [{shop.tenant_id}] * 2
    assert (await delivery_of(connection, event.id))["status"] == "failed"


async def lease_again(
    connection: asyncpg.Connection, tenant_id: int
) -> list[deliveries.LeasedDelivery]:
    await connection.execute("UPDATE deliveries SET next_attempt_at = now()")
    return await deliveries.lease(connection, {tenant_id: 1}, lease_seconds=60)


async def test_only_what_is_due_is_leased(connection: asyncpg.Connection) -> None:
    """A tenant that has something due may have more that waits for its next attempt."""
    shop = await open_shop(connection, "https://shop.example")
    due, waiting = await emit(connection, shop, 2)
    await connection.execute(
        "UPDATE deliveries SET next_attempt_at = now() + interval '1 minute' WHERE event_id = $1",
        waiting.id,
    )
    leased = await deliveries.lease(connection, {shop.tenant_id: 10}, lease_seconds=60)
    assert [each.event_id for each in leased] == [due.id]


async def test_a_process_that_stops_releases_its_own_leases_alone(
    connection: asyncpg.Connection,
) -> None:
    """Its lease may have run out: then another process is sending the same event."""
    shop = await open_shop(connection, "https://shop.example")
    await emit(connection, shop)
    (old,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=0)
    (new,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)
    await deliveries.release(connection, [old])
    assert await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60) == []
    await deliveries.release(connection, [new])
    assert len(await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)) == 1


async def test_a_lease_that_a_crash_of_the_database_forgot_is_told_by_its_attempt(
    connection: asyncpg.Connection,
) -> None:
    """Claims do not wait for the disk; whoever holds one goes on with it."""
    shop = await open_shop(connection, "https://hooks.shop.mv/")
    failed, good = await emit(connection, shop), await emit(connection, shop)
    leased = await deliveries.lease(connection, {shop.tenant_id: 2}, lease_seconds=60)
    by_event = {each.event_id: each for each in leased}
    await connection.execute("UPDATE deliveries SET leases = 0, next_attempt_at = now()")
    attempt = failure(by_event[failed[0].id], retry_seconds=60)
    await deliveries.record(connection, [attempt])
    await deliveries.record(connection, [attempt])  # by one who has taken up the same number
    await deliveries.record(connection, [acknowledgement(by_event[good[0].id])])
    for event, status, failures in ((failed[0], "pending", 1), (good[0], "delivered", 0)):
        row = await delivery_of(connection, event.id)
        assert (row["status"], row["failed_attempts"], row["leases"]) == (status, failures, 1)
        assert len(await attempts_of(connection, event.id)) == 1


def failure(leased: deliveries.LeasedDelivery, retry_seconds: float | None) -> deliveries.Attempt:
    from datetime import UTC, datetime

    return deliveries.Attempt(
        event_id=leased.event_id,
        lease=leased.lease,
        started_at=datetime.now(UTC),
        duration_ms=1,
        url="https://hooks.shop.mv/",
        http_status=500,
        error="answered 500",
        answer="",
        acknowledged=False,
        retry_seconds=retry_seconds,
    )


def acknowledgement(leased: deliveries.LeasedDelivery) -> deliveries.Attempt:
    from msgspec.structs import replace

    return replace(failure(leased, None), http_status=200, error=None, acknowledged=True)


async def test_several_processes_send_each_event_once(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shops = [await open_shop(connection, at(plain)) for _ in range(5)]
    limits = WindowLimits(lease_seconds=60)  # a busy machine must not let one run out
    async with (
        delivering(dsn, open_sender, limits=limits),
        delivering(dsn, open_sender, limits=limits),
        delivering(dsn, open_sender, limits=limits),
    ):
        events = [event for shop in shops for event in await emit(connection, shop, 60)]
        await until(lambda: settled(connection), seconds=60)
    assert sorted(plain.bodies()) == sorted(event.body for event in events)


async def test_a_receiver_that_hangs_delays_nobody_else(
    dsn: str, connection: asyncpg.Connection, plain: Receiver
) -> None:
    released = asyncio.Event()

    async def hang(request: web.Request, body: bytes) -> web.Response:
        await released.wait()
        return web.Response()

    plain.answers["/hang"] = hang
    shops = [await open_shop(connection, at(plain, f"/{number}")) for number in range(49)]
    hung = await open_shop(connection, at(plain, "/hang"))
    await emit(connection, hung, 500)
    sender = Sender(allow_private=True, timeout_seconds=600)  # an attempt that hangs does not end
    bodies: set[bytes] = set()
    async with delivering(dsn, sender, limits=WindowLimits(lease_seconds=1200)):
        for _ in range(6):
            events = [event for shop in shops for event in new_events(shop, 1)]
            await save_events(connection, events)
            bodies.update(event.body for event in events)
            await until(lambda: bodies <= set(plain.bodies()), seconds=60)
        hanging_now = sum(got.path == "/hang" for got in plain.received)
        released.set()
    await sender.close()
    assert 1 <= hanging_now <= 8  # a small window, however long the queue behind it


async def test_a_backlog_of_one_merchant_does_not_starve_the_rest(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    busy = await open_shop(connection, at(plain, "/busy"))
    await emit(connection, busy, 3000)
    quiet = [await open_shop(connection, at(plain, "/quiet")) for _ in range(3)]
    async with delivering(dsn, open_sender, limits=WindowLimits(max_in_flight=8, lease_seconds=5)):
        await until(lambda: len(plain.received) >= 100)
        for shop in quiet:
            await emit(connection, shop, 1)
        before = len(plain.received)
        await until(lambda: sum(got.path == "/quiet" for got in plain.received) == 3)
        assert len(plain.received) - before < 300


async def test_more_tenants_than_places_all_get_their_turn(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shops = [await open_shop(connection, at(plain)) for _ in range(12)]
    events = [event for shop in shops for event in await emit(connection, shop, 5)]
    async with delivering(dsn, open_sender, limits=WindowLimits(max_in_flight=2, lease_seconds=5)):
        await until(lambda: settled(connection))
    assert sorted(plain.bodies()) == sorted(event.body for event in events)


async def test_the_loop_survives_the_loss_of_its_connections(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    shop = await open_shop(connection, at(plain))
    async with delivering(dsn, open_sender, limits=QUICK):
        await emit(connection, shop, 20)
        await until(lambda: settled(connection))
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await emit(connection, shop, 20)
        await until(lambda: settled(connection))
    assert len(set(plain.bodies())) == 40


async def test_a_late_failure_does_not_count_after_sending_again(
    connection: asyncpg.Connection,
) -> None:
    shop = await open_shop(connection, "https://hooks.shop.mv/")
    (event,) = await emit(connection, shop)
    (taken,) = await deliveries.lease(connection, {shop.tenant_id: 1}, lease_seconds=60)
    assert await deliveries.resend(connection, event.id) is None
    await deliveries.record(connection, [failure(taken, retry_seconds=None)])
    delivery = await delivery_of(connection, event.id)
    assert (delivery["status"], delivery["failed_attempts"]) == ("pending", 0)


async def test_what_waited_in_the_queue_past_its_time_is_not_begun(
    dsn: str, connection: asyncpg.Connection, open_sender: Sender, plain: Receiver
) -> None:
    """Its lease may expire before the response: another process would send it too."""
    shop = await open_shop(connection, at(plain))
    late, early = await emit(connection, shop, 2)
    taken = {
        each.event_id: each
        for each in await deliveries.lease(connection, {shop.tenant_id: 2}, lease_seconds=60)
    }
    deliverer = Deliverer(dsn, open_sender, lambda *_: shop.secret, ())
    deliverer._enqueue(taken[late.id], monotonic())
    deliverer._enqueue(taken[early.id], monotonic() + 60)
    await asyncio.wait(deliverer._workers)
    assert plain.bodies() == [early.body]


async def test_what_could_not_be_recorded_is_recorded_later(
    dsn: str,
    connection: asyncpg.Connection,
    open_sender: Sender,
    plain: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record, failures = deliveries.record, [ConnectionError("gone"), ConnectionError("gone")]

    async def fail_first(*arguments: Any) -> None:
        if failures:
            raise failures.pop()
        await record(*arguments)

    monkeypatch.setattr(deliveries, "record", fail_first)
    shop = await open_shop(connection, at(plain))
    async with delivering(dsn, open_sender):
        (event,) = await emit(connection, shop)
        await until(lambda: settled(connection), seconds=10)  # well before the lease ends
    assert plain.bodies() == [event.body]
    assert failures == []
