"""Receivers of every kind of badness, and a sender that is killed again and again."""

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
import pytest
from aiohttp import web

from tests.serving import free_port
from tests.webhooks.receivers import Receiver, answering, receiving, resetting
from tests.webhooks.shops import emit, open_shop, settled, until

pytestmark = pytest.mark.ci

ACKNOWLEDGING = ("/good", "/slow", "/moody")


def _slow(request: web.Request, body: bytes) -> object:
    """Mostly in time, sometimes not: a second is the limit in these tests."""

    async def answer() -> web.Response:
        await asyncio.sleep(random.choice((0.02, 0.1, 0.3, 1.3)))
        return web.Response()

    return answer()


def _moody(request: web.Request, body: bytes) -> object:
    behaviour = random.choice((answering(200), answering(500), resetting, _slow))
    return behaviour(request, body)


@asynccontextmanager
async def killed_again_and_again(dsn: str, kills: int, every: float) -> AsyncIterator[asyncio.Task]:
    """Runs the sender; while the task works it is killed and started anew so many times."""
    processes: list[asyncio.subprocess.Process] = []

    async def start() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.webhooks.process", dsn, stdout=asyncio.subprocess.PIPE
        )
        processes.append(process)
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"

    async def work() -> None:
        for _ in range(kills):
            await asyncio.sleep(every * random.uniform(0.5, 1.5))
            processes[-1].kill()
            await processes[-1].wait()
            await start()

    await start()
    killing = asyncio.create_task(work())
    try:
        yield killing
    finally:
        killing.cancel()
        for process in processes:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _campaign(dsn: str, events_each: int, shops_each: int, kills: int, every: float) -> None:
    connection = await asyncpg.connect(dsn)
    async with receiving() as receiver:
        receiver.answers |= {
            "/slow": _slow,
            "/reset": resetting,
            "/500": answering(500, "sorry"),
            "/302": answering(302, Location="/good"),
            "/moody": _moody,
        }
        urls = [
            f"http://127.0.0.1:{receiver.port}{path}"
            for path in ("/good", "/slow", "/reset", "/500", "/302", "/moody")
        ]
        urls.append(f"http://127.0.0.1:{free_port()}/down")
        frozen: dict[UUID, tuple[str, bytes]] = {}
        async with killed_again_and_again(dsn, kills, every) as killing:
            for url in urls * shops_each:
                shop = await open_shop(connection, url)
                path = "/" + url.rpartition("/")[2]
                for event in await emit(connection, shop, events_each):
                    frozen[event.id] = path, event.body
            await killing
            await until(lambda: settled(connection), seconds=600)
        await _check(connection, receiver, frozen)
    await connection.close()


async def _check(
    connection: asyncpg.Connection, receiver: Receiver, frozen: dict[UUID, tuple[str, bytes]]
) -> None:
    known = {body for _, body in frozen.values()}
    assert {got.body for got in receiver.received} <= known  # byte by byte
    arrived = Counter(got.body for got in receiver.received)
    rows = await connection.fetch(
        "SELECT d.event_id, d.status, d.failed_attempts, count(a.*) AS attempts, "
        "count(*) FILTER (WHERE a.http_status BETWEEN 200 AND 299) AS acknowledged "
        "FROM deliveries d LEFT JOIN delivery_attempts a USING (event_id) GROUP BY d.event_id"
    )
    assert len(rows) == len(frozen)  # nothing lost
    statuses: Counter[tuple[str, str]] = Counter()
    for row in rows:
        path, body = frozen[row["event_id"]]
        statuses[path, row["status"]] += 1
        if row["status"] == "delivered":
            assert row["acknowledged"] >= 1
            assert arrived[body] >= 1
        else:
            assert (row["status"], row["failed_attempts"]) == ("failed", 3)
            assert (row["attempts"], row["acknowledged"]) == (3, 0)
    print(dict(statuses))
    for path in ("/reset", "/500", "/302", "/down"):
        assert statuses[path, "delivered"] == 0
    for path in ACKNOWLEDGING:
        assert statuses[path, "delivered"] > 0


async def test_nothing_is_lost_when_the_sender_is_killed(dsn: str) -> None:
    await _campaign(dsn, events_each=15, shops_each=2, kills=3, every=0.7)


@pytest.mark.campaign
async def test_ten_thousand_events_and_ten_kills(dsn: str) -> None:
    await _campaign(dsn, events_each=143, shops_each=10, kills=10, every=4)
