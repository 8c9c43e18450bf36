"""What is kept under an idempotency key, and for how long."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from laari.rules.command import Command
from laari.rules.idempotency import RETENTION, Keyed, Response
from laari.rules.needs import Needs
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import CODES, PASSING_CODES, Refusal, refuse
from laari.rules.world import World

NOW = datetime(2026, 2, 27, 12, 0, tzinfo=UTC)
TENANT = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)


@dataclass(frozen=True)
class Answering(Command[Any]):
    outcome: Any
    when_busy: Refusal | None = None

    def needs(self, needs: Needs) -> None: ...

    def decide(self, world: World) -> Any:
        return self.outcome

    def busy(self) -> Refusal:
        return self.when_busy or Command.busy(self)


def rendered(outcome: Any) -> Response:
    if isinstance(outcome, Refusal):
        return Response(outcome.status, repr(outcome).encode(), outcome.public_code)
    return Response(201, repr(outcome).encode())


def keyed(outcome: Any, fingerprint: bytes = b"same") -> Keyed[Any]:
    return Keyed(TENANT, "create_payment", "key", fingerprint, Answering(outcome), rendered)


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_refusal_is_kept_unless_it_passes(code: str) -> None:
    """What says nothing lasting about the request must not be answered to its retry."""
    world = World(NOW, "http://laari.test", os.urandom)
    keyed(refuse(code)).decide(world)
    again = keyed("done").decide(world)
    if code in PASSING_CODES:
        assert again == Response(201, b"'done'")
    else:
        assert again == rendered(refuse(code))._replace(replayed=True)


@pytest.mark.parametrize(("age", "replayed"), [(-1, True), (0, False), (1, False)])
def test_a_response_is_replayed_for_a_day(age: int, replayed: bool) -> None:
    world = World(NOW, "http://laari.test", os.urandom)
    keyed("first").decide(world)
    world.now = NOW + RETENTION + timedelta(microseconds=age)
    assert keyed("second").decide(world).replayed is replayed


def test_another_request_under_the_key_is_a_conflict_only_for_a_day() -> None:
    world = World(NOW, "http://laari.test", os.urandom)
    keyed("first").decide(world)
    assert keyed("second", b"other").decide(world).status == CODES["idempotency_conflict"].status
    world.now = NOW + RETENTION
    assert keyed("second", b"other").decide(world) == Response(201, b"'second'")


@pytest.mark.parametrize(
    ("inner", "code"),
    [
        (Answering(None, refuse("payment_in_progress")), "payment_in_progress"),
        (Answering(None), "idempotency_unavailable"),
        (refuse("invalid_request"), "idempotency_unavailable"),
    ],
)
def test_a_key_that_waited_too_long_says_what_its_command_says(
    inner: Answering | Refusal, code: str
) -> None:
    command = Keyed(TENANT, "create_payment", "key", b"", inner, rendered)
    assert command.busy().code == code
