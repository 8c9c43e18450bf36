"""A disk that stalls makes payments slow: none is refused, and what is never ending is bounded.

Commits that wait for a synchronous standby wait like those for a disk: their rows stay locked. So a
standby that is stopped for some seconds is a disk that stalls.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import asyncpg
import httpx
import pytest

from tests.replication import Pair, replicated
from tests.serving import Service, serving

STALL_SECONDS = 3.0
BETWEEN_SECONDS = 1.0
CLIENTS = 4  # of each service and kind


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with replicated(tmp_path_factory.mktemp("pair")) as pair:
        asyncio.run(
            pair.execute(
                "ALTER SYSTEM SET synchronous_commit = on",
                "ALTER SYSTEM SET synchronous_standby_names = '*'",
                "SELECT pg_reload_conf()",
            )
        )
        yield pair


@pytest.fixture(scope="module")
def services(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Service]]:
    """Two trees of processes, which meet in the database alone."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(serving(pair.primary, tmp_path_factory.mktemp("service")))
            for _ in range(2)
        ]


class Sent(NamedTuple):
    kind: str
    status: int
    body: str
    seconds: float


class Clients:
    """Programs of one merchant that create and charge, one request after the other."""

    def __init__(self, services: list[Service], kinds: tuple[str, ...]) -> None:
        shop = services[0].merchant()
        shop.control("wallet", {"balance": 10**12, "tier": "business"})
        authorization = shop.approved()["id"]
        self.sent: list[Sent] = []
        self._ended = threading.Event()
        paths = {"create": "/payments", "charge": f"/authorizations/{authorization}/charge"}
        self._threads = [
            threading.Thread(target=self._work, args=(service, shop.secret_key, kind, paths[kind]))
            for service in services
            for kind in kinds
            for _ in range(CLIENTS)
        ]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _work(self, service: Service, key: str, kind: str, path: str) -> None:
        with httpx.Client(
            base_url=f"{service.origin}/merchant", headers={"X-API-Key": key}, timeout=30
        ) as http:
            while not self._ended.is_set():
                body = {"reference": secrets.token_hex(8), "amount": 100}
                began = time.monotonic()
                response = http.post(path, json=body)
                seconds = time.monotonic() - began
                self.sent.append(Sent(kind, response.status_code, response.text, seconds))
                time.sleep(0.01)


# Charges alone are sure to meet: one waits for its commit with the row that the other one wants.
@pytest.mark.parametrize("kinds", [("charge",), ("create", "charge")])
def test_commits_that_stall_make_payments_slow_and_refuse_none(
    pair: Pair, services: list[Service], kinds: tuple[str, ...]
) -> None:
    with Clients(services, kinds) as clients:
        time.sleep(BETWEEN_SECONDS)
        with pair.frozen_standby():
            time.sleep(STALL_SECONDS)
        time.sleep(BETWEEN_SECONDS)
    refused = Counter((each.kind, each.status, each.body) for each in clients.sent)
    assert {status for _, status, _ in refused} == {201}, [
        (key, count) for key, count in refused.items() if key[1] != 201
    ]
    for kind in kinds:
        slowest = max(each.seconds for each in clients.sent if each.kind == kind)
        assert STALL_SECONDS * 0.8 < slowest < 10


def test_a_row_that_somebody_keeps_is_still_refused_soon(
    pair: Pair, services: list[Service]
) -> None:
    """A client of the database that has stopped in the middle is no slow disk."""
    shop = services[0].merchant()
    shop.control("wallet", {"balance": 10**12, "tier": "business"})
    authorization = shop.approved()

    async def keep(held: threading.Event, done: threading.Event) -> None:
        connection = await asyncpg.connect(pair.primary)
        async with connection.transaction():
            await connection.fetch("SELECT FROM wallets FOR UPDATE")
            held.set()
            await asyncio.to_thread(done.wait)
        await connection.close()

    held, done = threading.Event(), threading.Event()
    keeping = threading.Thread(target=lambda: asyncio.run(keep(held, done)))
    keeping.start()
    try:
        assert held.wait(10)
        began = time.monotonic()
        response = shop.charge(authorization, 100)
        assert time.monotonic() - began < 2.5
        assert response.status_code == 409, response.text
    finally:
        done.set()
        keeping.join()
    assert shop.charge(authorization, 100).status_code == 201
