"""Admission control: a process works on a bounded number of requests at once."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from laari.errors import UnavailableError
from laari.http.messages import ClientGone, Reply, Request
from laari.rules.refusals import Refusal, refuse

log = logging.getLogger(__name__)

# Requests in progress in one process: about a second's work. Beyond it a refusal is better than a
# long wait. Only complete requests count.
MAX_IN_FLIGHT = 1024
MAX_OF_ONE = MAX_IN_FLIGHT // 2  # of one credential and of one merchant
# Pages wait for passwords and reports, some for ten seconds, so they have separate places.
MAX_PAGES_IN_FLIGHT = 512
# Refused clients get different times to come back, so that at most this number do in a second.
# Refusing these again takes a twentieth of the processor time.
RETURNS_PER_SECOND = 400
LONGEST_WAIT_SECONDS = 10

NOBODY = Reply(400, content_type=b"")  # to a client that has disconnected


class Overloaded(Exception):  # noqa: N818  # named for what is the case
    """There is too much to do: nothing was begun, and a retry is safe."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after  # seconds


class Crowded(Exception):  # noqa: N818  # named for what happened
    """One caller has too many requests in progress."""


class _Place:
    """A request in progress of one owner. A generator would take three times as long."""

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
        """The reply to a request, or a refusal or error in the interface's shape."""
        if self.in_flight >= self._most:
            return self._refuse(refused)
        self.in_flight += 1
        try:
            with self.share(credential_of(request)):  # known before any look-up
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
        """A place for a request of this owner during the block; None has no limit."""
        if owner is None:
            return _UNBOUNDED
        taken = self._owners.get(owner, 0)
        if taken >= self._most_of_one:
            raise Crowded
        self._owners[owner] = taken + 1
        return _Place(self._owners, owner)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A request that only waits for a change leaves its place to others meanwhile."""
        self.in_flight -= 1
        try:
            yield
        finally:
            self.in_flight += 1

    def _refuse(self, refused: Callable[[Refusal], Reply]) -> Reply:
        seconds = self.wait_seconds(time.monotonic())
        return refused(refuse("service_unavailable")._replace(retry_after=seconds))

    def wait_seconds(self, now: float) -> int:
        """The seconds that the next refused client should wait."""
        wait = min(max(self._next_return - now, 0.0), LONGEST_WAIT_SECONDS - 1)
        self._next_return = now + wait + 1 / RETURNS_PER_SECOND
        return int(wait) + 1


def credential_of(request: Request) -> tuple[str | None, str | None] | None:
    """The credential headers as they were sent; pages have cookies instead.

    Both headers count, because a proxy may add one Authorization to all requests.
    """
    shown = request.headers.get(b"authorization"), request.headers.get(b"x-api-key")
    return None if shown == (None, None) else shown
