"""What surrounds every request: its id, its figures, and the door that is shut when it is full."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from typing import Any

from laari.edge.http import ClientGone, Reply, Request, Send, send_reply
from laari.edge.metrics import OTHER, Metrics
from laari.rules.refusals import Refusal, refuse

log = logging.getLogger(__name__)

# Requests being answered by one process: about a second's work. Beyond it an honest refusal beats
# a long wait, and memory stays where it is.
MAX_IN_FLIGHT = 1024

_process = secrets.token_hex(5)
_numbers = count(1)


class Exchange:
    """One request and its answer; stands in for `send`, so that nothing is answered past it."""

    __slots__ = ("_metrics", "_send", "_status", "id", "operation", "started")

    def __init__(self, send: Send, metrics: Metrics) -> None:
        self._send = send
        self._metrics = metrics
        self._status = 0
        self.id = f"req_{_process}{next(_numbers):08x}"
        self.operation = OTHER  # until it is known which one it is
        self.started = time.perf_counter()

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = [*message["headers"], (b"request-id", self.id.encode())]
        elif not message.get("more_body", False):
            seconds = time.perf_counter() - self.started
            self._metrics.count(self.operation, self._status, message.get("body", b""), seconds)
        await self._send(message)


class Door:
    """Lets a bounded number of requests in; the others are refused at once."""

    def __init__(self, most: int = MAX_IN_FLIGHT) -> None:
        self._most = most
        self.in_flight = 0

    async def serve(
        self,
        request: Request,
        send: Send,
        answer: Callable[[Request], Awaitable[Reply]],
        refused: Callable[[Refusal], Reply],
        *headers: tuple[bytes, bytes],
    ) -> None:
        """Answers one request of an interface, whatever happens, in the interface's own shape."""
        if self.in_flight >= self._most:
            reply = refused(refuse("service_unavailable"))
        else:
            self.in_flight += 1
            try:
                reply = await answer(request)
            except ClientGone:
                return
            except Exception:
                exchange = request.exchange
                log.exception("%s failed", exchange.operation, extra={"request_id": exchange.id})
                reply = refused(refuse("internal_error"))
            finally:
                self.in_flight -= 1
        reply = reply._replace(headers=(*reply.headers, *headers))
        await send_reply(send, reply, head=request.method == "HEAD")
