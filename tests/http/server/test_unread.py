"""What clients leave unread, and what a connection keeps between two requests."""

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from laari.http.connection_limits import Limits
from laari.http.messages import Reply, Request
from laari.http.server import Server
from laari.rules.refusals import Refusal
from tests.http.server.harness import GET, QUICK, USUAL, on_uvloop, running, until

SMALL_BUFFER = 4096  # of the kernel, so that what is not read stays with the server


class Sized:
    """Sends as many bytes as the path says."""

    async def __call__(self, request: Request) -> Reply:
        return Reply(200, bytes(int(request.path[1:])))

    def fault(self, refusal: Refusal, path: str | None) -> Reply:
        return Reply(refusal.status, b"")


@asynccontextmanager
async def serving(limits: Limits) -> AsyncIterator[tuple[Server, int]]:
    server = Server(Sized(), limits=limits)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
    await server.start([listener])
    try:
        yield server, listener.getsockname()[1]
    finally:
        await server.stop(1)


async def asking(port: int, size: int, *fields: str) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", port))
    lines = [f"GET /{size} HTTP/1.1", "Host: a", *fields, "", ""]
    await loop.sock_sendall(client, "\r\n".join(lines).encode())
    return client


async def taken(client: socket.socket, at_once: int = 65536, pause_seconds: float = 0) -> int:
    """How many bytes come until the end."""
    found = 0
    while data := await asyncio.get_running_loop().sock_recv(client, at_once):
        found += len(data)
        await asyncio.sleep(pause_seconds)
    return found


@pytest.mark.parametrize("fields", [(), ("Connection: close",)])
@pytest.mark.parametrize("size", [40_000, 400_000])
@on_uvloop
async def test_a_response_that_nobody_takes_holds_no_connection(
    size: int, fields: tuple[str, ...]
) -> None:
    async with serving(QUICK) as (server, port):
        with await asking(port, size, *fields) as client:
            await until(lambda: bool(server.stalled))
            await until(lambda: not server._connections)
            assert not server.stalled
            assert await taken(client) < size  # what the system had taken before


@pytest.mark.ci
@on_uvloop
async def test_a_response_that_is_taken_slowly_arrives_whole() -> None:
    async with serving(QUICK._replace(idle_seconds=10)) as (_, port):
        with await asking(port, 300_000, "Connection: close") as client:
            assert await taken(client, 15_000, 0.1) > 300_000  # in two seconds, three times as long


@on_uvloop
async def test_a_response_that_is_taken_by_the_byte_is_given_up() -> None:
    limits = QUICK._replace(write_bytes_per_second=100_000)
    async with serving(limits) as (server, port):
        with await asking(port, 300_000) as client:
            assert await taken(client, 2_000, 0.1) < 300_000
            assert not server._connections


@on_uvloop
async def test_responses_that_nobody_takes_have_a_bounded_room() -> None:
    async with serving(USUAL._replace(unsent_bytes=1_000_000)) as (server, port):
        honest = await asking(port, 100_000, "Connection: close")
        await until(lambda: server._unsent_bytes > 0)
        clients = [await asking(port, 400_000) for _ in range(8)]
        for client in clients[:6]:  # the oldest ones made room
            assert await taken(client) < 400_000
        assert len(server._connections) == 3
        assert await taken(honest) > 100_000  # it was not the one that took the room
        for client in (honest, *clients):
            client.close()
        await until(lambda: server._unsent_bytes == 0)


@on_uvloop
async def test_idle_connections_keep_little_of_their_last_request() -> None:
    """Fields that a client repeats are not read again, but long ones are not kept for that."""
    fields = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 600) for number in range(90))
    request = b"GET /who HTTP/1.1\r\nHost: a\r\n%b\r\n" % fields
    async with running() as here:
        clients = [await here.client() for _ in range(50)]
        tracemalloc.start()
        try:
            for client in clients:
                client.write(request)
                assert (await client.response())[0] == 200
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < 50 * 20_000


CROWD = Limits(connections=16)


@on_uvloop
async def test_connections_that_were_answered_and_linger_give_way() -> None:
    """Those that got a refusal and do not close, as many as there may be connections."""
    async with running(CROWD) as here:
        for _ in range(3):
            crowd = [await here.client() for _ in range(30)]
            for client in crowd:
                client.write(b"\n")
            await asyncio.sleep(0.1)
            assert len(here.server._connections) <= CROWD.connections
            newcomer = await here.client()
            newcomer.write(GET)
            assert (await newcomer.response())[0] == 200


@pytest.mark.parametrize("fields", [(), ("Connection: close",)])
@on_uvloop
async def test_connections_that_do_not_take_their_response_give_way(
    fields: tuple[str, ...],
) -> None:
    async with serving(CROWD) as (server, port):
        crowd = [await asking(port, 400_000, *fields) for _ in range(30)]
        await asyncio.sleep(0.2)
        assert len(server._connections) <= CROWD.connections
        with await asking(port, 10, "Connection: close") as newcomer:
            data = await asyncio.get_running_loop().sock_recv(newcomer, 100)
            assert data.startswith(b"HTTP/1.1 200 ")
        for client in crowd:
            client.close()


@on_uvloop
async def test_requests_sent_ahead_of_responses_have_a_bounded_room() -> None:
    limits = USUAL._replace(pipelined_bytes=1_000_000)
    ahead = b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n" * 3_000  # about 100 KB
    async with running(limits) as here:
        server = here.server
        honest = await here.client()
        honest.write(GET.replace(b"/who", b"/wait") + GET)
        await until(lambda: here.app.begun == 1)
        clients = [await here.client() for _ in range(20)]
        for client in clients:
            client.write(GET.replace(b"/who", b"/wait") + ahead)
        await until(lambda: here.app.begun == 21 and len(server._connections) < 21)
        await asyncio.sleep(0.2)
        assert 0 < server._pipelined_bytes <= limits.pipelined_bytes
        assert 5 < len(server._connections) < 20
        here.app.go_on.set()
        assert [(await honest.response())[0] for _ in range(2)] == [200, 200]
        for client in clients:
            client.writer.close()
        await until(lambda: len(server._connections) == 1)
        assert (server._pipelined, server._pipelined_bytes) == ({}, 0)


@on_uvloop
async def test_what_was_sent_ahead_is_released_when_its_turn_comes() -> None:
    async with running() as here:
        client = await here.client()
        client.write(GET.replace(b"/who", b"/wait") + GET * 200)
        await until(lambda: here.server._pipelined_bytes > 0)
        here.app.go_on.set()
        assert [(await client.response())[0] for _ in range(201)] == [200] * 201
        assert (here.server._pipelined, here.server._pipelined_bytes) == ({}, 0)
