"""Admission control: a process works on a bounded number of requests at once."""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext

from laari.errors import UnavailableError
from laari.http.messages import ClientGone, Reply, Request
from laari.rules.refusals import Refusal, refuse

log = logging.getLogger(__name__)

# Requests being worked on by one process: about a second's work. Beyond it an honest refusal beats
# a long wait, and memory stays where it is. Only complete requests come here.
MAX_IN_FLIGHT = 1024
MAX_OF_ONE = MAX_IN_FLIGHT // 2  # of one credential and of one merchant: others find a place
# Pages wait for passwords and reports, some for ten seconds: places of their own, so that neither
# takes those of the other.
MAX_PAGES_IN_FLIGHT = 512
# Whoever is refused is told when to come back, so that no more than these come back in a second.
# A refusal takes about an eighth of a millisecond: these take a twentieth of the time there is.
RETURNS_PER_SECOND = 400
LONGEST_WAIT_SECONDS = 10

NOBODY = Reply(400, content_type=b"")  # to a client that has disconnected: nobody reads it


class Crowded(Exception):  # noqa: N818  # named for what happened
    """One caller has as many requests in progress as one may have."""


class _Place:
    """One of an owner's requests in progress. A generator would take three times as long."""

    __slots__ = ("_owner", "_owners")

    def __init__(self, owners: dict[object, int], owner: object) -> None:
        self._owners, self._owner = owners, owner

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        left = self._owners.pop(self._owner) - 1
        if left:
            self._owners[self._owner] = left


_UNBOUNDED = nullcontext()


class Admission:
    """Admits a bounded number of requests; the others are refused at once."""

    def __init__(self, most: int = MAX_IN_FLIGHT, most_of_one: int = MAX_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._next_return = 0.0
        self._owners: dict[object, int] = {}  # requests in progress, of those that have any
        self.in_flight = 0

    async def serve(
        self,
        request: Request,
        handle: Callable[[Request], Awaitable[Reply]],
        refused: Callable[[Refusal], Reply],
    ) -> Reply:
        """The reply to one request of an interface, whatever happens, in the interface's shape."""
        if self.in_flight >= self._most:
            return self._refuse(refused)
        self.in_flight += 1
        try:
            with self.share(credential_of(request)):  # known before anybody is asked who it is
                return await handle(request)
        except Crowded:
            return self._refuse(refused)
        except ClientGone:
            return NOBODY
        except UnavailableError:
            return refused(refuse("service_unavailable"))
        except Exception:
            log.exception("%s failed", request.operation, extra={"request_id": request.id})
            return refused(refuse("internal_error"))
        finally:
            self.in_flight -= 1

    def share(self, owner: object) -> AbstractContextManager[None]:
        """A place among those of one owner, while the block lasts; None has no share of its own."""
        if owner is None:
            return _UNBOUNDED
        taken = self._owners.get(owner, 0)
        if taken >= self._most_of_one:
            raise Crowded
        self._owners[owner] = taken + 1
        return _Place(self._owners, owner)

    def _refuse(self, refused: Callable[[Refusal], Reply]) -> Reply:
        seconds = self.wait_seconds(time.monotonic())
        return refused(refuse("service_unavailable")._replace(retry_after=seconds))

    def wait_seconds(self, now: float) -> int:
        """How long the next client to be refused should wait: those before it come first."""
        wait = min(max(self._next_return - now, 0.0), LONGEST_WAIT_SECONDS - 1)
        self._next_return = now + wait + 1 / RETURNS_PER_SECOND
        return int(wait) + 1


def credential_of(request: Request) -> tuple[str | None, str | None] | None:
    """What a program shows of itself, as it was sent; people's pages have cookies instead.

    A proxy may put one Authorization into the requests of many, so both headers count.
    """
    shown = request.headers.get(b"authorization"), request.headers.get(b"x-api-key")
    return None if shown == (None, None) else shown
