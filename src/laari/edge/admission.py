"""Admission control: a process answers a bounded number of requests at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from laari.edge.http import ClientGone, Header, Reply, Request
from laari.errors import UnavailableError
from laari.rules.refusals import Refusal, refuse

log = logging.getLogger(__name__)

# Requests being answered by one process: about a second's work. Beyond it an honest refusal beats
# a long wait, and memory stays where it is. Only complete requests come here.
MAX_IN_FLIGHT = 1024
# Whoever is refused is told when to come back, so that no more than these come back in a second.
# A refusal takes about an eighth of a millisecond: these take a twentieth of the time there is.
RETURNS_PER_SECOND = 400
LONGEST_WAIT_SECONDS = 10


class Admission:
    """Admits a bounded number of requests; the others are refused at once."""

    def __init__(self, most: int = MAX_IN_FLIGHT) -> None:
        self._most = most
        self._next_return = 0.0
        self.in_flight = 0

    async def serve(
        self,
        request: Request,
        answer: Callable[[Request], Awaitable[Reply]],
        refused: Callable[[Refusal], Reply],
        *headers: Header,
    ) -> None:
        """Responds to one request of an interface, whatever happens, in the interface's shape."""
        if self.in_flight >= self._most:
            seconds = self.wait_seconds(time.monotonic())
            reply = refused(refuse("service_unavailable")._replace(retry_after=seconds))
        else:
            self.in_flight += 1
            try:
                reply = await answer(request)
            except ClientGone:  # nobody is there to answer
                return
            except UnavailableError:
                reply = refused(refuse("service_unavailable"))
            except Exception:
                exchange = request.exchange
                log.exception("%s failed", exchange.operation, extra={"request_id": exchange.id})
                reply = refused(refuse("internal_error"))
            finally:
                self.in_flight -= 1
        request.exchange.reply(reply, *headers)

    def wait_seconds(self, now: float) -> int:
        """How long the next client to be refused should wait: those before it come first."""
        wait = min(max(self._next_return - now, 0.0), LONGEST_WAIT_SECONDS - 1)
        self._next_return = now + wait + 1 / RETURNS_PER_SECOND
        return int(wait) + 1
