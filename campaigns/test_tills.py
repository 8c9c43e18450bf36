"""Tills: from the keypad to green beside API load, what open counters cost, and what an end takes.

All of it goes to the loopback. `LAARI_TILLS_SELLING` and `LAARI_TILLS_OPEN` are numbers of tills,
`LAARI_TILLS_SECONDS` is the length of a measurement.
"""

import json
import os
import resource
import time
from collections.abc import Iterator
from itertools import islice

import pytest

from campaigns.test_pressure import PAYMENTS_PER_SECOND, beside, part
from laari.engine.embedded import embedded_server
from tests.serving import Service, serving
from tests.tills import PairedDevice, Seller, new_till

SELLING = int(os.environ.get("LAARI_TILLS_SELLING", "64"))
OPEN = int(os.environ.get("LAARI_TILLS_OPEN", "1000"))
SECONDS = float(os.environ.get("LAARI_TILLS_SECONDS", "60"))
OF_ONE_SHOP = 100
EVERY_SECONDS = 3.0  # a sale at each till
MOST_P99_SECONDS = 1.0
PROCESSES = 2
SETTLE_SECONDS = 2.0  # until a counter waits
CALM_SECONDS = 5
CYCLE_SECONDS = 20  # each counter asks again
ENDED = 10  # devices, one after the other
MOST_LOOKS = 1.5  # statements a second and process


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """On a durable engine of its own; half of the sales are paid in the other process."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with (
        embedded_server(tmp_path_factory.mktemp("engine")) as dsn,
        serving(dsn, tmp_path_factory.mktemp("service"), workers=PROCESSES) as service,
    ):
        yield service


def paired_tills(service: Service) -> Iterator[PairedDevice]:
    """Tills of new shops, each with a paired device."""
    while True:
        shop = service.merchant()
        shop.control("wallet", {"balance": 10**12, "tier": "business"})
        for number in range(OF_ONE_SHOP):
            yield new_till(shop, f"Till {number}")


def arguments(tills: list[PairedDevice], **more: float) -> str:
    """Of a process of `campaigns.counters`."""
    return json.dumps({"tills": [(till.cookie, till.shop.secret_key) for till in tills], **more})


def transactions(service: Service) -> tuple[float, int]:
    """The moment, and the transactions of the database so far. A look is one of them."""
    [row] = service.execute(
        "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    )
    return time.monotonic(), row["xact_commit"]


def rate(before: tuple[float, int], after: tuple[float, int]) -> float:
    return (after[1] - before[1]) / (after[0] - before[0])


@pytest.mark.campaign
def test_from_keypad_to_green(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    host, port = service.origin.removeprefix("http://").split(":")
    tills = list(islice(paired_tills(service), SELLING))
    paying = service.merchant(name="Paying")
    paying.control("wallet", {"balance": 10**12, "tier": "business"})
    payer = (host, port, paying.secret_key, str(PAYMENTS_PER_SECOND))
    selling = ("selling", host, port, arguments(tills, every=EVERY_SECONDS))
    with beside("payer", *payer) as paid, beside("counters", *selling) as sold:
        time.sleep(SECONDS)
        seen, api = sold(), paid()
    took = sorted(each for _, each in seen["samples"])
    with capsys.disabled():
        print(
            f"\n{len(took)} sales at {SELLING} tills, keypad to green: "
            f"p50 {part(took, 0.5):.3f} s, p99 {part(took, 0.99):.3f} s, most {took[-1]:.3f} s; "
            f"beside them {len(api['samples'])} answers of the API"
        )
    assert (seen["failures"], api["failures"]) == ([], [])
    assert len(took) > SELLING
    assert part(took, 0.99) < MOST_P99_SECONDS


@pytest.mark.campaign
def test_what_open_counters_cost(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    host, port = service.origin.removeprefix("http://").split(":")
    tills = list(islice(paired_tills(service), OPEN))
    before = transactions(service)
    time.sleep(CALM_SECONDS)
    idle = rate(before, transactions(service))
    with beside("counters", "waiting", host, port, arguments(tills)) as waited:
        seconds = [transactions(service)]
        while len(seconds) <= SECONDS:
            time.sleep(1)
            seconds.append(transactions(service))
        seen = waited()
    # All of them wait in the first seconds. Later, each asks again after some twenty.
    looks = min(map(rate, seconds, seconds[CALM_SECONDS:])) - idle
    whole = rate(seconds[-CYCLE_SECONDS - 1], seconds[-1]) - idle
    with capsys.disabled():
        print(
            f"\n{OPEN} open counters, transactions a second: {looks:.1f} while all wait, "
            f"{whole:.1f} with those that ask again; without counters {idle:.1f}; "
            f"refused for a moment: {seen['refused']}"
        )
    assert seen["failures"] == []
    assert looks < MOST_LOOKS * PROCESSES


@pytest.mark.campaign
def test_an_ended_till_can_do_nothing(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """Each till is ended while its counter is open and its device sells as fast as it can."""
    host, port = service.origin.removeprefix("http://").split(":")
    heard = []
    for paired in islice(paired_tills(service), ENDED):
        seller = Seller(paired)
        with beside("counters", "waiting", host, port, arguments([paired])) as waited:
            time.sleep(SETTLE_SECONDS)
            assert seller.sell().startswith("/counter/sales/")
            paired.end()
            ended = time.monotonic()
            answers = set()
            while time.monotonic() < ended + 2:
                answers.add(seller.sell())
            assert answers == {"/counter/pair"}
            [(when, _)] = waited()["samples"]
            heard.append(when - ended)
    with capsys.disabled():
        print(f"\nnothing sold after the end; pages heard of it after {max(heard):.2f} s at most")
    assert max(heard) < MOST_P99_SECONDS + 0.5  # a look a second, and a busy machine
