"""Writes through a network that fails all the time: none doubled, none lost."""

import asyncio
import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from laari_client import AsyncLaari, Laari, LaariError
from tests.clients.faulty_proxy import AFTER, BEFORE, Choice, FaultyProxy, Seen
from tests.serving import Merchant

pytestmark = pytest.mark.ci

SHORT, LONG = 150, 1000
FAULTY_PART = 0.3  # of all requests
AT_ONCE = 12
AMOUNT = 250
# Short attempts, so that slow answers are given up; patience enough for any run of bad luck.
IMPATIENT = {"timeout": 1.0, "deadline": 120.0, "max_attempts": 60}

# The share of each fault: those that make the client wait a second are rarer.
WEIGHTS = {"slow before": 1, "slow after": 1, "429": 1}


def stormy(seed: int) -> Choice:
    """Faults at random times, drawn from a pack, so that each kind comes soon."""
    chance = random.Random(seed)
    pack: list[str] = []

    def choose(seen: Seen) -> str:
        if chance.random() >= FAULTY_PART:
            return ""
        if not pack:
            pack.extend(each for each in (*BEFORE, *AFTER) for _ in range(WEIGHTS.get(each, 3)))
            chance.shuffle(pack)
        return pack.pop()

    return choose


@dataclass(frozen=True)
class Write:
    """One write of the storm, and the kind it is of."""

    number: int

    @property
    def kind(self) -> str:
        return ("payment", "charge", "request", "authorization", "cancelled")[self.number % 5]

    @property
    def reference(self) -> str:
        return f"{self.kind}-{self.number}"


def write(client: Laari, each: Write, authorization: str) -> str:
    if each.kind == "charge":
        return client.authorizations.charge(
            authorization, reference=each.reference, amount=AMOUNT
        ).id
    if each.kind == "request":
        to = {"type": "vpa", "value": "sandbox"}
        return client.payment_requests.create(
            reference=each.reference, amount=AMOUNT, customer=to
        ).id
    if each.kind == "authorization":
        return client.authorizations.create(reference=each.reference, title="Box").id
    made = client.payments.create(reference=each.reference, amount=AMOUNT)
    if each.kind == "cancelled":
        assert client.payments.cancel(made.id).status == "cancelled"
    return made.id


async def awrite(client: AsyncLaari, each: Write, authorization: str) -> str:
    if each.kind == "charge":
        charge = await client.authorizations.charge(
            authorization, reference=each.reference, amount=AMOUNT
        )
        return charge.id
    if each.kind == "request":
        to = {"type": "vpa", "value": "sandbox"}
        asked = await client.payment_requests.create(
            reference=each.reference, amount=AMOUNT, customer=to
        )
        return asked.id
    if each.kind == "authorization":
        return (await client.authorizations.create(reference=each.reference, title="Box")).id
    made = await client.payments.create(reference=each.reference, amount=AMOUNT)
    if each.kind == "cancelled":
        assert (await client.payments.cancel(made.id)).status == "cancelled"
    return made.id


def sync_storm(origin: str, key: str, authorization: str, writes: list[Write]) -> dict[str, str]:
    with Laari(origin, key, **IMPATIENT) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        ids = pool.map(lambda each: write(client, each, authorization), writes)
        return {each.reference: made for each, made in zip(writes, ids, strict=True)}


def async_storm(origin: str, key: str, authorization: str, writes: list[Write]) -> dict[str, str]:
    async def run() -> dict[str, str]:
        places = asyncio.Semaphore(AT_ONCE)

        async def one(client: AsyncLaari, each: Write) -> str:
            async with places:
                return await awrite(client, each, authorization)

        async with AsyncLaari(origin, key, **IMPATIENT) as client:
            ids = await asyncio.gather(*(one(client, each) for each in writes))
        return {each.reference: made for each, made in zip(writes, ids, strict=True)}

    return asyncio.run(run())


def weather(proxy: FaultyProxy, shop: Merchant, storm, number: int) -> None:
    authorization = shop.approved()["id"]
    writes = [Write(each) for each in range(number)]
    proxy.choose = stormy(number)
    ids = storm(proxy.origin, shop.secret_key, authorization, writes)
    proxy.choose = lambda _: ""
    check(proxy, shop, authorization, ids)


def check(proxy: FaultyProxy, shop: Merchant, authorization: str, ids: dict[str, str]) -> None:
    """What the service has is what the client was told, each once."""
    with Laari(shop.service.origin, shop.secret_key) as calm:
        payments = list(calm.payments.list())
        had = {each.reference: each.id for each in payments}
        had |= {each.reference: each.id for each in calm.payment_requests.list()}
        authorizations = list(calm.authorizations.list())
        had |= {each.reference: each.id for each in authorizations if each.id != authorization}
        charged = calm.authorizations.get(authorization).usage
        spent = calm.sandbox.set_wallet().balance
    assert had == ids
    assert Counter(each.reference for each in payments).most_common(1)[0][1] == 1
    charges = sum(reference.startswith("charge") for reference in ids)
    assert (charged.payment_count, charged.total_paid) == (charges, charges * AMOUNT)
    assert spent == 10_000_000 - charges * AMOUNT
    cancelled = [each for each in payments if each.status == "cancelled"]
    assert {each.reference.partition("-")[0] for each in cancelled} == {"cancelled"}
    assert {seen.fault for seen in proxy.seen} >= {*BEFORE, *AFTER}
    keys_stay(proxy)


def keys_stay(proxy: FaultyProxy) -> None:
    """Every attempt of a call has its key, and no two calls have the same."""
    keys: dict[str, set[str]] = {}
    for seen in proxy.seen:
        if seen.target.endswith(("/payments", "/charge")) and seen.method == "POST":
            reference = json.loads(seen.body)["reference"]
            keys.setdefault(reference, set()).add(seen.headers["idempotency-key"])
    assert {len(each) for each in keys.values()} == {1}
    assert len({key for each in keys.values() for key in each}) == len(keys)


@pytest.mark.parametrize("storm", [sync_storm, async_storm], ids=["sync", "async"])
def test_writes_are_neither_doubled_nor_lost(proxy: FaultyProxy, shop: Merchant, storm) -> None:
    weather(proxy, shop, storm, SHORT)


@pytest.mark.campaign
@pytest.mark.parametrize("storm", [sync_storm, async_storm], ids=["sync", "async"])
def test_a_thousand_writes_are_neither_doubled_nor_lost(
    proxy: FaultyProxy, shop: Merchant, storm
) -> None:
    weather(proxy, shop, storm, LONG)


def test_what_adds_up_is_not_repeated_blindly(proxy: FaultyProxy, shop: Merchant) -> None:
    """Each move of the clock counts at most once, and each that was told to have worked once."""
    proxy.choose = stormy(7)

    def move(client: Laari) -> str:
        try:
            client.sandbox.move_clock(advance_seconds=1)
        except LaariError as error:
            return error.code
        return ""

    with Laari(proxy.origin, shop.secret_key, **IMPATIENT) as client, ThreadPoolExecutor(12) as p:
        told = list(p.map(lambda _: move(client), range(90)))
    moved = shop.advance(0)["offset_seconds"]
    assert told.count("") <= moved <= len(told)
    # Only what may have been carried out is left to the caller; the rest was sent again.
    assert {*told} <= {"", "connection_lost", "timeout", "http_502", "http_503"}
    begun = sum(
        seen.fault in ("", *AFTER, "slow before") for seen in proxy.seen if "clock" in seen.target
    )
    assert moved <= begun <= len(told)
    assert {seen.fault for seen in proxy.seen} >= {"reset after", "503", "reset before"}
