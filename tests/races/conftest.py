"""A service of two processes, so that races are between processes too."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.serving import Merchant, Service, serving

CLIENTS = 64


@pytest.fixture(scope="session")
def pair(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder, settings = (
        tmp_path_factory.mktemp("races"),
        {"LAARI_REMEMBERED_DEVICE_DAILY_LIMIT": "10000"},
    )
    with serving(engine.migrated("races"), folder, workers=2, **settings) as service:
        yield service


@pytest.fixture
def shop(pair: Service) -> Merchant:
    return pair.merchant()


@pytest.fixture
def at_once() -> Iterator[Callable[..., list[Any]]]:
    """Calls something from many threads at the same time, each with its own number."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        yield lambda action, count=CLIENTS: list(pool.map(action, range(count)))
