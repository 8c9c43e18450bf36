"""One merchant's flood, at ten times the rate it is allowed, leaves the others as fast as before.

Quiet and flooded stretches alternate, so that what else this machine does falls on both.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from campaigns.flood import KINDS
from campaigns.test_pressure import Place, alternate, beside, hold
from laari.engine.embedded import embedded_server
from tests.serving import Merchant, Service, serving

RATE_LIVE, RATE_SANDBOX = 100, 25  # the defaults
TIMES = 10
MOST_TIMES_SLOWER = 1.5
ROUNDS, STRETCH_SECONDS = 6, 5.0  # short ones, many times: the machine's moods fall on both
STEPS = ("get",)  # with the creation less than a merchant may ask for
SHORT_SECONDS = 1.5
# Payments: those that a stalled machine held up come at once, within the merchant's own rate.
SHORT_PER_SECOND = 10
SANDBOX_ONLY = ("clock",)


class Town(NamedTuple):
    """A merchant that works as usual, and one in each mode that is going to flood."""

    place: Place
    flooding: dict[str, dict[str, Any]]  # by mode: what the flood needs to know


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """On a durable engine of its own, with the limits that a service has."""
    with (
        embedded_server(tmp_path_factory.mktemp("engine")) as dsn,
        limited(dsn, tmp_path_factory.mktemp("service"), workers=2) as service,
    ):
        yield settled(service)


@pytest.fixture(scope="module")
def hamlet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with (
        embedded_server(tmp_path_factory.mktemp("engine"), durable=False) as dsn,
        limited(dsn, tmp_path_factory.mktemp("service"), workers=1) as service,
    ):
        yield settled(service)


def limited(dsn: str, directory: Path, workers: int) -> Any:
    return serving(
        dsn,
        directory,
        workers=workers,
        LAARI_MERCHANT_RATE_LIVE=str(RATE_LIVE),
        LAARI_MERCHANT_RATE_SANDBOX=str(RATE_SANDBOX),
    )


def settled(service: Service) -> Town:
    usual = service.merchant(mode="live", name="Usual")
    place = Place(service, usual.secret_key, [], "", "")
    modes = {"live": RATE_LIVE, "sandbox": RATE_SANDBOX}
    flooding = {mode: _known(service, mode) | {"rate": TIMES * modes[mode]} for mode in modes}
    return Town(place, flooding)


def _known(service: Service, mode: str) -> dict[str, Any]:
    shop = service.merchant(mode=mode, name="Flood")
    known = {"key": shop.secret_key, "payment": shop.payment()["id"]}
    if mode == "sandbox":
        shop.control("wallet", {"balance": 10**12, "tier": "business"})
        known["authorization"] = _approved(shop)
    else:
        known["authorization"] = shop.authorization()["id"]  # nobody approves: each is refused
    return known


def _approved(shop: Merchant) -> str:
    return str(shop.approved()["id"])


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        (mode, kind)
        for mode in ("live", "sandbox")
        for kind in KINDS
        if mode == "sandbox" or kind not in SANDBOX_ONLY
    ],
)
def test_a_flood_leaves_the_others_as_fast(
    town: Town, kind: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = alternate(
        town.place,
        kind,
        town.flooding[mode],
        attacker="flood",
        steps=STEPS,
        rounds=ROUNDS,
        seconds=STRETCH_SECONDS,
    )
    hold(outcome, capsys, MOST_TIMES_SLOWER)
    for came in outcome.came:
        assert sum(came.values()) > TIMES * RATE_SANDBOX, came


def test_nobody_is_refused_beside_a_flood_of_each_kind(hamlet: Town) -> None:
    """In short: without figures, which a few seconds do not give."""
    host, port = hamlet.place.service.origin.removeprefix("http://").split(":")
    came = {}
    rate = str(SHORT_PER_SECOND)
    with beside("payer", host, port, hamlet.place.secret_key, rate, *STEPS) as paid:
        for kind in KINDS:
            known = hamlet.flooding["sandbox" if kind in (*SANDBOX_ONLY, "charge") else "live"]
            with beside("flood", kind, host, port, json.dumps(known)) as flooding:
                time.sleep(SHORT_SECONDS)
                came[kind] = flooding()
        seen = paid()
    assert seen["failures"] == []
    assert len(seen["samples"]) >= len(KINDS)  # a payment beside each, on a busy machine too
    for kind, statuses in came.items():
        expected = {"unknown keys": "401", "garbage": "400", "refused": "400"}.get(kind)
        wanted = {expected} if expected else {"200", "201"}
        assert wanted & set(statuses), (kind, statuses)
        # It was a flood: more than its rate, or than a slow machine answers at all.
        assert expected == "401" or {"429", "left out"} & set(statuses), (kind, statuses)
        assert not {"500", "503"} & set(statuses), (kind, statuses)
