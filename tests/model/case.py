"""One case: new accounts, the service and the model side by side, call after call."""

import time
from collections.abc import Callable
from typing import Any

from tests.model.accounts import new_case
from tests.model.binding import Bound, compare
from tests.model.choices import overdue_requests
from tests.model.driver import Driver, Reply, wait_for_a_quiet_hour
from tests.model.reference.service import PAGES, WALLET_PATHS
from tests.model.reference.state import Name, State, Tenant
from tests.model.reference.steps import Call, Credential
from tests.model.reference.times import DAY
from tests.model.reference.unknowns import Unknown, id_of
from tests.model.worlds import World, as_named_in, distinct

MOST_WORLDS = 200  # beyond them the test costs too much, and something is read too late
WALLET_CALLS = 40  # of the sixty that a customer has in a minute: the rest is for the end
EVERY_LIST = ("list_payments", "list_requests", "list_authorizations", "list_payouts")
_PLAIN = ("number", "operation", "credential")


class DifferenceFoundError(AssertionError):
    """The service and the model disagree."""


class Case:
    def __init__(self, driver: Driver, modes: tuple[str, str] = ("sandbox", "sandbox")) -> None:
        self.driver = driver
        accounts, state = new_case(driver.processes[0], modes)
        self.worlds = [World(state, Bound())]
        driver.begin(accounts, self.bound)
        self.begun = time.time()
        self.calls: list[Call] = []
        self.transcript: list[str] = []
        self.wallet_calls: dict[str, int] = {}
        self.failed = False

    @property
    def state(self) -> State:
        """Of the first world, in which calls are chosen."""
        return self.worlds[0].state

    @property
    def bound(self) -> Bound:
        return self.worlds[0].bound

    def keep(self, worlds: list[World], problems: list[str]) -> None:
        """Goes on with these, which fit everything that was seen."""
        if not worlds:
            self.fail("; or ".join(dict.fromkeys(problems)))
        self.worlds = distinct(worlds) if len(worlds) > 1 else worlds
        assert len(self.worlds) <= MOST_WORLDS
        self.driver.bound = self.bound

    @property
    def number(self) -> int:
        """The next call's."""
        return len(self.calls) + 1

    def do(self, call: Call) -> Reply:
        """Sends the call, and compares the response with the model's answer."""
        wait_for_a_quiet_hour()
        self.calls.append(call)
        reply = self.driver.send(call, process=call.number % len(self.driver.processes))
        self.note(call, reply)
        named = [as_named_in(self.worlds[0], world, call) for world in self.worlds]
        problems = [
            world.step(its, reply, reply.start, reply.end)
            for world, its in zip(self.worlds, named, strict=True)
        ]
        self.keep_those_without(problems)
        if call.operation in WALLET_PATHS:
            self.wallet_calls[call.customer] = self.wallet_calls.get(call.customer, 0) + 1
        self.look_after(call)
        self.settle()
        return reply

    def keep_those_without(self, problems: list[str]) -> None:
        found = zip(self.worlds, problems, strict=True)
        self.keep([world for world, problem in found if not problem], problems)

    def look_after(self, call: Call) -> None:
        reading = self.reading_after(call, self.number)
        if reading is not None:
            self.do(reading)

    def reading_after(self, call: Call, number: int) -> Call | None:
        """What was decided on a page is read, where its merchant can: a page shows no JSON."""
        noun = PAGES[call.operation][0] if call.operation in PAGES else "payment"
        if call.operation not in PAGES and call.operation != "refund":
            return None
        return self.reading_of((noun, call.subject[1]), number) if call.subject else None

    def reading_of(self, subject: Name, number: int) -> Call | None:
        """How something stands, where its merchant can read it."""
        resource = getattr(self.state, f"{subject[0]}s").get(subject)
        if resource is None or not self.reaches(resource.tenant):
            return None
        return Call(number, f"get_{subject[0]}", resource.tenant.merchant, subject=subject)

    def reaches(self, tenant: Tenant) -> bool:
        """Whether the merchant's calls reach this tenant now."""
        merchant = self.state.merchants[tenant.merchant]
        return merchant.active and merchant.mode == tenant.mode

    @property
    def seen(self) -> set[Name]:
        """The resources whose ids are known."""
        return {(key[0], key[1]) for key in self.bound.values if key[2:] == ("id",)}

    def note(self, call: Call, reply: Reply) -> None:
        told = {name: value for name, value in vars(call).items() if value and name not in _PLAIN}
        if call.credential != Credential():
            told["credential"] = call.credential
        said = reply.body.get("error", "") if isinstance(reply.body, dict) else ""
        self.transcript.append(
            f"{call.number} {call.operation}: {told} -> {reply.status} {said or ''}".rstrip()
        )

    def fail(self, problem: str) -> None:
        self.failed = True
        raise DifferenceFoundError(
            "\n".join([*self.transcript[-60:], "", f"Difference: {problem}"])
        )

    def settle(self) -> None:
        """Reads requests that have become overdue, before the service's background work finds them.

        Both expire them, once, with one event: what is left is no matter of chance.
        """
        for name in self.overdue():
            request = self.state.requests.get(name)  # another world may have become the first
            if request is not None and self.reaches(request.tenant):
                merchant = request.tenant.merchant
                self.do(Call(self.number, "get_request", merchant, subject=name))

    def overdue(self) -> list[Name]:
        """The requests that may be, as the first world calls them."""
        found = [
            self.worlds[0].name_of(world.bound.text(id_of(name)))
            for world in self.worlds
            for name in overdue_requests(world.state, time.time())
        ]
        return [name for name in dict.fromkeys(found) if name is not None]

    def known_wallets(self) -> dict[str, list[Unknown]]:
        """Whose key is known and was not used too often yet, with the transactions seen so far."""
        seen = self.bound.values
        return {
            name: [line.tid for line in wallet.lines if line.tid.key in seen]
            for name, wallet in self.state.wallets.items()
            if (name in self.driver.accounts.wallet_keys or (name, "key") in seen)
            and self.wallet_calls.get(name, 0) < WALLET_CALLS
        }

    # The end: everything that can be read is read.

    def finish(self) -> None:
        for merchant in self.state.merchants:
            self.call("update_merchant", merchant, query={"active": True})
            for mode in ("sandbox", "live"):
                self.call("update_merchant", merchant, query={"mode": mode})
                self.settle()
                if mode == "sandbox":
                    self.let_a_day_pass(merchant)
                self.read_everything(merchant)
                self.compare_events(Tenant(merchant, mode))
        for wallet in self.state.wallets:
            for operation in ("wallet_balance", "wallet_usage", "wallet_transactions"):
                query = {"limit": 100} if operation == "wallet_transactions" else {}
                self.call(operation, customer=wallet, query=query)

    def let_a_day_pass(self, merchant: str) -> None:
        """Most of what is pending is overdue then, and not listed as pending.

        Only what a list shows is marked: back in its own time the rest is pending still.
        """
        self.call("set_wallet", merchant, body={})
        self.call("wallet_usage", customer=f"sandbox of {merchant}")
        self.call("move_clock", merchant, body={"advance_seconds": DAY})
        self.call("list_payments", merchant, query={"status": "pending", "limit": 100})
        self.call("move_clock", merchant, body={"advance_seconds": -DAY})

    def call(self, operation: str, merchant: str = "", **parts: Any) -> Reply:
        return self.do(Call(self.number, operation, merchant, **parts))

    def read_everything(self, merchant: str) -> None:
        tenant = Tenant(merchant, self.state.merchants[merchant].mode)
        for operation in EVERY_LIST:
            self.read_pages(lambda query, it=operation: self.call(it, merchant, query=query))
        self.call("get_balance", merchant)
        for name in dict.fromkeys(refund.payment for refund in self.state.refunds.values()):
            if self.state.payments[name].tenant == tenant:
                self.call("list_payment_refunds", merchant, subject=name, query={"limit": 100})
        for name, authorization in list(self.state.authorizations.items()):
            if authorization.tenant == tenant and authorization.spendings:
                self.call("list_charges", merchant, subject=name)

    def read_pages(self, read: Callable[[dict[str, Any]], Reply]) -> None:
        query: dict[str, Any] = {"limit": 15}
        while True:
            number = self.number
            if not read(query).body["pagination"]["has_more"]:
                return
            query = {"limit": 15, "after": number}

    def compare_events(self, tenant: Tenant) -> None:
        """Each happened once, carries the resource as it was, and they are listed newest first."""
        found = self.driver.events(tenant.merchant)
        times = [event["created_at"] for event in found]
        if times != sorted(times, reverse=True):
            self.fail(f"events out of order: {times}")
        seen = {(event["type"], event["data"]["id"]): event for event in found}
        if len(seen) != len(found):
            self.fail(f"events that happened twice: {sorted(seen)}")
        self.keep_those_without([self.wrong_events(world, tenant, seen) for world in self.worlds])

    def wrong_events(self, world: World, tenant: Tenant, seen: dict[tuple[str, str], Any]) -> str:
        """Where they differ from this world's."""
        expected = {
            (event.type, world.bound.text(id_of(event.subject))): event
            for event in world.state.events
            if event.tenant == tenant
        }
        if seen.keys() != expected.keys():
            return f"events {sorted(seen)} instead of {sorted(expected)}"
        for key, event in expected.items():
            body = {
                "id": id_of(("event", hash(key))),
                "type": event.type,
                "payload_version": 1,
                "mode": "active" if tenant.mode == "live" else "sandbox",
                "created_at": event.time,
                "data": event.data,
                "delivery": None,
            }
            problem = compare(body, seen[key], world.bound, f"event {key}")
            if problem:
                return problem
        return ""
