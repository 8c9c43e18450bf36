"""A service of two processes, so that races are between processes too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from laari.store.migrate import migrate
from tests.serving import Merchant, Service, serving

CLIENTS = 64


@pytest.fixture(scope="session")
def pair(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    asyncio.run(engine.execute("CREATE DATABASE races"))
    asyncio.run(migrate(engine.url("races")))
    with serving(engine.url("races"), tmp_path_factory.mktemp("races"), workers=2) as service:
        yield service


@pytest.fixture
def shop(pair: Service) -> Merchant:
    return pair.merchant()


@pytest.fixture
def at_once() -> Iterator[Callable[..., list[Any]]]:
    """Calls something from many threads at the same time, each with its own number."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        yield lambda action, count=CLIENTS: list(pool.map(action, range(count)))
