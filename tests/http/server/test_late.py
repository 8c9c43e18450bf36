"""A server whose loop is busy: what has waited too long is not begun, and nothing is held against
those who were in time."""

import asyncio
import socket
import sys
import time

from laari.http.connection_limits import Limits
from laari.http.lateness import LATE_SECONDS
from laari.http.server import Server
from tests.http.server.harness import GET, QUICK, App, on_uvloop, running, until

SHORT = Limits(wait_seconds=0.8, closed_wait_seconds=0.4)
LATE = LATE_SECONDS + 0.3
SPIN = b"GET /spin HTTP/1.1\r\nHost: a\r\n\r\n"


def connect(port: int, data: bytes) -> socket.socket:
    """Without the loop, as from another machine."""
    client = socket.create_connection(("127.0.0.1", port), timeout=5)
    client.sendall(data)
    return client


def stand_still(client: socket.socket, seconds: float) -> None:
    """Blocks the loop until what was sent last is this old by the kernel's clock, which decides.

    It counts ticks: on a machine whose processors are taken away, it lags behind.
    """
    sent = slice(44, 48)  # milliseconds, in `tcp_info`
    while True:
        info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, sent.stop)
        if int.from_bytes(info[sent], sys.byteorder) >= seconds * 1000:
            return
        time.sleep(0.02)


async def answer(client: socket.socket) -> bytes:
    client.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=client)
    try:
        return await asyncio.wait_for(reader.read(4096), 10)
    finally:
        writer.close()


@on_uvloop
async def test_a_request_that_waited_too_long_is_refused() -> None:
    async with running(SHORT) as here:
        waiting = connect(here.port, GET)
        stand_still(waiting, SHORT.wait_seconds + 0.1)
        recent = connect(here.port, GET)
        assert (await answer(waiting)).startswith(b"HTTP/1.1 503 ")
        assert (await answer(recent)).startswith(b"HTTP/1.1 200 ")
        assert here.app.begun == 1


@on_uvloop
async def test_a_large_one_is_refused_unread() -> None:
    async with running(SHORT) as here:
        malformed = connect(here.port, b"?" * 3000 + b"\r\n\r\n")
        stand_still(malformed, SHORT.wait_seconds + 0.1)
        assert (await answer(malformed)).startswith(b"HTTP/1.1 503 ")


@on_uvloop
async def test_on_a_connection_that_is_kept_it_is_refused_too() -> None:
    async with running(SHORT) as here:
        client = connect(here.port, GET)
        await until(lambda: here.app.begun == 1)
        client.recv(4096)
        client.sendall(GET)
        stand_still(client, LATE)
        assert (await answer(client)).startswith(b"HTTP/1.1 503 ")
        assert here.app.begun == 1


@on_uvloop
async def test_a_request_whose_client_has_closed_is_not_begun() -> None:
    async with running(SHORT) as here:
        for wait, begun in ((0.0, 1), (SHORT.closed_wait_seconds + 0.1, 1)):
            client = connect(here.port, GET)
            client.close()
            time.sleep(wait)
            await asyncio.sleep(0.2)
            assert here.app.begun == begun  # the first may wait for its response


@on_uvloop
async def test_the_last_of_a_long_round_are_not_begun() -> None:
    """All of them were read before the first was begun."""
    async with running(SHORT) as here:
        clients = [connect(here.port, GET) for _ in range(20)]
        await until(lambda: here.app.begun == 20)
        for client in clients:
            client.recv(4096)
            client.sendall(SPIN)
        found = await asyncio.gather(*map(answer, clients))
        refused = sum(each.startswith(b"HTTP/1.1 503 ") for each in found)
        served = sum(each.startswith(b"HTTP/1.1 200 ") for each in found)
        assert served + refused == 20
        assert served == here.app.begun - 20
        assert served <= (LATE_SECONDS + 0.5) / 0.2 + 1, served


@on_uvloop
async def test_a_prompt_path_is_answered_however_late() -> None:
    async with running(SHORT, prompt_paths=frozenset({"/who"})) as here:
        client = connect(here.port, GET)
        time.sleep(SHORT.wait_seconds + 0.1)
        assert (await answer(client)).startswith(b"HTTP/1.1 200 ")


@on_uvloop
async def test_who_came_before_the_process_began_is_served() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = connect(listener.getsockname()[1], GET)
        time.sleep(SHORT.wait_seconds + 0.1)
        server = Server(App(), limits=SHORT)
        await server.start([listener])
        assert (await answer(client)).startswith(b"HTTP/1.1 200 ")
        await server.stop(1)


@on_uvloop
async def test_what_was_sent_in_time_is_read_however_late() -> None:
    """The rest of a head came while the loop was busy for longer than a head may take."""
    async with running(QUICK._replace(head_seconds=1.5)) as here:
        client = connect(here.port, GET[:20])
        await until(lambda: len(here.server._unfinished) == 1)
        reading, writing = socket.socketpair()

        def read_for_long() -> None:  # after which the loop looks at the time before it reads on
            reading.recv(1)
            client.sendall(GET[20:])
            time.sleep(2.5)

        asyncio.get_running_loop().add_reader(reading, read_for_long)
        writing.sendall(b"x")
        assert (await answer(client)).startswith(b"HTTP/1.1 200 ")
        asyncio.get_running_loop().remove_reader(reading)
        reading.close()
        writing.close()


@on_uvloop
async def test_new_connections_are_not_accepted_one_at_a_time() -> None:
    """Each round of the loop is long while there is much to do."""
    async with running() as here:
        clients = [connect(here.port, b"") for _ in range(40)]
        rounds = 0
        while len(here.server._connections) < len(clients):
            await asyncio.sleep(0)
            rounds += 1
        assert rounds <= 40 / 8 + 5, rounds
        for client in clients:
            client.close()
