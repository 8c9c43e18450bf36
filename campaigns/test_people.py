"""What people and strangers do on pages leaves payments as fast, and other people's pages too.

Quiet and attacked stretches alternate. A merchant's program pays all the time. A person of another
merchant and one of the operator open a long page each second.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from campaigns.test_pressure import (
    LEAST_P99_SECONDS,
    MOST_TIMES_SLOWER,
    PAYMENTS_PER_SECOND,
    ROUNDS,
    STRETCH_SECONDS,
    Place,
    beside,
    furnished,
    log_in,
    part,
    stretch,
)
from laari.engine.embedded import embedded_server
from tests.http.hostile import LONG_FORM
from tests.serving import serving

PAYMENTS = 100_000
PEOPLE = 6
# Pages of people take turns with a rest after each. Most of them come this soon beside others.
MOST_MEDIAN_SECONDS = 2.0


class Town(NamedTuple):
    place: Place
    visitors: dict[str, tuple[str, str]]  # cookie and path
    attacks: dict[str, tuple[str, str, dict[str, Any]]]  # module, name and what it has to know


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with (
        embedded_server(tmp_path_factory.mktemp("engine")) as dsn,
        serving(dsn, tmp_path_factory.mktemp("service"), workers=1) as service,
    ):
        place = furnished(service, PAYMENTS)
        other = service.merchant(mode="live", name="Neighbour")
        for _ in range(60):
            other.payment()
        desk = [log_in(service, None, f"desk{n}@operator.example") for n in range(PEOPLE + 1)]
        visitors = {
            "neighbour": (
                log_in(service, other.id, "neighbour@shop.example"),
                f"/dashboard/{other.id}/live/payments",
            ),
            "desk": (desk[PEOPLE], "/operator?q=bench"),
        }
        pages = place.reading["pages"]
        people = {"cookies": place.reading["cookies"][:PEOPLE], "pages": pages}
        yield Town(
            place,
            visitors,
            {
                "long forms": ("hostile", f"forms: {LONG_FORM}", {"key": "", "rate": 12}),
                "long pages": ("attacks", "long_pages", people),
                "desk searches": ("attacks", "desk_searches", {"cookies": desk[:PEOPLE]}),
                "log-ins": ("attacks", "log_ins", {}),
            },
        )


Spans = list[tuple[float, float]]


def within(samples: list[list[Any]], spans: Spans) -> list[list[Any]]:
    return [each for each in samples if any(a <= each[0] < b for a, b in spans)]


def alternate(town: Town, name: str) -> tuple[dict[str, list[list[Any]]], Spans, Spans, list[Any]]:
    """The samples of all who worked beside the attack, and its stretches."""
    host, port = town.place.service.origin.removeprefix("http://").split(":")
    module, attack, known = town.attacks[name]
    quiet: Spans = []
    attacked: Spans = []
    came = []
    with ExitStack() as stack:
        payer = (host, port, town.place.secret_key, str(PAYMENTS_PER_SECOND))
        paid = stack.enter_context(beside("payer", *payer))
        seen = {
            who: stack.enter_context(beside("visitor", host, port, cookie, path, "1"))
            for who, (cookie, path) in town.visitors.items()
        }
        for _ in range(ROUNDS):
            with stretch(quiet):
                time.sleep(STRETCH_SECONDS)
            with beside(module, attack, host, port, json.dumps(known)) as attacking:
                with stretch(attacked):
                    time.sleep(STRETCH_SECONDS)
                came.append(attacking())
        payments = paid()
        samples = {who: ended() for who, ended in seen.items()}
    samples["payments"] = [[due, took, "done"] for due, took in payments["samples"]]
    samples["payments"] += [[due, 0.0, "failed"] for due, _ in payments["failures"]]
    return samples, quiet, attacked, came


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["long forms", "long pages", "desk searches", "log-ins"])
def test_others_are_served(town: Town, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    samples, quiet, attacked, came = alternate(town, name)
    figures: dict[str, dict[str, Any]] = {}
    for who, every in samples.items():
        for when, spans in (("quiet", quiet), ("attacked", attacked)):
            found = within(every, spans)
            took = sorted(each[1] for each in found)
            figures[f"{who} {when}"] = {
                "p50": round(part(took, 0.5) * 1000, 1),
                "p99": round(part(took, 0.99) * 1000, 1),
                "statuses": dict(Counter(each[2] for each in found)),
            }
    with capsys.disabled():
        print(f"\n{name}:")
        for what, values in figures.items():
            print(f"  {what}: {values}")
        print(f"  the attackers got {came}")
    assert figures["payments attacked"]["statuses"].keys() == {"done"}
    usual = max(figures["payments quiet"]["p99"], LEAST_P99_SECONDS * 1000)
    assert figures["payments attacked"]["p99"] <= MOST_TIMES_SLOWER * usual
    for who in town.visitors:
        of_visitor = figures[f"{who} attacked"]
        assert of_visitor["statuses"].keys() == {"200"}, of_visitor
        assert of_visitor["p50"] <= MOST_MEDIAN_SECONDS * 1000, of_visitor
