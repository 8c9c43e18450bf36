"""What every command has: needs, a decision, and what is said while another holds its row."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from laari.rules.command import Command
from laari.rules.refusals import refuse
from laari.rules.world import Needs, World


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
