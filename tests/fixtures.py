"""Real PostgreSQL for every test: one server per test process, one fresh database per test."""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from importlib import import_module

import httpx._config as httpx_config
import httpx._transports.default as httpx_transport
import pytest
from argon2 import PasswordHasher
from hypothesis import settings

from laari.engine.embedded import embedded_server
from laari.store.people import passwords
from laari.store.postgres.migrate import migrate
from tests.databases import TEMPLATE, Engine
from tests.other_engine import PROGRAMS, other_server
from tests.patience.sitecustomize import DEADLINES, FACTOR, python_path
from tests.serving import Service, serving

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another PostgreSQL only the tests run that use it: for the others nothing differs."""
    if PROGRAMS is None:
        return
    others = [item for item in items if "engine" not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]


@pytest.fixture
def in_earnest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real deadlines: here, and in the processes that the test starts."""
    monkeypatch.setenv("PYTHONPATH", python_path())
    for name, constants in DEADLINES.items():
        module = import_module(name)
        for constant in constants:
            if constant.isupper():
                monkeypatch.setattr(module, constant, getattr(module, constant) / FACTOR)


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
        asyncio.run(engine.remember_template())
        yield engine


@pytest.fixture(scope="session")
def usual_service(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the usual settings, for all tests that have merchants of their own in it."""
    with serving(engine.migrated("usual"), tmp_path_factory.mktemp("usual")) as service:
        yield service


@pytest.fixture
async def empty_dsn(engine: Engine) -> AsyncIterator[str]:
    """A new database with nothing in it, dropped afterwards."""
    name = engine.named("empty")
    await engine.execute(f"CREATE DATABASE {name}")
    yield engine.url(name)
    await engine.drop(name)


@pytest.fixture
async def dsn(engine: Engine) -> AsyncIterator[str]:
    """A database with the whole schema, as if new."""
    name = await engine.take()
    yield engine.url(name)
    await engine.give_back(name)
