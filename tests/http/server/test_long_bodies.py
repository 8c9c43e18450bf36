"""Bodies that are longer than the server holds: the application takes them in pieces."""

import asyncio

import pytest

from laari.http.messages import PIECE_BYTES
from tests.http.server.harness import QUICK, USUAL, on_uvloop, running, until

MIB = 1024 * 1024
TAKE = b"POST /take HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%b\r\n"


@pytest.mark.parametrize("size", [0, 1, 100_000, 512 * 1024, 512 * 1024 + 1, 10 * MIB])
@on_uvloop
async def test_a_body_of_any_length_comes_in_short_pieces(size: int) -> None:
    async with running() as server:
        server.app.go_on.set()
        client = await server.client()
        client.write(TAKE % (size, b"") + bytes(size))
        assert await client.response() == (200, b"%d" % size)
        assert server.app.longest_piece <= PIECE_BYTES
        client.close()


@on_uvloop
async def test_a_request_behind_a_long_body_is_not_served() -> None:
    """The connection ends after the response, so nothing of the body can become a request."""
    async with running() as server:
        server.app.go_on.set()
        sent = TAKE % (MIB, b"") + bytes(MIB) + TAKE % (0, b"")
        answer = await server.ask(sent)
        assert answer.count(b"HTTP/1.1 200") == 1
        assert b"connection: close" in answer
        assert server.app.begun == 1


@on_uvloop
async def test_a_body_that_is_taken_slowly_fills_no_memory() -> None:
    async with running() as server:
        client = await server.client()
        client.write(TAKE % (64 * MIB, b"") + bytes(64 * MIB))
        await until(lambda: server.app.taken == PIECE_BYTES)
        for _ in range(20):
            server.app.go_on.set()
            server.app.go_on.clear()
            await asyncio.sleep(0.02)
        [connection] = server.server._connections
        assert connection.received < MIB
        client.reset()


@on_uvloop
async def test_a_slow_body_is_given_up() -> None:
    limits = QUICK._replace(long_body_bytes_per_second=MIB)
    async with running(limits) as server:
        server.app.go_on.set()
        client = await server.client()
        client.write(TAKE % (MIB, b"") + bytes(MIB // 2))
        assert await client.response() == (408, b"slow")
        assert server.app.taken == MIB // 2


@on_uvloop
async def test_a_body_that_comes_at_the_rate_is_read() -> None:
    limits = QUICK._replace(long_body_bytes_per_second=MIB // 8)
    async with running(limits) as server:
        server.app.go_on.set()
        client = await server.client()
        client.write(TAKE % (MIB, b""))
        for _ in range(16):  # 1.6 s: longer than other bodies may take here
            client.write(bytes(MIB // 16))
            await asyncio.sleep(0.1)
        assert await client.response() == (200, b"%d" % MIB)


@pytest.mark.parametrize("how", ["close", "reset"])
@on_uvloop
async def test_a_client_that_leaves_ends_the_taking(how: str) -> None:
    async with running() as server:
        server.app.go_on.set()
        client = await server.client()
        client.write(TAKE % (MIB, b"") + bytes(MIB // 2))
        await until(lambda: server.app.taken == MIB // 2)
        getattr(client, how)()
        await until(lambda: server.app.left == 1)


@on_uvloop
async def test_a_client_that_left_before_its_long_body_was_wanted() -> None:
    async with running() as server:
        client = await server.client()
        client.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + TAKE % (MIB, b""))
        client.writer.write_eof()
        await until(lambda: server.app.begun == 1)
        server.app.go_on.set()
        await until(lambda: server.app.left == 1)


@on_uvloop
async def test_the_client_is_told_to_go_on_only_if_the_body_is_wanted() -> None:
    expects = b"Expect: 100-continue\r\n"
    async with running() as server:
        server.app.go_on.set()
        client = await server.client()
        client.write(TAKE % (MIB, expects))
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.write(bytes(MIB))
        assert await client.response() == (200, b"%d" % MIB)
        other = await server.client()
        other.write(TAKE.replace(b"/take", b"/who") % (MIB, expects))
        assert (await other.response())[0] == 200


@on_uvloop
async def test_a_long_body_in_chunks_has_no_pieces() -> None:
    """Its length is not known; only what shows that it is too long was read."""
    async with running(USUAL._replace(body_bytes=1000)) as server:
        server.app.go_on.set()
        head = b"POST /take HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        client = await server.client()
        client.write(head + b"fff\r\n" + bytes(4095) + b"\r\n")
        assert await client.response() == (200, b"1001")
