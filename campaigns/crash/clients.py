"""Merchants' clients, each with one operation at a time: they do as they are told.

An operation whose outcome is not known is sent again with the same reference and key. One that was
refused is given up by half of them: nothing may have come of it.
"""

import asyncio
import itertools
import random
from dataclasses import dataclass

from campaigns.crash.calls import Caller
from campaigns.crash.checker import DECIDING, LIMITS, MAKING, Problem
from campaigns.crash.place import Shop
from campaigns.journal import NOT_NOW, Attempt, Operation

CLIENTS = 32
THINK_SECONDS = 0.25  # between two operations of a client
PROBE_SECONDS = 0.1
STOP_SECONDS = 60.0
REMEMBERED = 30  # of a client's payments and requests
REPLAYED_AT_ONCE = 16
REPLAY_ATTEMPTS = 5
REPLAY_SECONDS = 1.0

_MIX = {
    "create": 6,
    "charge": 4,
    "request": 2,
    "pay": 4,
    "cancel": 1,
    "pay_request": 2,
    "cancel_request": 1,
    "refund": 1,
    "reuse": 1,
    "replay": 1,
    "read": 2,
}
# What each decision is made about.
_ABOUT = {
    "pay": ("create", "pending"),
    "cancel": ("create", "pending"),
    "refund": ("create", "paid"),
    "pay_request": ("request", "pending"),
    "cancel_request": ("request", "pending"),
}
KEYED = ("create", "charge")
_numbers = itertools.count(1)


def new_operation(kind: str, shop: Shop) -> Operation:
    """With a reference and key that nobody else has, and where it is a charge, an authorization."""
    reference = f"{kind}-{next(_numbers)}"
    limited = random.random() < 0.3
    return Operation(
        kind,
        shop.id,
        reference,
        random.randint(100, 9_999),
        key=None if kind == "request" else f"key-{reference}",  # requests take no key
        authorization_id=shop.limited_id if limited else shop.authorization_id,
    )


def about(kind: str, made: Operation, shown: str, expected: str | None = None) -> Operation:
    key = f"refund-{shown}" if kind == "refund" else None  # other decisions take no key
    return Operation(
        kind, made.merchant, made.reference, key=key, payment_id=shown, expected_state=expected
    )


@dataclass
class Known:
    made: Operation
    state: str


class Client:
    def __init__(self, caller: Caller, shop: Shop) -> None:
        self._caller = caller
        self._shop = shop
        self._known: dict[str, Known] = {}  # by the id that was shown

    async def run(self, stop: asyncio.Event) -> None:
        await asyncio.sleep(random.random() * THINK_SECONDS)
        while not stop.is_set():
            await self._one(random.choices(list(_MIX), list(_MIX.values()))[0])
            await asyncio.sleep(THINK_SECONDS * (0.5 + random.random()))

    async def _one(self, kind: str) -> None:
        if kind in MAKING:
            await self._make(new_operation(kind, self._shop))
        elif kind in DECIDING:
            await self._decide(kind)
        elif self._known:
            shown, known = random.choice(list(self._known.items()))
            await self._again(kind, shown, known)

    async def _settle(self, operation: Operation) -> Attempt:
        gives_up = random.random() < 0.5
        return await self._caller.settle(self._shop, operation, gives_up=gives_up)

    async def _make(self, operation: Operation) -> None:
        attempt = await self._settle(operation)
        if attempt.outcome == "ok" and attempt.payment_id and attempt.state:
            self._known[attempt.payment_id] = Known(operation, attempt.state)
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]

    async def _decide(self, kind: str) -> None:
        fits = [
            each
            for each, known in self._known.items()
            if (known.made.kind, known.state) == _ABOUT[kind]
        ]
        if not fits:
            return
        shown = random.choice(fits)
        attempt = await self._settle(about(kind, self._known[shown].made, shown))
        if attempt.outcome == "ok":
            self._known[shown].state = DECIDING[kind]

    async def _again(self, kind: str, shown: str, known: Known) -> None:
        made = known.made
        if kind == "replay":
            await self._caller.attempt(self._shop, made)
        elif kind == "reuse":
            # The same key for something else. Keys are per operation: that of a payment it is.
            if made.kind == "create":
                other = new_operation("reuse", self._shop)
                other.key = made.key
                await self._settle(other)
        elif made.kind != "request":
            await self._settle(about("read", made, shown, known.state))


