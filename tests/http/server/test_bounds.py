"""How long the server waits for a client, and how much one client and all of them may hold."""

import asyncio
import socket
import subprocess
import sys
import textwrap
import time
from ipaddress import ip_network

import pytest

from laari.http.connection_limits import Limits
from tests.http.server.harness import GET, QUICK, Client, Running, on_uvloop, running, until


@pytest.mark.parametrize(
    "half",
    [
        b"G",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHos",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na",
    ],
)
@on_uvloop
async def test_half_a_request_is_given_up(half: bytes) -> None:
    async with running(QUICK) as here:
        started = time.monotonic()
        assert (await here.ask(half)).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 4
        assert here.app.begun == 0


@on_uvloop
async def test_a_dribbled_head_has_no_more_time() -> None:
    async with running(QUICK) as here:
        client = await here.client()
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        started = time.monotonic()
        while time.monotonic() - started < 4 and not client.reader._buffer:  # type: ignore[attr-defined]
            client.write(b"y")
            await asyncio.sleep(0.05)
        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - started < 3


@on_uvloop
async def test_a_body_that_keeps_its_pace_is_awaited_and_a_slower_one_is_not() -> None:
    limits = QUICK._replace(body_bytes_per_second=1000, body_seconds=60)
    head = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n"

    async def send(here: Running, bytes_per_second: int) -> int:
        client = await here.client()
        client.write(head)
        sent, began = 0, time.monotonic()
        while sent < 4000 and not client.reader._buffer:  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
            # What is due by the clock: a machine that is late catches up.
            due = min(int((time.monotonic() - began) * bytes_per_second), 4000)
            client.write(bytes(due - sent))
            sent = due
        return (await client.response())[0]

    async with running(limits) as here:
        assert await asyncio.gather(send(here, 2500), send(here, 200)) == [200, 408]


@on_uvloop
async def test_an_idle_connection_is_closed_without_a_word() -> None:
    async with running(QUICK) as here:
        client, silent = await here.client(), await here.client()
        client.write(GET)
        await client.response()
        assert await client.rest() == b""
        assert await silent.rest() == b""


@on_uvloop
async def test_one_address_holds_a_share_of_the_unfinished_requests() -> None:
    async with running(Limits(unfinished=20, unfinished_per_address=4)) as here:
        held = [await here.client() for _ in range(8)]
        for client in held:
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            await asyncio.sleep(0.02)
        for client in held[:4]:  # the oldest ones made room
            assert (await client.rest()).startswith(b"HTTP/1.1 503 ")
        whole = await here.client()
        whole.write(GET)
        assert (await whole.response())[0] == 200
        for client in held[4:]:
            client.write(b"123456789")
            assert (await client.response())[0] == 200


@pytest.mark.parametrize("first", [b"192.0.2.1", b"2001:db8::%x:%x"])
@on_uvloop
async def test_behind_a_proxy_the_share_is_the_clients(first: bytes) -> None:
    """Whoever has an IPv6 address has countless ones beside it."""
    limits = Limits(unfinished=20, unfinished_per_address=2)
    async with running(limits, trusted_proxies=(ip_network("127.0.0.1"),)) as here:
        clients = []
        for number in range(9):
            client = await here.client()
            own = first % (number, number) if b"%" in first else first
            address = own if number < 5 else b"192.0.2.%d" % number
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n")
            client.write(b"X-Forwarded-For: %b\r\n\r\n" % address)
            clients.append(client)
            await asyncio.sleep(0.02)
        for client in clients[:3]:
            assert (await client.rest()).startswith(b"HTTP/1.1 503 ")
        for client in clients[3:]:
            client.write(b"x")
            assert (await client.response())[0] == 200


@on_uvloop
async def test_unfinished_bodies_take_a_bounded_room() -> None:
    async with running(Limits(unfinished_bytes=250_000)) as here:
        clients = [await here.client() for _ in range(5)]
        for client in clients:
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n")
            client.write(bytes(100_000))
            await client.writer.drain()
        for client in clients[:3]:  # the oldest ones made room
            assert (await client.response())[0] == 503
        await until(lambda: here.server._held_bytes == 200_000)
        assert not any(client.reader._buffer for client in clients[3:])  # type: ignore[attr-defined]


@on_uvloop
async def test_registers_are_empty_when_everybody_has_left() -> None:
    async with running(Limits(unfinished=4, unfinished_per_address=3)) as here:
        clients = [await here.client() for _ in range(12)]
        for number, client in enumerate(clients):
            client.write([GET, b"GET /", b"\n", b"POST / HTTP/1.1\r\nHost: a\r\n"][number % 4])
        await asyncio.sleep(0.1)
        for client in clients:
            client.writer.close()
        server = here.server
        await until(lambda: not server._connections)
        assert not server._idle
        assert not server._unfinished
        assert not server._shares
        assert not server.draining
        assert not server.stalled
        assert server._held_bytes == 0


FILES = """
import asyncio, logging, resource, socket, sys, uvloop
from tests.http.server.harness import App
from laari.http.server import Server
logging.basicConfig(stream=sys.stdout, format="%(message)s")
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

async def main():
    server = Server(App())
    listener = socket.socket(fileno=int(sys.argv[1]))
    await server.start([listener])
    await asyncio.sleep(60)

uvloop.run(main())
"""


@on_uvloop
async def test_more_connections_than_files_are_told_and_survived() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2000)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(FILES), str(listener.fileno())],
        pass_fds=[listener.fileno()],
        stdout=subprocess.PIPE,
    )
    try:
        port = listener.getsockname()[1]
        held = []
        for _ in range(400):
            held.append(await asyncio.open_connection("127.0.0.1", port))
            await asyncio.sleep(0.002)
        for _ in range(5):
            client = Client(*await asyncio.open_connection("127.0.0.1", port))
            client.write(GET)
            assert (await client.response())[0] == 200
        await asyncio.sleep(0.7)
    finally:
        process.kill()
        output = process.communicate()[0].decode()
    assert "the number of open connections has reached its bound" in output
    assert output.count("\n") < 5


def test_the_system_is_asked_for_as_many_files_as_it_may_give() -> None:
    script = (
        "import resource; from laari.http.connection_limits import Limits\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 3000))\n"
        "from laari.http.server import _allowed_connections as allowed\n"
        "print(allowed(Limits()), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [str(3000 - Limits().reserved_files), "3000"]
