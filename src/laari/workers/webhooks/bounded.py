"""Connections to receivers that read a bounded amount for each answer.

aiohttp bounds lines and numbers of header fields, and the sender what it reads of a body. Neither
sees interim responses (100, 103), chunk extensions and trailers: a receiver could send those for as
long as the attempt lasts, at whatever speed. Here every byte counts, before anything is parsed.
"""

from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

MAX_ANSWER_BYTES = 128 * 1024  # of everything: twice what is read of a body
MAX_INTERIM_RESPONSES = 8  # servers send one or two


class AnswerTooLong(aiohttp.ClientError):
    """More came back than any answer to a webhook needs."""


class BoundedResponse(ResponseHandler):
    """One connection; each request on it has the whole allowance for its answer."""

    _left = MAX_ANSWER_BYTES
    _interim = 0
    _too_long: AnswerTooLong | None = None

    def set_response_params(self, **params: Any) -> None:
        """Is called for each request, before it is sent."""
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
        """Is called with the head of each response, interim ones too."""
        super().feed_data(data, size)
        if 100 <= data[0].code < 200:
            self._interim += 1
            if self._interim > MAX_INTERIM_RESPONSES:
                self._cut()

    def _cut(self) -> None:
        """Ends the answer here: what was understood of it stays, and nothing more is read."""
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
    """The connector, whose connections are bounded from now on."""
    handler: type[ResponseHandler] = BoundedResponse
    connector._factory = partial(handler, loop=connector._loop)
    return connector
