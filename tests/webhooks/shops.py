"""Merchants with webhooks, their events, and deliveries as the database has them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import asyncpg

from laari.rules.records.events import Event
from laari.store.merchants import merchants
from laari.store.outbox.deliveries import save_events
from laari.workers.webhooks.delivery import Deliverer
from laari.workers.webhooks.sender import Sender
from laari.workers.webhooks.windows import WindowLimits
from tests.actors import OPERATOR
from tests.making import make_merchant
from tests.webhooks.receivers import Receiver

MASTER_KEY = b"m" * 32
QUICK = WindowLimits(lease_seconds=20.0, poll_seconds=0.05)


class Shop(NamedTuple):
    merchant_id: str
    secret: str
    tenant_id: int


async def open_shop(connection: asyncpg.Connection, url: str | None) -> Shop:
    new = await make_merchant(
        connection, OPERATOR, MASTER_KEY, name="Shop", mode="live", webhook_url=url
    )
    tenant_id = await connection.fetchval(
        "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'live'", new.merchant.id
    )
    return Shop(new.merchant.id, new.secret_key, tenant_id)


def new_events(shop: Shop, count: int) -> list[Event]:
    made = []
    for number in range(count):
        event_id = uuid4()
        body = f'{{"id":"evt_{event_id.hex}","n":{number},"text":"ރުފިޔާ {"x" * (number % 50)}"}}'
        now = datetime.now(UTC)
        made.append(Event(event_id, shop.tenant_id, "payment.paid", uuid4(), now, body.encode()))
    return made


async def emit(connection: asyncpg.Connection, shop: Shop, count: int = 1) -> list[Event]:
    events = new_events(shop, count)
    await save_events(connection, events)
    return events


def at(receiver: Receiver, path: str = "/") -> str:
    return f"http://127.0.0.1:{receiver.port}{path}"


@asynccontextmanager
async def delivering(
    dsn: str,
    sender: Sender,
    retry_seconds: tuple[float, ...] = (0.05, 0.1),
    limits: WindowLimits = QUICK,
) -> AsyncIterator[None]:
    """Runs the delivery loop until the block ends."""

    def secret_of(merchant_id: str, encrypted: bytes) -> str:
        return merchants.open_secret(MASTER_KEY, merchant_id, encrypted)

    stop = asyncio.Event()
    deliverer = Deliverer(dsn, sender, secret_of, retry_seconds, limits)
    running = asyncio.create_task(deliverer.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def until(condition: Callable[[], Any], seconds: float = 30) -> None:
    """Waits for a condition, or an awaitable one, to hold."""
    async with asyncio.timeout(seconds):
        while True:
            held = condition()
            if await held if asyncio.iscoroutine(held) else held:
                return
            await asyncio.sleep(0.01)


async def settled(connection: asyncpg.Connection) -> bool:
    waiting = await connection.fetchval("SELECT count(*) FROM deliveries WHERE status = 'pending'")
    return bool(waiting == 0)


async def delivery_of(connection: asyncpg.Connection, event_id: UUID) -> asyncpg.Record:
    return await connection.fetchrow("SELECT * FROM deliveries WHERE event_id = $1", event_id)


async def attempts_of(connection: asyncpg.Connection, event_id: UUID) -> list[asyncpg.Record]:
    return await connection.fetch(
        "SELECT * FROM delivery_attempts WHERE event_id = $1 ORDER BY lease", event_id
    )
