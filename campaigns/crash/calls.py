"""The operations of a merchant's clients as requests, and what came of each in the journal."""

import asyncio
import random
import time
from typing import Any

import aiohttp

from campaigns.crash.checker import DECIDING
from campaigns.crash.place import PASSWORD, Shop
from campaigns.journal import NOT_NOW, Attempt, Journal, Operation

PATIENCE_SECONDS = 30.0
RETRY_SECONDS = 0.05  # before the first retry; doubles, up to the last
LAST_RETRY_SECONDS = 1.0
SETTLE_SECONDS = 60.0
_FAILED = (aiohttp.ClientError, TimeoutError, OSError)


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
        self._desks: dict[str, Desk] = {}

    async def close(self) -> None:
        await self._http.close()
        for desk in self._desks.values():
            await desk.close()

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
        if operation.kind == "refund":
            return await self._refund(shop, operation)
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

    async def _refund(self, shop: Shop, operation: Operation) -> Attempt:
        desk = self._desks.get(shop.id)
        if desk is None:
            desk = self._desks[shop.id] = Desk(self.origin, shop)
        attempt = Attempt("", time.monotonic(), 0.0, None)
        try:
            attempt.status, attempt.code = await desk.refund(operation.payment_id or "")
        except _FAILED as error:
            attempt.code = type(error).__name__
        attempt.retry_after = True  # a page says it in words
        attempt.payment_id = operation.payment_id
        attempt.ended = time.monotonic()
        self.journal.record(operation, attempt)
        return attempt


class Desk:
    """One of a merchant's people on the dashboard, where payments are refunded."""

    def __init__(self, origin: str, shop: Shop) -> None:
        self._origin = origin
        self._shop = shop
        self._turn = asyncio.Lock()
        self._logged_in = False
        self._http = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=PATIENCE_SECONDS),
            cookie_jar=aiohttp.CookieJar(unsafe=True),  # of an address without a name
        )

    async def close(self) -> None:
        await self._http.close()

    async def refund(self, payment_id: str) -> tuple[int, str | None]:
        """The status and code as the interface would put them."""
        async with self._turn:
            if not self._logged_in:
                login = {"identity": self._shop.email, "password": PASSWORD}
                if await self._submit("/dashboard/login", login) != 303:
                    return 503, "service_unavailable"
                self._logged_in = True
            path = f"/dashboard/sandbox/payments/{payment_id}/refund"
            status = await self._submit(path, {"password": PASSWORD})
        codes = {303: None, 409: "payment_conflict", 503: "service_unavailable"}
        return (200 if status == 303 else status), codes.get(status, f"page {status}")

    async def _submit(self, path: str, fields: dict[str, str]) -> int:
        """Fills in the form of a page; what fails before it is sent has begun nothing."""
        try:
            async with self._http.get(f"{self._origin}{path}", allow_redirects=False) as page:
                text = await page.text()
        except _FAILED:
            return 503
        if 'name="form_token" value="' not in text:
            return 503 if page.status in (500, 503) else page.status
        token = text.split('name="form_token" value="')[1].split('"')[0]
        async with self._http.post(
            f"{self._origin}{path}", data={**fields, "form_token": token}, allow_redirects=False
        ) as answer:
            await answer.read()
            return answer.status


def request_of(operation: Operation) -> tuple[str, str, Any]:
    made = {"reference": operation.reference, "amount": operation.amount}
    about = operation.payment_id
    match operation.kind:
        case "create" | "reuse":
            return "POST", "/payments", made
        case "charge":
            return "POST", f"/authorizations/{operation.authorization_id}/charge", made
        case "request":
            customer = {"type": "vpa", "value": "sandbox"}
            return "POST", "/payment-requests", {**made, "customer": customer}
        case "pay":
            return "POST", f"/sandbox/payments/{about}/pay", None
        case "pay_request":
            return "POST", f"/sandbox/payment-requests/{about}/pay", None
        case "cancel":
            return "POST", f"/payments/{about}/cancel", None
        case "cancel_request":
            return "POST", f"/payment-requests/{about}/cancel", None
        case "read":
            return "GET", f"/payments/{about}", None
        case "read_request":
            return "GET", f"/payment-requests/{about}", None
    raise ValueError(operation.kind)


def _read(answer: Any, attempt: Attempt) -> None:
    match answer:
        case {"data": {"id": str(shown), "status": str(state)}}:
            attempt.payment_id, attempt.state = shown, state
        case {"error": {"code": str(code)}}:
            attempt.code = code
