"""More than the service can do: it does what it can, refuses the rest, and does not grow."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from laari.edge.load.admission import MAX_IN_FLIGHT
from tests.serving import Merchant, Service, serving

SECONDS = 12.0
WARM_UP_SECONDS = 4.0
PATIENCE_SECONDS = 60.0
FEW = 20  # requests, beside a crowd
BEST_CLIENTS = 64  # about where one process does most


@pytest.fixture
def single(dsn: str, tmp_path: Path) -> Iterator[Service]:
    with serving(dsn, tmp_path, workers=1) as running:
        yield running


def never(found: Counter[int]) -> bool:
    return False


def both_ways(found: Counter[int]) -> bool:
    """Some are served and some refused."""
    return found[200] > 0 and found[503] > 0


async def drive(
    merchant: Merchant,
    clients: int,
    seconds: float,
    enough: Callable[[Counter[int]], bool] = never,
) -> Counter[int]:
    """Clients on raw connections, each asking again as soon as it is answered.

    One that is refused waits as long as it was told. The time counts once all are connected.
    """
    host, port = merchant.service.origin.removeprefix("http://").split(":")
    headers = f"Host: {host}\r\nX-API-Key: {merchant.secret_key}\r\n"
    asked = f"GET /merchant/payments HTTP/1.1\r\n{headers}\r\n".encode()
    found: Counter[int] = Counter()
    connections = [await asyncio.open_connection(host, int(port)) for _ in range(clients)]
    end = time.monotonic() + seconds

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while time.monotonic() < end and not enough(found):
            writer.write(asked)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(_header(head, b"content-length")))
            status = int(head[9:12])
            found[status] += 1
            if status == 503:
                await asyncio.sleep(int(_header(head, b"retry-after")))

    await asyncio.gather(*(one(*connection) for connection in connections))
    for _, writer in connections:
        writer.close()
    return found


def _header(head: bytes, name: bytes) -> bytes:
    return head.split(b"\r\n" + name + b": ")[1].split(b"\r\n")[0]


def interface_memory(service: Service) -> int:
    for child in psutil.Process(service.process.pid).children():
        if child.cmdline()[-1] == "interface":
            return int(child.memory_full_info().uss)
    raise AssertionError("no interface process")


def test_clients_beyond_the_bound_are_told_when_to_come_back(single: Service) -> None:
    merchant = single.merchant()
    for _ in range(30):
        merchant.payment()
    found = asyncio.run(drive(merchant, MAX_IN_FLIGHT + 400, PATIENCE_SECONDS, both_ways))
    assert set(found) == {200, 503}
    assert httpx.get(f"{single.origin}/healthz").status_code == 200
    assert merchant.get("/payments").status_code == 200


def test_one_merchant_does_not_take_the_places_of_another(single: Service) -> None:
    crowd, few = single.merchant(name="Crowd"), single.merchant(name="Few")
    statuses: Counter[int] = Counter()

    async def both() -> Counter[int]:
        def enough(found: Counter[int]) -> bool:
            return both_ways(found) and statuses.total() >= FEW

        crowded = asyncio.create_task(drive(crowd, MAX_IN_FLIGHT + 400, PATIENCE_SECONDS, enough))
        async with httpx.AsyncClient(
            base_url=f"{single.origin}/merchant", headers={"X-API-Key": few.secret_key}, timeout=30
        ) as other:
            while not crowded.done():
                statuses[(await other.get("/payments")).status_code] += 1
        return await crowded

    found = asyncio.run(both())
    assert found[503] > 0  # the crowd is refused
    assert found[200] > 0
    assert set(statuses) == {200}, statuses  # and nobody else


@pytest.mark.campaign
def test_four_times_the_load_is_served_as_fast_and_in_no_more_memory(single: Service) -> None:
    merchant = single.merchant()
    for _ in range(30):
        merchant.payment()
    asyncio.run(drive(merchant, BEST_CLIENTS, WARM_UP_SECONDS))
    best = asyncio.run(drive(merchant, BEST_CLIENTS, SECONDS))[200] / SECONDS
    for clients in (4 * BEST_CLIENTS, 4 * MAX_IN_FLIGHT):
        answered, memory = asyncio.run(overload(single, merchant, clients))
        rate = answered[200] / SECONDS
        assert rate >= 0.8 * best, (clients, rate, best)
        # Connections and the requests inside take room of their own; then it stays where it is.
        assert memory[-1] <= 1.1 * memory[len(memory) // 2], (clients, memory)


async def overload(
    service: Service, merchant: Merchant, clients: int
) -> tuple[Counter[int], list[int]]:
    """What is answered, and the memory in the course of it."""
    driving = asyncio.create_task(drive(merchant, clients, SECONDS))
    memory = []
    while not driving.done():
        await asyncio.wait([driving], timeout=1)
        memory.append(interface_memory(service))
    return await driving, memory
