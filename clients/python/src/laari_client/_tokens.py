"""Access tokens: one request for all who wait, renewed before they expire."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Optional

from laari_client._config import bearer
from laari_client._errors import (
    ConnectionFailedError,
    InvalidResponseError,
    LaariError,
    RequestTimeoutError,
)
from laari_client._exchange import Proof
from laari_client._reading import Fields, integer, text

RENEW_BEFORE_SECONDS = 60.0
RENEW_BEFORE_PART = 0.1  # of a life too short for that
RETRY_RENEWAL_SECONDS = 5.0


@dataclass
class Token:
    value: str = field(repr=False)
    renew_at: float  # of the monotonic clock
    expires_at: float

    def is_usable(self, refused: Optional[str], until: float) -> bool:
        return self.value != refused and time.monotonic() < until


def read_token(value: Any, asked_at: float) -> Token:
    fields = Fields("the access token", value)
    token = fields.take("access_token", text)
    seconds = fields.take("expires_in", integer)
    if not token or not all("!" <= each <= "~" for each in token):
        raise InvalidResponseError("The access token cannot be sent.", code="invalid_response")
    margin = min(RENEW_BEFORE_SECONDS, seconds * RENEW_BEFORE_PART)
    return Token(token, asked_at + seconds - margin, asked_at + seconds)


class _Kept:
    """The token there is."""

    def __init__(self) -> None:
        self._token: Optional[Token] = None

    def _fresh(self, refused: Optional[str]) -> Optional[Proof]:
        token = self._token
        if token is not None and token.is_usable(refused, token.renew_at):
            return bearer(token.value)
        return None

    def _old(self, refused: Optional[str], error: LaariError) -> Proof:
        """A renewal that fails does no harm while the old token is still good."""
        token = self._token
        if token is None or not token.is_usable(refused, token.expires_at):
            raise error
        token.renew_at = time.monotonic() + RETRY_RENEWAL_SECONDS
        return bearer(token.value)


class Tokens(_Kept):
    """For threads: the first that needs a new token fetches it, the others wait for that."""

    def __init__(self, fetch: Callable[[float], Token]) -> None:
        super().__init__()
        self._fetch = fetch
        self._lock = threading.Lock()
        self._pending: Optional[Future[Token]] = None

    def get(self, refused: Optional[str], timeout: float) -> Proof:
        with self._lock:
            fresh = self._fresh(refused)
            if fresh is not None:
                return fresh
            pending, leads = self._pending, self._pending is None
            if pending is None:
                pending = self._pending = Future()
        if leads:
            self._lead(pending, timeout)
        error: LaariError
        try:
            return bearer(pending.result(timeout).value)
        except LaariError as failed:
            error = failed
        except FutureTimeoutError:
            error = RequestTimeoutError("No access token in time.", code="timeout")
        return self._old(refused, error)

    def _lead(self, pending: Future[Token], timeout: float) -> None:
        token = None
        error: LaariError = ConnectionFailedError(
            "The request for an access token was given up.", code="connection_failed"
        )
        try:
            token = self._fetch(timeout)
        except LaariError as failed:
            error = failed
        finally:  # also when interrupted: nobody waits for ever
            with self._lock:
                self._pending = None
                self._token = token or self._token
            if token is not None:
                pending.set_result(token)
            else:
                pending.set_exception(error)


class AsyncTokens(_Kept):
    """For one event loop: the request is a task of its own, so that no caller can cancel it."""

    def __init__(self, fetch: Callable[[float], Awaitable[Token]]) -> None:
        super().__init__()
        self._fetch = fetch
        self._pending: Optional[asyncio.Task[None]] = None

    async def get(self, refused: Optional[str], timeout: float) -> Proof:
        fresh = self._fresh(refused)
        if fresh is not None:
            return fresh
        if self._pending is None:
            self._pending = asyncio.ensure_future(self._renew(timeout))
            self._pending.add_done_callback(self._done)
        error: LaariError
        try:
            await asyncio.wait_for(asyncio.shield(self._pending), timeout)
        except LaariError as failed:
            error = failed
        except asyncio.TimeoutError:
            error = RequestTimeoutError("No access token in time.", code="timeout")
        else:
            fresh = self._fresh(refused)
            if fresh is not None:
                return fresh
            error = InvalidResponseError(
                "The access token is not good for any time.", code="invalid_response"
            )
        return self._old(refused, error)

    async def _renew(self, timeout: float) -> None:
        self._token = await self._fetch(timeout)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._pending = None
        if not task.cancelled():
            task.exception()  # retrieved, even if nobody waits any more

    async def close(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
