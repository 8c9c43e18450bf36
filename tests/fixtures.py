"""Real PostgreSQL for every test: one server per test process, one fresh database per test."""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import NamedTuple

import asyncpg
import httpx._config as httpx_config
import httpx._transports.default as httpx_transport
import pytest
from argon2 import PasswordHasher
from hypothesis import settings

from laari.engine.embedded import embedded_server
from laari.store.people import passwords
from laari.store.postgres.migrate import migrate
from tests.other_engine import PROGRAMS, other_server
from tests.serving import Service, serving

TEMPLATE = "migrated"  # a database that every test's own is a copy of

_numbers = count(1)

# A busy machine is no failure: examples have no deadline of their own.
settings.register_profile("laari", deadline=None)
settings.load_profile("laari")

# People that the tests make themselves have passwords that are quick to hash and to check. What
# the service and its commands make is as slow as in earnest: test_passwords.py holds them to it.
passwords._hasher = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)

# Each client of httpx would read all the world's certificates anew, which takes 50 ms; they all
# speak plain HTTP to a service beside them.
httpx_transport.create_ssl_context = functools.cache(httpx_transport.create_ssl_context)


# It gives up after five seconds, which a busy machine takes now and then.
for _wait in ("connect", "read", "write", "pool"):
    setattr(httpx_config.DEFAULT_TIMEOUT_CONFIG, _wait, 30.0)


class Engine(NamedTuple):
    """The test process's own server; `dsn` is its maintenance database."""

    dsn: str

    def url(self, database: str) -> str:
        return self.dsn.replace("/laari?", f"/{database}?")

    def named(self, name: str) -> str:
        """The name of a new database: a fixture of a module may be made more than once."""
        return f"{name}_{next(_numbers)}"

    def migrated(self, name: str) -> str:
        """The address of a new database with the whole schema, for as long as the engine runs."""
        database = self.named(name)
        asyncio.run(self.copy(database))
        return self.url(database)

    async def copy(self, database: str) -> None:
        await self.execute(f"CREATE DATABASE {database} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")

    async def execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another PostgreSQL only the tests run that use it: for the others nothing differs."""
    if PROGRAMS is None:
        return
    others = [item for item in items if "engine" not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("engine")
    with (
        other_server(folder, PROGRAMS)
        if PROGRAMS
        else embedded_server(folder, durable=False) as dsn
    ):
        engine = Engine(dsn)
        asyncio.run(engine.execute(f"CREATE DATABASE {TEMPLATE}"))
        asyncio.run(migrate(engine.url(TEMPLATE)))
        yield engine


@pytest.fixture(scope="session")
def usual_service(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the usual settings, for all tests that have merchants of their own in it."""
    with serving(engine.migrated("usual"), tmp_path_factory.mktemp("usual")) as service:
        yield service


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
    await engine.copy(name)
    yield engine.url(name)
    await engine.execute(f"DROP DATABASE {name} WITH (FORCE)")
