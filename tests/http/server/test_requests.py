"""One response per request: what a request is, and how the application answers it."""

import asyncio

import pytest

from laari.http.connection_limits import Limits
from tests.http.server.harness import GET, QUICK, Client, on_uvloop, running, until


@on_uvloop
async def test_requests_one_after_another_and_all_at_once() -> None:
    async with running() as here:
        client = await here.client()
        for _ in range(2):
            client.write(GET)
            assert (await client.response())[1].startswith(b"GET /who 0")
        post = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        client.write(post + GET + post)
        found = [(await client.response())[1][:9] for _ in range(3)]
        assert found == [b"POST /p 3", b"GET /who ", b"POST /p 3"]


@pytest.mark.parametrize("pieces", [1, 7, 1000])
@on_uvloop
async def test_a_request_in_pieces(pieces: int) -> None:
    whole = (
        b"POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n0\r\nX-API-Key: k\r\n\r\n"
    )
    async with running() as here:
        client = await here.client()
        size = max(len(whole) // pieces, 1)
        for at in range(0, len(whole), size):
            client.write(whole[at : at + size])
            await client.writer.drain()
            await asyncio.sleep(0)
        status, body = await client.response()
        assert status == 200
        assert body == b"POST /p 3 b'abc' host,transfer-encoding"


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket", b"x"])
@on_uvloop
async def test_an_upgrade_is_ignored(upgrade: bytes) -> None:
    async with running() as here:
        client = await here.client()
        head = b"POST /p HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %b\r\n" % upgrade
        client.write(head + b"Content-Length: %d\r\n\r\n" % len(GET))
        await asyncio.sleep(0.05)
        client.write(GET)  # the body, not a request
        assert (await client.response())[1].startswith(b"POST /p %d" % len(GET))
        client.write(GET)
        assert (await client.response())[1].startswith(b"GET /who")
        assert here.app.begun == 2


@on_uvloop
async def test_expect_continue() -> None:
    async with running() as here:
        client = await here.client()
        head = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        client.write(head)
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.write(b"abc")
        assert (await client.response())[0] == 200


@pytest.mark.parametrize(
    "rest",
    [
        b" /who HTTP/1.1\r\n\r\n",
        b" * HTTP/1.1\r\nHost: a\r\n\r\n",
        b" /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b" /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nx",
    ],
)
@on_uvloop
async def test_a_refusal_of_head_has_no_body(rest: bytes) -> None:
    async with running(QUICK) as here:
        for method, length in ((b"GET", 3), (b"HEAD", 0)):
            head, _, body = (await here.ask(method + rest)).partition(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 408"))
            assert b"content-length: 0" not in head
            assert len(body) >= length if length else body == b""


@on_uvloop
async def test_a_response_that_never_has_a_body_tells_no_length() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET /unchanged HTTP/1.1\r\nHost: a\r\n\r\n")
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 304 ")
        assert b"content-length" not in head
        client.write(GET)
        assert (await client.response())[0] == 200


@on_uvloop
async def test_a_head_that_is_too_long() -> None:
    async with running() as here:
        found = await here.ask(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 70_000)
        assert found.startswith(b"HTTP/1.1 431 ")
        assert b"connection: close" in found
        assert here.app.begun == 0


@on_uvloop
async def test_a_fault_ends_the_connection_and_what_follows_is_no_request() -> None:
    async with running() as here:
        found = await here.ask(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + GET)
        assert found.count(b"HTTP/1.1") == 1
        assert found.endswith(b"400 /")
        assert here.app.begun == 0


@on_uvloop
async def test_what_comes_after_the_response_to_a_fault_is_no_request_either() -> None:
    async with running() as here:
        client = await here.client()
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert (await client.response())[0] == 400
        client.write(GET)
        assert await client.rest() == b""
        assert here.app.begun == 0


@on_uvloop
async def test_a_bare_newline_is_refused_at_once() -> None:
    async with running() as here:
        for data in (b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\n\n", b"\n"):
            assert (await here.ask(data)).startswith(b"HTTP/1.1 400 ")


@on_uvloop
async def test_a_body_that_is_too_long_is_refused_unread() -> None:
    async with running(Limits(body_bytes=100)) as here:
        head = b"POST /p HTTP/1.1\r\nHost: a\r\n"
        found = await here.ask(head + b"Content-Length: 1000000000\r\n\r\n" + GET)
        assert found.count(b"HTTP/1.1") == 1
        assert b"POST /p 0" in found
        found = await here.ask(head + b"Transfer-Encoding: chunked\r\n\r\nff\r\n" + bytes(255))
        assert found.count(b"HTTP/1.1") == 1
        assert b"POST /p 101" in found


@on_uvloop
async def test_a_client_that_half_closes_gets_its_response() -> None:
    async with running() as here:
        for count in (1, 3):
            client = await here.client()
            client.write(GET * count)
            client.writer.write_eof()
            assert (await client.rest()).count(b"HTTP/1.1 200") == count
        client = await here.client()
        client.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
        client.writer.write_eof()
        await asyncio.sleep(0.1)
        here.app.go_on.set()
        assert (await client.rest()).count(b"HTTP/1.1 200") == 2


@on_uvloop
async def test_the_application_hears_that_a_client_has_left() -> None:
    async with running() as here:
        for number, leave in enumerate((Client.close, Client.reset), 1):
            client = await here.client()
            client.write(b"GET /left HTTP/1.1\r\nHost: a\r\n\r\n")
            await until(lambda number=number: here.app.begun == number)
            leave(client)
        await until(lambda: here.app.left == 2)


@on_uvloop
async def test_a_client_that_half_closes_has_not_left() -> None:
    """It still reads: what is written to it does not come back."""
    async with running() as here:
        for number, version in enumerate((b"1.1", b"1.0"), 1):
            client = await here.client()
            client.write(b"GET /left HTTP/%b\r\nHost: a\r\n\r\n" % version)
            client.writer.write_eof()
            await until(lambda number=number: here.app.begun == number)
            await asyncio.sleep(0.3)
            assert here.app.left == 0
        # Until it does leave.
        client.reset()


@on_uvloop
async def test_an_application_that_fails() -> None:
    async with running() as here:
        client = await here.client()
        for path in (b"/broken", b"/newline"):
            client.write(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path)
            assert await client.response() == (500, b"500 " + path)
        client.write(GET)
        assert (await client.response())[0] == 200
        client.write(b"GET /half HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
        found = await client.rest()
        assert found.count(b"HTTP/1.1") == 1
        assert found.endswith(b"\r\n4\r\nhalf\r\n")  # the chunk that ends a whole one is missing


@on_uvloop
async def test_stopping_finishes_what_has_begun() -> None:
    async with running() as here:
        busy, idle, half = [await here.client() for _ in range(3)]
        busy.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        half.write(b"GET / HT")
        await until(lambda: here.app.begun == 1 and len(here.server._connections) == 3)
        stopping = asyncio.create_task(here.server.stop(5))
        assert await idle.rest() == b""
        assert await half.rest() == b""
        assert not stopping.done()
        here.app.go_on.set()
        assert (await busy.response())[0] == 200
        busy.writer.close()
        await asyncio.wait_for(stopping, 4)


@on_uvloop
async def test_faults_are_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as here:
        await asyncio.gather(*(here.ask(b"\n") for _ in range(50)))
        await asyncio.sleep(0.7)
    lines = [record.getMessage() for record in caplog.records]
    assert 1 <= len(lines) <= 2
    assert "malformed requests were refused" in lines[0]
