"""Merchants' clients: they create, charge, cancel and read, and behave as they were told to.

An operation whose outcome is not known is sent again with the same reference and key, to the other
node, until it is settled. One that was refused is given up by half of the clients: nothing may have
come of it.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Sequence
from typing import Any, Literal

import aiohttp

from campaigns.cluster.merchants import Merchant
from campaigns.cluster.service import ServiceNode
from campaigns.journal import NOT_NOW, Attempt, Journal, Operation

CLIENTS = 24
THINK_SECONDS = 0.6  # between two operations of a client
PROBE_SECONDS = 0.3  # between two operations of a probe, whatever becomes of them
PATIENCE_SECONDS = 60.0  # much longer than any request may take: what takes longer has to show
RETRY_SECONDS = 0.5  # before the first retry; doubles, up to the last
LAST_RETRY_SECONDS = 4.0
REMEMBERED = 40  # of a client's payments, to cancel and to read

Kind = Literal["create", "charge", "cancel", "read"]
_MIX: dict[Kind, int] = {"create": 5, "charge": 3, "cancel": 1, "read": 3}
_numbers = itertools.count(1)


class Caller:
    """Sends operations to the nodes and writes down what came of each attempt."""

    def __init__(self, http: aiohttp.ClientSession, journal: Journal, nodes: Sequence[ServiceNode]):
        self._http = http
        self._journal = journal
        self.nodes = nodes

    async def attempt(self, node: ServiceNode, merchant: Merchant, operation: Operation) -> Attempt:
        method, path, body = _request(merchant, operation)
        headers = {"X-API-Key": merchant.secret_key}
        if body is not None:
            headers["Idempotency-Key"] = f"key-{operation.reference}"
        attempt = Attempt(node.name, time.monotonic(), 0.0, None)
        try:
            async with self._http.request(
                method, f"{node.origin}/merchant{path}", json=body, headers=headers
            ) as response:
                answer = await response.json(content_type=None)
                attempt.status = response.status
                attempt.retry_after = "Retry-After" in response.headers
                _read(answer, attempt)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            attempt.status = None
            attempt.code = type(error).__name__
        attempt.ended = time.monotonic()
        self._journal.record(operation, attempt)
        return attempt

    def _balance(self, turn: int) -> ServiceNode:
        """The node whose turn it is, unless a load balancer would know better."""
        node = self.nodes[turn % len(self.nodes)]
        others = [each for each in self.nodes if each.in_rotation]
        return node if node.in_rotation or not others else others[0]

    async def settle(
        self, first: ServiceNode, merchant: Merchant, operation: Operation, *, gives_up: bool
    ) -> Attempt:
        """Sends it until it is settled: alternately to all nodes, beginning with one."""
        self._journal.begin(operation)
        wait_seconds = RETRY_SECONDS
        for turn in itertools.count(self.nodes.index(first)):
            attempt = await self.attempt(self._balance(turn), merchant, operation)
            if attempt.outcome == "ok" or operation.kind == "read":
                return attempt
            if attempt.outcome == "refused" and attempt.code not in NOT_NOW:
                return attempt  # the checker will complain
            if operation.was_refused and gives_up:
                return attempt
            await asyncio.sleep(wait_seconds * (0.5 + random.random()))
            wait_seconds = min(2 * wait_seconds, LAST_RETRY_SECONDS)
        raise AssertionError("unreachable")


def _request(merchant: Merchant, operation: Operation) -> tuple[str, str, Any]:
    body = {"reference": operation.reference, "amount": operation.amount}
    match operation.kind:
        case "create":
            return "POST", "/payments", body
        case "charge":
            return "POST", f"/authorizations/{merchant.authorization_id}/charge", body
        case "cancel":
            return "POST", f"/payments/{operation.payment_id}/cancel", None
        case _:
            return "GET", f"/payments/{operation.payment_id}", None


def _read(answer: Any, attempt: Attempt) -> None:
    match answer:
        case {"data": {"id": str(payment_id), "status": str(state)}}:
            attempt.payment_id, attempt.state = payment_id, state
        case {"error": {"code": str(code)}}:
            attempt.code = code


def new_operation(kind: Kind, merchant: Merchant) -> Operation:
    return Operation(kind, merchant.id, f"{kind}-{next(_numbers)}", random.randint(100, 9_999))


def about(kind: Kind, made: Operation, payment_id: str, state: str | None) -> Operation:
    return Operation(
        kind,
        made.merchant,
        made.reference,
        made.amount,
        payment_id=payment_id,
        expected_state=state,
    )


class Client:
    """One after the other, with a pause in between."""

    def __init__(self, caller: Caller, merchant: Merchant, node: ServiceNode) -> None:
        self._caller = caller
        self._merchant = merchant
        self._node = node
        self._payments: dict[str, tuple[Operation, str]] = {}  # by id: what made it, its state

    async def run(self, stop: asyncio.Event) -> None:
        await asyncio.sleep(random.random() * THINK_SECONDS)
        while not stop.is_set():
            await self._one(random.choices(list(_MIX), list(_MIX.values()))[0])
            await asyncio.sleep(THINK_SECONDS * (0.5 + random.random()))

    async def _one(self, kind: Kind) -> None:
        if kind in ("create", "charge"):
            await self._make(new_operation(kind, self._merchant))
        elif kind == "cancel":
            await self._cancel()
        elif self._payments:
            payment_id, (made, state) = random.choice(list(self._payments.items()))
            await self._settle(about("read", made, payment_id, state))

    async def _settle(self, operation: Operation) -> Attempt:
        gives_up = random.random() < 0.5
        return await self._caller.settle(self._node, self._merchant, operation, gives_up=gives_up)

    async def _make(self, operation: Operation) -> None:
        attempt = await self._settle(operation)
        if attempt.outcome == "ok" and attempt.payment_id and attempt.state:
            self._payments[attempt.payment_id] = operation, attempt.state
            if len(self._payments) > REMEMBERED:
                del self._payments[next(iter(self._payments))]

    async def _cancel(self) -> None:
        pending = [each for each, (_, state) in self._payments.items() if state == "pending"]
        if not pending:
            return
        payment_id = random.choice(pending)
        made, _ = self._payments[payment_id]
        attempt = await self._settle(about("cancel", made, payment_id, None))
        if attempt.outcome == "ok":
            self._payments[payment_id] = made, "cancelled"


class Probe:
    """Asks one node again and again, answered or not: when does it work again?"""

    def __init__(self, caller: Caller, merchant: Merchant, node: ServiceNode) -> None:
        self._caller = caller
        self._merchant = merchant
        self._node = node
        self._under_way: set[asyncio.Task[Any]] = set()

    async def run(self, stop: asyncio.Event) -> None:
        made = new_operation("create", self._merchant)
        first = await self._settle(made)
        while first.payment_id is None:
            first = await self._settle(made)
        try:
            while not stop.is_set():
                self._begin(new_operation("create", self._merchant))
                self._begin(about("read", made, first.payment_id, "pending"))
                await asyncio.sleep(PROBE_SECONDS)
            if self._under_way:
                await asyncio.wait(self._under_way)
        finally:
            for task in self._under_way:
                task.cancel()

    def _begin(self, operation: Operation) -> None:
        task = asyncio.create_task(self._settle(operation))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _settle(self, operation: Operation) -> Attempt:
        return await self._caller.settle(self._node, self._merchant, operation, gives_up=True)


class Load:
    """All clients and probes, from start to stop."""

    def __init__(
        self, journal: Journal, nodes: Sequence[ServiceNode], merchants: Sequence[Merchant]
    ) -> None:
        self._stop = asyncio.Event()
        self._http = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=PATIENCE_SECONDS),
            connector=aiohttp.TCPConnector(limit=0),
        )
        caller = Caller(self._http, journal, nodes)
        runners: list[Client | Probe] = [
            Client(caller, merchants[number % len(merchants)], nodes[number % len(nodes)])
            for number in range(CLIENTS)
        ]
        runners += [Probe(caller, merchants[0], node) for node in nodes]
        self._tasks = [asyncio.create_task(runner.run(self._stop)) for runner in runners]

    def check(self) -> None:
        """Raises what ended a client too early."""
        for task in self._tasks:
            if task.done() and not self._stop.is_set():
                task.result()
                raise RuntimeError("a client has ended")

    async def stop(self, seconds: float = PATIENCE_SECONDS + 30) -> None:
        """Begins nothing new and waits until everything under way is settled."""
        self._stop.set()
        await asyncio.wait(self._tasks, timeout=seconds)
        await self.abort()
        for task in self._tasks:
            if not task.cancelled():
                task.result()

    async def abort(self) -> None:
        """Leaves everything as it is."""
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.close()
