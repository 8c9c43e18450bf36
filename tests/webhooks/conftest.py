from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from laari.workers.webhooks.sender import Sender
from tests.webhooks.receivers import (
    RECEIVER_ADDRESS,
    Authority,
    Names,
    NameServer,
    Receiver,
    allowed_in_tests,
    receiving,
    start_name_server,
)

NAME = "hooks.shop.mv"


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def name_server() -> Iterator[NameServer]:
    ours, server = start_name_server()
    yield ours
    server.stop()


@pytest.fixture
def names(name_server: NameServer) -> Names:
    name_server.names.addresses = {NAME: [RECEIVER_ADDRESS]}
    name_server.names.asked = []
    return name_server.names


@pytest.fixture
async def receiver(authority: Authority) -> AsyncIterator[Receiver]:
    """A receiver with a good certificate for NAME."""
    async with receiving(authority.serving(NAME)) as ours:
        yield ours


@pytest.fixture
async def sender(
    authority: Authority, name_server: NameServer, names: Names
) -> AsyncIterator[Sender]:
    """Strict but for the test's own address, name server and authority."""
    ours = Sender(
        allowed=allowed_in_tests,
        nameservers=[name_server.address],
        certificates=authority.trusting(),
        timeout_seconds=2,
    )
    yield ours
    await ours.close()


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def plain() -> AsyncIterator[Receiver]:
    """A receiver without TLS, for tests of the loop alone."""
    async with receiving() as ours:
        yield ours


@pytest.fixture
async def open_sender() -> AsyncIterator[Sender]:
    ours = Sender(allow_private=True, timeout_seconds=5)
    yield ours
    await ours.close()
