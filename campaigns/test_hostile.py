"""Whatever one merchant sends, however hostile: the others are served as fast as before.

Every request of the table (`tests/http/hostile.py`) is sent again and again, straight to the
service and behind the reverse proxies that operators use, while another merchant works as usual.
Quiet stretches lie between, so that what else this machine does falls on both.

LAARI_HOSTILE_SECONDS  of each stretch (3)
LAARI_HOSTILE_EVERY    only every so many rows of the table (1)
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest

from campaigns.test_fairness import limited
from campaigns.test_pressure import (
    LEAST_P99_SECONDS,
    MOST_TIMES_SLOWER,
    PAYMENTS_PER_SECOND,
    beside,
    part,
)
from laari.engine.embedded import embedded_server
from tests.http.hostile import ROWS, Row
from tests.http.proxies import PROXIES, find, proxy
from tests.serving import Service

SECONDS = float(os.environ.get("LAARI_HOSTILE_SECONDS", "3"))
EVERY = int(os.environ.get("LAARI_HOSTILE_EVERY", "1"))
SETTLE_SECONDS = 0.3  # at the beginning of each stretch, not counted
QUIET_EVERY = 4  # rows
TRIES = 3  # a p99 of some seconds is a few requests: a row that looks slow is looked at again
SHORT_PER_SECOND, LONG_PER_SECOND = 50, 10  # requests up to 64 KiB, and longer ones

Span = tuple[float, float]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With the limits that a service has, on a durable engine of its own."""
    with (
        embedded_server(tmp_path_factory.mktemp("engine")) as dsn,
        limited(dsn, tmp_path_factory.mktemp("service"), workers=2) as service,
    ):
        yield service


class Beside:
    """The stretches of one campaign, and how fast the merchant was served in each."""

    def __init__(self, service: Service, address: tuple[str, int]) -> None:
        self._service, self._address = service, address
        self.came: Counter[str] = Counter()
        self.idle: list[float] = []  # shares of the processors that nobody used when it was quiet

    def spend_quietly(self) -> Span:
        psutil.cpu_times_percent()  # from here on
        span = self.spend()
        self.idle.append(psutil.cpu_times_percent().idle / 100)
        return span

    def spend(self) -> Span:
        time.sleep(SETTLE_SECONDS)
        began = time.monotonic()
        time.sleep(SECONDS)
        return began, time.monotonic()

    def spend_with(self, name: str, row: Row) -> Span:
        rate = SHORT_PER_SECOND if row.budget_seconds < 0.01 else LONG_PER_SECOND
        host, port = self._address
        hostile = self._service.merchant(mode="live", name="Hostile")  # which owes nothing yet
        given = json.dumps({"key": hostile.secret_key, "rate": rate})
        with beside("hostile", name, host, str(port), given) as attacking:
            span = self.spend()
            self.came.update(attacking())
        return span


def within(samples: list[Span], spans: list[Span]) -> list[float]:
    return sorted(took for due, took in samples if any(a <= due < b for a, b in spans))


def _figures(times: list[float]) -> str:
    p50, p99 = (part(times, share) * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms of {len(times)}"


@pytest.mark.campaign
@pytest.mark.parametrize("front", ["direct", *PROXIES])
def test_every_row_leaves_the_others_as_fast(
    service: Service, front: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if front != "direct" and find(front) is None:
        pytest.skip(f"{front} is not installed: apt-get install {PROXIES[front][0]}")
    backend = service.origin.removeprefix("http://")
    host, port = backend.split(":")
    usual = service.merchant(mode="live", name="Usual")
    rows = list(ROWS.items())[::EVERY]
    slow: dict[str, str] = {}
    worst: list[tuple[float, str]] = []
    with (
        nullcontext((host, int(port)))
        if front == "direct"
        else proxy(front, backend, tmp_path) as address
    ):
        place = Beside(service, address)
        spans: dict[str, list[Span]] = {name: [] for name, _ in rows}
        quiet: list[Span] = []
        failures: list[Any] = []
        samples: list[Span] = []
        left = rows
        for _ in range(TRIES):
            payer = (address[0], str(address[1]), usual.secret_key, str(PAYMENTS_PER_SECOND), "get")
            with beside("payer", *payer) as paid:
                for number, (name, row) in enumerate(left):
                    if number % QUIET_EVERY == 0:
                        quiet.append(place.spend_quietly())
                    spans[name].append(place.spend_with(name, row))
                seen = paid()
            samples += seen["samples"]
            failures += seen["failures"]
            usual_p99 = max(part(within(samples, quiet), 0.99), LEAST_P99_SECONDS)
            p99 = {name: part(within(samples, spans[name]), 0.99) for name, _ in rows}
            worst = sorted(((took, name) for name, took in p99.items()), reverse=True)
            slow = {
                name: f"{took * 1000:.1f} ms"
                for took, name in worst
                if took > MOST_TIMES_SLOWER * usual_p99
            }
            left = [(name, row) for name, row in rows if name in slow]
            if not left:
                break
    with capsys.disabled():
        print(
            f"\n{front}: quiet {_figures(within(samples, quiet))}; "
            f"slowest of {len(rows)} rows: "
            + "; ".join(f"{name} {took * 1000:.1f} ms" for took, name in worst[:3])
            + f"; in all {_figures(within(samples, [s for of in spans.values() for s in of]))}"
            + f"; idle when quiet: {sum(place.idle) / len(place.idle):.0%}"
            + f"; came {dict(place.came)}"
        )
    assert failures == []
    assert slow == {}, f"quiet p99 {usual_p99 * 1000:.1f} ms"
    assert not {"500", "502", "503"} & set(place.came), place.came
