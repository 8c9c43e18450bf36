"""Webhook delivery against a bare HTTP client: the same bodies, receiver and concurrency.

    python -m bench.webhooks [--events 3000] [--concurrency 32] [--rounds 4]

Both run on uvloop with aiohttp against one receiver in a process of its own, in turns, so that
whatever else the machine does hits both. The bare client posts what it holds in memory; delivery
takes each event up from the database, signs it, and records the attempt.
"""

import argparse
import asyncio
import hashlib
import hmac
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import uuid4

import aiohttp
import asyncpg
import uvloop
from aiohttp import web

from laari.engine.embedded import embedded_server
from laari.rules.actors import Actor
from laari.rules.merchants.new_merchants import CreateMerchant, MerchantDraft
from laari.rules.records.events import Event
from laari.store.batch.inside import decide_inside
from laari.store.outbox.deliveries import save_events
from laari.store.postgres.migrate import migrate
from laari.store.postgres.pool import connection_to
from laari.store.secrets import keys_of
from laari.workers.webhooks.delivery import Deliverer
from laari.workers.webhooks.sender import Sender
from laari.workers.webhooks.windows import WindowLimits

MASTER_KEY = bytes(32)
SECRET = b"sk_bench"
TARGET_RATIO = 0.6


def receive(pipe: Connection) -> None:
    """The receiver: reads each body and answers 200."""

    async def handle(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(text="ok")

    async def serve() -> None:
        runner = web.ServerRunner(web.Server(handle))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    uvloop.run(serve())


@contextmanager
def receiver() -> Iterator[str]:
    """A process that acknowledges every event; gives its address."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=receive, args=(theirs,))
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/hook"
    finally:
        process.kill()
        process.join()


def new_events(tenant_id: int, count: int) -> list[Event]:
    """Bodies of the size that a payment's event has."""
    data = "x" * 640
    made = []
    for _ in range(count):
        event_id = uuid4()
        body = f'{{"id":"evt_{event_id.hex}","data":"{data}"}}'.encode()
        now = datetime.now(UTC)
        made.append(Event(event_id, tenant_id, "payment.paid", uuid4(), now, body))
    return made


async def bare(url: str, bodies: list[bytes], concurrency: int) -> float:
    """Posts per second of a client that only signs and posts."""
    waiting = iter(bodies)

    async def post(session: aiohttp.ClientSession) -> None:
        for body in waiting:
            stamp = str(int(time.time())).encode()
            signed = hmac.new(SECRET, stamp + b"." + body, hashlib.sha256).hexdigest()
            headers = {"Service-Signature": f"t={stamp.decode()},v1={signed}"}
            async with session.post(url, data=body, headers=headers) as response:
                await response.read()

    async with aiohttp.ClientSession() as session:
        began = time.perf_counter()
        await asyncio.gather(*(post(session) for _ in range(concurrency)))
        return len(bodies) / (time.perf_counter() - began)


async def delivered(dsn: str, events: list[Event], concurrency: int) -> float:
    """Deliveries per second, from the start of the loop to the last outcome recorded."""
    sender = Sender(allow_private=True)
    stop = asyncio.Event()
    limits = WindowLimits(
        max_in_flight=concurrency, max_window=concurrency, initial_window=concurrency
    )
    async with connection_to(dsn) as connection:
        await save_events(connection, events)
        deliverer = Deliverer(dsn, sender, lambda merchant, secret: SECRET.decode(), (60,), limits)
        began = time.perf_counter()
        running = asyncio.create_task(deliverer.run(stop))
        while await waiting_deliveries(connection):
            await asyncio.sleep(0.05)
        rate = len(events) / (time.perf_counter() - began)
    stop.set()
    await running
    await sender.close()
    return rate


async def waiting_deliveries(connection: asyncpg.Connection) -> bool:
    query = "SELECT EXISTS (SELECT FROM deliveries WHERE status = 'pending')"
    return bool(await connection.fetchval(query))


async def measure(dsn: str, url: str, events: int, concurrency: int, rounds: int) -> float:
    """Prints each round; answers the median of the ratios."""
    await migrate(dsn)
    async with connection_to(dsn) as connection:
        draft = MerchantDraft("Bench", "live", webhook_url=url)
        command = CreateMerchant(Actor("service", "bench", "admin"), "mer_bench", draft)
        async with connection.transaction():
            await decide_inside(connection, command, keys=keys_of(MASTER_KEY))
        tenant_id = await connection.fetchval(
            "SELECT id FROM tenants WHERE merchant_id = 'mer_bench' AND mode = 'live'"
        )
    ratios = []
    for number in range(rounds + 1):
        made = new_events(tenant_id, events)
        plain = await bare(url, [event.body for event in made], concurrency)
        ours = await delivered(dsn, made, concurrency)
        if number == 0:
            continue  # warms up
        ratios.append(ours / plain)
        print(f"bare {plain:7.0f}/s   delivery {ours:7.0f}/s   ratio {ours / plain:.2f}")
    return statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    ratio = run(options.events, options.concurrency, options.rounds)
    verdict = "reached" if ratio >= TARGET_RATIO else "missed"
    print(f"median ratio {ratio:.2f}, target {TARGET_RATIO}: {verdict}")


def run(events: int = 3000, concurrency: int = 32, rounds: int = 4) -> float:
    """The median ratio, on an engine and a receiver of its own."""
    with (
        receiver() as url,
        tempfile.TemporaryDirectory() as folder,
        embedded_server(Path(folder, "data")) as dsn,
    ):
        return uvloop.run(measure(dsn, url, events, concurrency, rounds))


if __name__ == "__main__":
    main()
