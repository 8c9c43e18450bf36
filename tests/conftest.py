"""Real PostgreSQL for every test: one server per test process, one fresh database per test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import NamedTuple

import asyncpg
import pytest
from hypothesis import settings

from laari.store.embedded import embedded_server
from laari.store.migrate import migrate

TEMPLATE = "migrated"  # a database that every test's own is a copy of

_numbers = count(1)

# A busy machine is no failure: examples have no deadline of their own.
settings.register_profile("laari", deadline=None)
settings.load_profile("laari")


class Engine(NamedTuple):
    """The test process's own server; `dsn` is its maintenance database."""

    dsn: str

    def url(self, database: str) -> str:
        return self.dsn.replace("/laari?", f"/{database}?")

    async def execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with embedded_server(tmp_path_factory.mktemp("engine"), durable=False) as dsn:
        engine = Engine(dsn)
        asyncio.run(engine.execute(f"CREATE DATABASE {TEMPLATE}"))
        asyncio.run(migrate(engine.url(TEMPLATE)))
        yield engine


@pytest.fixture
async def empty_dsn(engine: Engine) -> AsyncIterator[str]:
    """A new database with nothing in it, dropped afterwards."""
    name = f"test_{next(_numbers)}"
    await engine.execute(f"CREATE DATABASE {name}")
    yield engine.url(name)
    await engine.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def dsn(engine: Engine) -> AsyncIterator[str]:
    """A new database with the whole schema, dropped afterwards."""
    name = f"test_{next(_numbers)}"
    await engine.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
    yield engine.url(name)
    await engine.execute(f"DROP DATABASE {name} WITH (FORCE)")
