"""Connections to receivers that read a limited number of bytes for each answer.

aiohttp does not limit interim responses (100, 103), chunk extensions and trailers.
"""

from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

MAX_ANSWER_BYTES = 128 * 1024  # twice the limit of a body
MAX_INTERIM_RESPONSES = 8  # servers send one or two


class AnswerTooLong(aiohttp.ClientError):
    """The answer is longer than any webhook needs."""


class BoundedResponse(ResponseHandler):
    """A connection with a limit for the answer to each request."""

    _left = MAX_ANSWER_BYTES
    _interim = 0
    _too_long: AnswerTooLong | None = None

    def set_response_params(self, **params: Any) -> None:
        """aiohttp calls this before each request."""
        self._left = MAX_ANSWER_BYTES
        self._interim = 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if self._too_long is not None:
            return
        allowed, self._left = data[: self._left], self._left - len(data)
        super().data_received(allowed)
        if self._left < 0:
            self._cut()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """aiohttp calls this with the head of each response, also of an interim one."""
        super().feed_data(data, size)
        if 100 <= data[0].code < 200:
            self._interim += 1
            if self._interim > MAX_INTERIM_RESPONSES:
                self._cut()

    def _cut(self) -> None:
        """Ends the answer here and keeps what was parsed."""
        if self._too_long is not None:
            return
        self._too_long = AnswerTooLong()
        self.set_exception(self._too_long)
        payload, self._payload, self._parser = self._payload, None, None
        if payload is not None and not payload.is_eof():
            payload.feed_eof()
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(self._too_long or exc)


def bounded(connector: aiohttp.TCPConnector) -> aiohttp.TCPConnector:
    handler: type[ResponseHandler] = BoundedResponse
    connector._factory = partial(handler, loop=connector._loop)
    return connector
