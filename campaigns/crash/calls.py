"""The operations of a merchant's clients as requests, and what came of each in the journal."""

import asyncio
import random
import time
from typing import Any

import aiohttp

from campaigns.crash.checker import DECIDING
from campaigns.crash.place import Shop
from campaigns.journal import NOT_NOW, Attempt, Journal, Operation

PATIENCE_SECONDS = 30.0
RETRY_SECONDS = 0.05  # before the first retry; doubles, up to the last
LAST_RETRY_SECONDS = 1.0
SETTLE_SECONDS = 60.0
_FAILED = (aiohttp.ClientError, TimeoutError, OSError)
# Requests about a payment or a payment request.
_ABOUT = {
    "pay": "POST /sandbox/payments/{}/pay",
    "pay_request": "POST /sandbox/payment-requests/{}/pay",
    "cancel": "POST /payments/{}/cancel",
    "cancel_request": "POST /payment-requests/{}/cancel",
    "refund": "POST /payments/{}/refunds",
    "read": "GET /payments/{}",
    "read_request": "GET /payment-requests/{}",
}


class Caller:
    def __init__(self, origin: str, journal: Journal) -> None:
        self.origin = origin
        self.journal = journal
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        self._http = aiohttp.ClientSession(
            timeout=timeout,
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        await self._http.close()

    async def settle(self, shop: Shop, operation: Operation, *, gives_up: bool = False) -> Attempt:
        """Sends it until it is settled, with the same reference and key each time."""
        self.journal.begin(operation)
        return await self.finish(shop, operation, gives_up=gives_up)

    async def finish(self, shop: Shop, operation: Operation, *, gives_up: bool = False) -> Attempt:
        """Goes on with what was begun. What is not settled in time is left to the checker."""
        wait_seconds, last = RETRY_SECONDS, time.monotonic() + SETTLE_SECONDS
        while True:
            looks = operation.kind in DECIDING and operation.was_in_doubt
            attempt = await self._look(shop, operation) if looks else None
            attempt = attempt or await self.attempt(shop, operation)
            if attempt.outcome == "ok" or operation.kind == "read":
                return attempt
            if attempt.outcome == "refused" and attempt.code not in NOT_NOW:
                return attempt
            if (operation.was_refused and gives_up) or time.monotonic() > last:
                return attempt
            await asyncio.sleep(wait_seconds * (0.5 + random.random()))
            wait_seconds = min(2 * wait_seconds, LAST_RETRY_SECONDS)

    async def attempt(self, shop: Shop, operation: Operation) -> Attempt:
        attempt = await self.send(shop, operation)
        self.journal.record(operation, attempt)
        return attempt

    async def send(self, shop: Shop, operation: Operation) -> Attempt:
        method, path, body = request_of(operation)
        headers = {"X-API-Key": shop.secret_key}
        if operation.key is not None:
            headers["Idempotency-Key"] = operation.key
        attempt = Attempt("", time.monotonic(), 0.0, None)
        try:
            async with self._http.request(
                method, f"{self.origin}/merchant{path}", json=body, headers=headers
            ) as response:
                answer = await response.json(content_type=None)
                attempt.status = response.status
                attempt.retry_after = "Retry-After" in response.headers
                attempt.replayed = response.headers.get("Idempotent-Replayed") == "true"
                _read(answer, attempt)
        except _FAILED as error:
            attempt.status, attempt.code = None, type(error).__name__
        attempt.ended = time.monotonic()
        return attempt

    async def _look(self, shop: Shop, operation: Operation) -> Attempt | None:
        """Whether what is in doubt has happened: a decision has no key, but its state shows."""
        noun = "read_request" if operation.kind.endswith("_request") else "read"
        read = Operation(noun, shop.id, operation.reference, payment_id=operation.payment_id)
        attempt = await self.send(shop, read)
        if attempt.outcome != "ok" or attempt.state != DECIDING[operation.kind]:
            return None
        self.journal.record(operation, attempt)
        return attempt


def request_of(operation: Operation) -> tuple[str, str, Any]:
    made = {"reference": operation.reference, "amount": operation.amount}
    match operation.kind:
        case "create" | "reuse":
            return "POST", "/payments", made
        case "charge":
            return "POST", f"/authorizations/{operation.authorization_id}/charge", made
        case "request":
            customer = {"type": "vpa", "value": "sandbox"}
            return "POST", "/payment-requests", {**made, "customer": customer}
    method, path = _ABOUT[operation.kind].split()
    body: Any = {} if operation.kind == "refund" else None
    return method, path.format(operation.payment_id), body


def _read(answer: Any, attempt: Attempt) -> None:
    match answer:
        case {"data": {"id": str(shown), "status": str(state)}}:
            attempt.payment_id, attempt.state = shown, state
        case {"error": {"code": str(code)}}:
            attempt.code = code
