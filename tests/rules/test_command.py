"""What every command has: needs, a decision, and what is said while another holds its row."""

import importlib
import pkgutil
from dataclasses import dataclass, fields, is_dataclass

import pytest
from msgspec.structs import replace

from laari import rules
from laari.rules.command import Command, Share, TenantCommand
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.needs import Needs
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import refuse
from laari.rules.world import World
from tests.actors import OPERATOR


@dataclass(frozen=True, slots=True)
class Undecided(Command[int]):
    number: int

    def needs(self, needs: Needs) -> None: ...


@dataclass(frozen=True, slots=True)
class Decided(Undecided):
    def decide(self, world: World) -> int:
        return self.number


def test_a_command_that_cannot_decide_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="decide"):
        Undecided(1)  # type: ignore[abstract]


def test_a_command_that_names_no_conflict_is_unavailable_while_it_waits() -> None:
    assert Decided(1).busy() == refuse("service_unavailable")


def test_a_command_carries_nothing_but_its_fields() -> None:
    assert not hasattr(Decided(1), "__dict__")


def commands() -> list[type[Command[object]]]:
    for module in pkgutil.walk_packages(rules.__path__, "laari.rules."):
        importlib.import_module(module.name)
    found, waiting = [], [Command]
    while waiting:
        below = waiting.pop().__subclasses__()
        found += below
        waiting += below
    return [each for each in found if each.__module__.startswith("laari.rules.")]


def test_a_command_of_a_tenant_waits_in_that_tenants_turn() -> None:
    """Or one merchant's flood would be everybody's."""
    of_tenants = {
        each.__name__
        for each in commands()
        if is_dataclass(each) and any(f.name == "tenant" and f.type is Tenant for f in fields(each))
    }
    assert {"CreatePayment", "PayPayment", "Keyed", "ChargeAuthorization"} <= of_tenants
    for each in commands():
        if each.__name__ in of_tenants:
            assert issubclass(each, TenantCommand), each
    live = Tenant(7, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
    assert MoveClock(live, OPERATOR, 1).share == Share(7, urgent=True)
    assert MoveClock(replace(live, mode="sandbox"), OPERATOR, 1).share == Share(7, urgent=False)
