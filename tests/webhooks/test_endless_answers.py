"""Receivers that never come to an end: the attempt does, early, and reads a bounded amount."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from laari.workers.webhooks.sender import Sender
from tests.webhooks.receivers import speaking

OK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
TIMEOUT_SECONDS = 3
MAX_WRITTEN = 12 * 1024 * 1024  # what fits into the buffers on the way, on loopback


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    ours = Sender(allow_private=True, timeout_seconds=TIMEOUT_SECONDS)
    yield ours
    await ours.close()


@pytest.mark.parametrize(
    ("start", "again"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 400),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 200),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 400),
        (b"HTTP/1.1 200 ", b"and ever " * 1000),
        (b"HTTP/1.1 200 OK\r\nX: ", b"and ever " * 1000),
        (b"", b"nonsense " * 1000),
    ],
    ids=["100", "103", "headers", "reason", "one header", "no HTTP"],
)
async def test_an_answer_without_a_status_ends_early(
    sender: Sender, start: bytes, again: bytes
) -> None:
    async with speaking(start, again) as receiver:
        answer = await sender.send(receiver.url, "k", b"{}")
        await asyncio.sleep(0.05)
    assert (answer.status, answer.acknowledged) == (None, False)
    assert answer.error in ("the answer was too long", "the answer was not valid HTTP")
    assert answer.duration_ms < 1500
    assert receiver.written < MAX_WRITTEN


@pytest.mark.parametrize(
    ("start", "again"),
    [
        (OK + b"2;", b"extension=and-more;" * 400),
        (OK, b"1;" + b"x" * 2000 + b"\r\na\r\n"),
        (OK + b"5\r\nthank\r\n0\r\n", b"X-Trailer: and more\r\n" * 400),
        (OK + b"5\r\nthank\r\n", b"0" * 8000),
        (OK, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    ],
    ids=["one extension", "extensions", "trailers", "chunk size", "body"],
)
async def test_once_the_status_is_known_the_rest_is_cut_off(
    sender: Sender, start: bytes, again: bytes
) -> None:
    async with speaking(start, again) as receiver:
        answer = await sender.send(receiver.url, "k", b"{}")
        await asyncio.sleep(0.05)
    assert (answer.status, answer.error, answer.acknowledged) == (200, None, True)
    assert answer.duration_ms < 1500
    assert receiver.written < MAX_WRITTEN


@pytest.mark.ci
@pytest.mark.parametrize(
    ("start", "again"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: ", b"y"),
    ],
    ids=["status line", "header", "after an interim response"],
)
async def test_a_dribbled_answer_ends_with_the_attempts_time(
    sender: Sender, start: bytes, again: bytes
) -> None:
    async with speaking(start, again, pause=0.1) as receiver:
        answer = await sender.send(receiver.url, "k", b"{}")
    assert answer.status is None
    assert answer.error in ("no answer in time", "the answer was not valid HTTP")
    assert answer.duration_ms < (TIMEOUT_SECONDS + 1) * 1000


@pytest.mark.ci
async def test_a_dribbled_body_does_not_outlast_the_attempts_time(sender: Sender) -> None:
    async with speaking(OK, b"1;x\r\na\r\n", pause=0.1) as receiver:
        answer = await sender.send(receiver.url, "k", b"{}")
    assert (answer.status, answer.acknowledged) == (200, True)
    assert answer.duration_ms < (TIMEOUT_SECONDS + 1) * 1000


@pytest.mark.ci
async def test_interim_responses_are_counted_however_slowly_they_come(sender: Sender) -> None:
    async with speaking(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", pause=0.02) as receiver:
        answer = await sender.send(receiver.url, "k", b"{}")
    assert (answer.status, answer.error) == (None, "the answer was too long")
    assert answer.duration_ms < 1500


async def test_a_few_interim_responses_are_nothing_unusual(sender: Sender) -> None:
    hints = b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3
    answer_bytes = hints + b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
    async with speaking(answer_bytes, b"", pause=0.2) as receiver:
        answer = await sender.send(receiver.url, "k", b"{}")
    assert (answer.status, answer.acknowledged) == (204, True)


async def test_each_answer_on_a_kept_connection_has_the_whole_allowance(sender: Sender) -> None:
    from aiohttp import web

    from tests.webhooks.receivers import receiving

    async with receiving() as receiver:
        receiver.answers["/"] = lambda request, body: web.Response(body=b"x" * 60_000)
        for _ in range(6):
            answer = await sender.send(f"http://127.0.0.1:{receiver.port}/", "k", b"{}")
            assert (answer.status, len(answer.text or "")) == (200, 1024)