class Probe:
    """Makes a payment again and again over new connections: when does it work again?"""

    def __init__(self, caller: Caller, shop: Shop) -> None:
        self._caller = caller
        self._shop = shop
        self._under_way: set[asyncio.Task[Attempt]] = set()
        self.operations: list[Operation] = []

    async def run(self, stop: asyncio.Event) -> None:
        try:
            while not stop.is_set():
                operation = new_operation("create", self._shop)
                self.operations.append(operation)
                task = asyncio.create_task(
                    self._caller.settle(self._shop, operation, gives_up=True)
                )
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
                await asyncio.sleep(PROBE_SECONDS)
            if self._under_way:
                await asyncio.wait(self._under_way)
        finally:
            for task in self._under_way:
                task.cancel()

    def back(self, since: float) -> float | None:
        """Seconds until payments were made again, and none that was begun later failed."""
        firsts = [
            each.attempts[0]
            for each in self.operations
            if each.attempts and each.attempts[0].began >= since
        ]
        good: float | None = None
        for attempt in firsts:
            if attempt.outcome != "ok":
                good = None
            elif good is None:
                good = attempt.ended
        return None if good is None else good - since


class Load:
    """All clients and the probe, from start to stop."""

    def __init__(self, caller: Caller, shops: list[Shop], clients: int = CLIENTS) -> None:
        self._stop = asyncio.Event()
        self.probe = Probe(caller, shops[0])
        runners: list[Client | Probe] = [self.probe]
        runners += [Client(caller, shops[each % len(shops)]) for each in range(clients)]
        self._tasks = [asyncio.create_task(runner.run(self._stop)) for runner in runners]

    def check(self) -> None:
        """Raises what ended a client too early."""
        for task in self._tasks:
            if task.done() and not self._stop.is_set():
                task.result()
                raise RuntimeError("a client has ended")

    async def stop(self) -> None:
        """Begins nothing new and waits until everything under way is settled."""
        self._stop.set()
        await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
        await self.abort()
        for task in self._tasks:
            if not task.cancelled():
                task.result()

    async def abort(self) -> None:
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def replay_every_key(
    caller: Caller, shops: list[Shop], operations: list[Operation]
) -> list[Problem]:
    """Asks once more under every key that was good for something: it shows the same.

    A machine that is starved may say "not now" for a moment; a key that is stuck goes on doing so.
    """
    by_id = {shop.id: shop for shop in shops}
    places = asyncio.Semaphore(REPLAYED_AT_ONCE)
    problems: list[Problem] = []

    async def replay(operation: Operation, told: Attempt) -> None:
        async with places:
            for _ in range(REPLAY_ATTEMPTS):
                again = await caller.send(by_id[operation.merchant], operation)
                if again.outcome == "ok" or again.code not in {*NOT_NOW, "internal_error"}:
                    break
                await asyncio.sleep(REPLAY_SECONDS)
        if not again.replayed or again.payment_id != told.payment_id:
            answer = (again.status, again.code, again.payment_id)
            problems.append(Problem("stuck", f"the key of {operation.reference}: {answer}"))

    await asyncio.gather(
        *(
            replay(operation, operation.acknowledged)
            for operation in operations
            if operation.kind in KEYED and operation.acknowledged is not None
        )
    )
    return problems


async def use_up_limits(
    caller: Caller, shops: list[Shop], remaining: dict[str, int]
) -> list[Problem]:
    """What is left of a limited authorization can be charged to the last laari, and no more."""
    problems: list[Problem] = []
    for shop in shops:
        left = remaining[shop.limited_id]
        for amount, fits in [(left, True), (1, False)] if left else [(1, False)]:
            charge = new_operation("charge", shop)
            charge.amount, charge.authorization_id = amount, shop.limited_id
            attempt = await caller.settle(shop, charge)
            if (attempt.outcome == "ok") != fits or not (fits or attempt.code in LIMITS):
                detail = f"{amount} of {left} left was answered {attempt.status} {attempt.code}"
                problems.append(Problem("limit", f"{charge.reference}: {detail}"))
    return problems
