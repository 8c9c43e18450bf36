"""Attempts, waits and verdicts, without input or output: one piece for both clients.

`exchange` is a generator. It yields what has to be done (`Authenticate`, `Send`, `Wait`) and is
sent what came of it; a client only does these three.
"""

from __future__ import annotations

import logging
import math
import random
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Dict, Generator, Optional, Union

from laari_client._call import Headers, Operation, Prepared
from laari_client._errors import (
    APIError,
    ConnectionFailedError,
    InvalidResponseError,
    LaariError,
    RequestTimeoutError,
)
from laari_client._reading import parse_json
from laari_client.errors import error_class

log = logging.getLogger("laari_client")

MAX_BACKOFF_SECONDS = 8.0
FIRST_BACKOFF_SECONDS = 0.25

# Nothing has been begun, so that anything may be sent again.
NOTHING_BEGUN_STATUSES = {408, 429}
NOTHING_BEGUN_CODES = {"service_unavailable", "temporarily_unavailable"}
# The outcome is unknown or still to come: only what is repeatable is sent again.
UNKNOWN_STATUSES = {500, 502, 503, 504}
UNKNOWN_CODES = {"idempotency_in_progress", "payment_in_progress", "idempotency_unavailable"}


@dataclass(frozen=True)
class Policy:
    timeout: float  # seconds of one attempt
    deadline: float  # seconds of all attempts and the waits between them
    max_attempts: int


@dataclass(frozen=True)
class Proof:
    """The header that authenticates, never shown; `token` is set if it can be renewed."""

    headers: Headers = field(repr=False)
    token: Optional[str] = field(repr=False, default=None)


@dataclass(frozen=True)
class Authenticate:
    """Wanted: a `Proof`, and not the one with the token that was refused."""

    audience: str
    timeout: float
    refused: Optional[str] = field(repr=False, default=None)


@dataclass(frozen=True)
class Send:
    """Wanted: a `Reply`, or a `Failure` if there is none within the timeout."""

    prepared: Prepared
    proof: Proof
    timeout: float


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Dict[str, str]  # names in lower case
    content: bytes = field(repr=False)

    @property
    def request_id(self) -> Optional[str]:
        return self.headers.get("request-id")


@dataclass(frozen=True)
class Failure:
    """Why there is no reply. `begun` is False if nothing can have reached the service."""

    reason: str
    begun: bool = True
    timed_out: bool = False
    lasting: bool = False  # trying again does not help


Step = Union[Authenticate, Send, Wait]
Steps = Generator[Step, Any, "Result"]


@dataclass(frozen=True)
class Result:
    value: Any = field(repr=False)  # parsed JSON, or bytes
    request_id: Optional[str] = None


@dataclass(frozen=True)
class Refused:
    """An attempt that brought no result: the error, and whether the next may bring one."""

    error: LaariError
    retry: bool


def exchange(prepared: Prepared, policy: Policy, origin: str) -> Steps:
    """Sends a request until there is a result, or an error that stays; `origin` is for its text."""
    ends_at = time.monotonic() + policy.deadline
    refused: Optional[str] = None
    attempt = 0
    while True:
        left = max(ends_at - time.monotonic(), 0.001)
        proof: Proof = yield Authenticate(prepared.operation.audience, left, refused)
        left = max(ends_at - time.monotonic(), 0.001)
        outcome = yield Send(prepared, proof, min(policy.timeout, left))
        attempt += 1
        verdict = judge(prepared.operation, outcome, origin)
        if isinstance(verdict, Result):
            return verdict
        if verdict.error.status == 401 and proof.token is not None and refused is None:
            # Expired or revoked since. A request without credentials does nothing: send it again,
            # once, with a new token.
            refused = proof.token
            attempt -= 1
            continue
        wait = pause(attempt, verdict.error.retry_after)
        if (
            not verdict.retry
            or attempt >= policy.max_attempts
            or time.monotonic() + wait >= ends_at
        ):
            raise verdict.error
        log.info(
            "%s attempt %d: %s; again in %.2f s",
            prepared.operation.name,
            attempt,
            verdict.error,
            wait,
        )
        yield Wait(wait)


def judge(
    operation: Operation, outcome: Union[Reply, Failure], origin: str
) -> Union[Result, Refused]:
    if isinstance(outcome, Failure):
        error = _unanswered(outcome, origin)
        again = not outcome.lasting and (operation.repeatable or not outcome.begun)
        return Refused(error, again)
    if 200 <= outcome.status < 300:
        return _result(operation, outcome)
    if outcome.status < 400:
        # Never followed: the credentials belong to the address that was given.
        return Refused(_not_ours(outcome, "redirected", "a redirect"), retry=False)
    refusal = read_error(outcome)
    if outcome.status in NOTHING_BEGUN_STATUSES or refusal.code in NOTHING_BEGUN_CODES:
        return Refused(refusal, retry=True)
    unknown = outcome.status in UNKNOWN_STATUSES or refusal.code in UNKNOWN_CODES
    return Refused(refusal, unknown and operation.repeatable)


def _unanswered(failure: Failure, origin: str) -> LaariError:
    if failure.timed_out:
        return RequestTimeoutError(
            f"No answer from {origin} in time: {failure.reason}.", code="timeout"
        )
    if failure.begun:
        return ConnectionFailedError(
            f"The connection to {origin} was lost: {failure.reason}.", code="connection_lost"
        )
    return ConnectionFailedError(
        f"The service could not be reached at {origin}: {failure.reason}. Is it running?",
        code="connection_failed",
    )


def _not_ours(reply: Reply, code: str, what: str) -> InvalidResponseError:
    return InvalidResponseError(
        f"The answer is {what}, which the service does not send.",
        code=code,
        status=reply.status,
        request_id=reply.request_id,
    )


def _result(operation: Operation, reply: Reply) -> Union[Result, Refused]:
    if operation.binary:
        return Result(reply.content, reply.request_id)
    try:
        value = parse_json(reply.content)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        # Cut short, or of something in between: what was done is not known.
        return Refused(_not_ours(reply, "invalid_response", "no JSON object"), operation.repeatable)
    return Result(value, reply.request_id)


def read_error(reply: Reply) -> APIError:
    """The refusal in any of the service's three shapes, or in none."""
    code = f"http_{reply.status}"
    message = f"Answered with HTTP {reply.status}, and not in the service's own form"
    name = None
    try:
        body = parse_json(reply.content)
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        code = error["code"]
        message = str(error.get("message", code))
        name = error.get("field") if isinstance(error.get("field"), str) else None
    elif isinstance(body, dict) and isinstance(error, str):
        code = error
        message = str(body.get("error_description", code))
    return error_class(code, reply.status)(
        message,
        code=code,
        status=reply.status,
        request_id=reply.request_id,
        field=name,
        retry_after=_retry_after(reply.headers.get("retry-after", "")),
    )


def _retry_after(value: str) -> Optional[float]:
    """Seconds, from a number or a date; None if it is neither."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:10])
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def pause(attempt: int, retry_after: Optional[float]) -> float:
    """Seconds before the next attempt: doubling, spread over the upper half, never earlier than
    the service asks for."""
    longest = min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(attempt - 1, 10))
    own = random.uniform(longest / 2, longest)  # noqa: S311  # spreads load, hides nothing
    if retry_after is None or not math.isfinite(retry_after):
        return own
    return retry_after + own if retry_after > own else own
