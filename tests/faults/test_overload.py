"""More than the service can do: it does what it can, refuses the rest, and does not grow."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from laari.edge.door import MAX_IN_FLIGHT
from tests.serving import Merchant, Service, serving

SECONDS = 12.0
WARM_UP_SECONDS = 4.0
BEST_CLIENTS = 64  # about where one process does most


@pytest.fixture
def single(dsn: str, tmp_path: Path) -> Iterator[Service]:
    with serving(dsn, tmp_path, workers=1) as running:
        yield running


async def drive(merchant: Merchant, clients: int, seconds: float) -> Counter[int]:
    """So many clients on raw connections, each asking again as soon as it is answered."""
    host, port = merchant.service.origin.removeprefix("http://").split(":")
    headers = f"Host: {host}\r\nX-API-Key: {merchant.secret_key}\r\n"
    asked = f"GET /merchant/payments HTTP/1.1\r\n{headers}\r\n".encode()
    found: Counter[int] = Counter()
    end = time.monotonic() + seconds

    async def one() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            while time.monotonic() < end:
                writer.write(asked)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                status = int(head[9:12])
                found[status] += 1
                if status == 503:
                    assert b"retry-after: 1" in head.lower()
                    await asyncio.sleep(1)
        finally:
            writer.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return found


def interface_memory(service: Service) -> int:
    for child in psutil.Process(service.process.pid).children():
        if child.cmdline()[-1] == "interface":
            return int(child.memory_full_info().uss)
    raise AssertionError("no interface process")


def test_clients_beyond_the_bound_are_told_when_to_come_back(single: Service) -> None:
    merchant = single.merchant()
    for _ in range(30):
        merchant.payment()
    found = asyncio.run(drive(merchant, MAX_IN_FLIGHT + 400, 2.0))
    assert set(found) == {200, 503}
    assert httpx.get(f"{single.origin}/healthz").status_code == 200
    assert merchant.get("/payments").status_code == 200


@pytest.mark.campaign
def test_four_times_the_load_is_served_as_fast_and_in_no_more_memory(single: Service) -> None:
    merchant = single.merchant()
    for _ in range(30):
        merchant.payment()
    asyncio.run(drive(merchant, BEST_CLIENTS, WARM_UP_SECONDS))
    best = asyncio.run(drive(merchant, BEST_CLIENTS, SECONDS))[200] / SECONDS
    for clients in (4 * BEST_CLIENTS, 4 * MAX_IN_FLIGHT):
        asyncio.run(drive(merchant, clients, WARM_UP_SECONDS))  # their connections take room too
        before = interface_memory(single)
        rate = asyncio.run(drive(merchant, clients, SECONDS))[200] / SECONDS
        assert rate >= 0.8 * best, (clients, rate, best)
        assert interface_memory(single) <= 1.1 * before, clients
