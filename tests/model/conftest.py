"""Two processes of the service on one database, each at an address of its own."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.model.driver import Driver
from tests.serving import Service, serving

# What customers and merchants are handed is the same, whichever process they ask.
SETTINGS = {
    "LAARI_PUBLIC_URL": "http://laari.test",
    "LAARI_RECIPIENT_MISSES_PER_MINUTE": "0",
    "LAARI_TOKEN_FAILURES_PER_MINUTE": "0",
    "LAARI_TOKENS_PER_MINUTE": "0",
}


@pytest.fixture(scope="session")
def processes(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Service]]:
    dsn = engine.migrated("model")
    with ExitStack() as stack:
        yield [
            stack.enter_context(serving(dsn, tmp_path_factory.mktemp("model"), **SETTINGS))
            for _ in range(2)
        ]


@pytest.fixture
def driver(processes: list[Service]) -> Driver:
    return Driver(processes)
