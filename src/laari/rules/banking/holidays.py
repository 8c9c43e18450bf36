"""Days on which banks do not work, besides Friday and Saturday."""

from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, remove_setting, write_setting
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.bank import BankHoliday
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class SetHoliday(Command[BankHoliday]):
    """Adds a holiday, or gives it another name."""

    permission: ClassVar[Permission] = "payouts.run"
    actor: Actor
    holiday: BankHoliday

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_holidays, self.holiday.day)

    def decide(self, world: World) -> BankHoliday | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is None:
            act = Act(self.actor, "bank_holiday.set")
            write_setting(world, World.bank_holidays, self.holiday, act)
        return refusal or self.holiday


@dataclass(frozen=True, slots=True)
class RemoveHoliday(Command[BankHoliday]):
    permission: ClassVar[Permission] = "payouts.run"
    actor: Actor
    day: date

    def needs(self, needs: Needs) -> None:
        needs.lock(World.bank_holidays, self.day)

    def decide(self, world: World) -> BankHoliday | Refusal:
        refusal = lacks(self.actor, self.permission)
        found = world.bank_holidays.get(self.day)
        if refusal is not None or found is None:
            return refusal or refuse("conflict", f"{self.day} is not a holiday.")
        remove_setting(world, World.bank_holidays, found, Act(self.actor, "bank_holiday.remove"))
        return found
