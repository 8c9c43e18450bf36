"""Responses that are long, and clients that take them slowly, not at all, or go."""

import asyncio

import pytest

from tests.http.server.harness import GET, QUICK, on_uvloop, running, until


@on_uvloop
async def test_how_a_stream_is_framed() -> None:
    async with running() as here:
        request = b"%b /short HTTP/1.%d\r\nHost: a\r\nConnection: close\r\n\r\n"
        head, _, body = (await here.ask(request % (b"GET", 1))).partition(b"\r\n\r\n")
        assert body == b"3\r\nsho\r\n2\r\nrt\r\n0\r\n\r\n"
        assert b"\r\ntransfer-encoding: chunked\r\n" in head
        assert b"content-length" not in head
        head, _, body = (await here.ask(request % (b"GET", 0))).partition(b"\r\n\r\n")
        assert body == b"short"  # it knows no chunks
        assert b"transfer-encoding" not in head
        head, _, body = (await here.ask(request % (b"HEAD", 1))).partition(b"\r\n\r\n")
        assert (body, b"\r\nx: y\r\n" in head) == (b"", True)
        assert here.app.released == 3


@on_uvloop
async def test_a_stream_has_a_pause_where_its_client_takes_nothing() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        written = -1
        while written != here.app.written:
            written = here.app.written
            assert written < 32 * 2**20
            await asyncio.sleep(0.05)
        (connection,) = here.server._connections
        assert connection.transport.get_write_buffer_size() <= 2 * 65_600


@pytest.mark.parametrize("leave", ["close", "abort", "silence"])
@on_uvloop
async def test_a_stream_is_closed_and_released_when_its_client_goes(leave: str) -> None:
    async with running(QUICK) as here:
        client = await here.client()
        client.write(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        await client.reader.readexactly(2**20)
        if leave == "silence":
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        else:
            client.writer.close() if leave == "close" else client.writer.transport.abort()
        await until(lambda: here.app.released > 0 and not here.server._tasks)
        assert (here.app.closed, here.app.released) == (1, 1)


@on_uvloop
async def test_a_client_that_takes_nothing_of_its_response_is_given_up() -> None:
    async with running(QUICK) as here:
        client = await here.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.write(b"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(lambda: here.app.begun == 1)
        await until(lambda: not here.server._tasks)
        assert here.app.written < 32 * 2**20


@on_uvloop
async def test_a_large_response_arrives_whole_after_a_half_close() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        client.writer.write_eof()
        found = await client.rest()
        assert found.endswith(b"0\r\n\r\n")
        assert len(found) > 64 * 2**20


@pytest.mark.ci
@on_uvloop
async def test_requests_sent_ahead_wait_for_a_client_that_does_not_read() -> None:
    async with running() as here:
        client = await here.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(300):
            client.write(GET * 1000)
        answered = -1
        while answered != here.app.begun:  # it stands still until they are taken
            answered = here.app.begun
            await asyncio.sleep(0.5)
        assert answered < 200_000
        (connection,) = here.server._connections
        assert len(connection._buffer) < 2**20
