"""The limits of the tiers of wallets, which the operator sets."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.wallets import Tier
from laari.rules.refusals import Refusal, invalid
from laari.rules.world import World

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SetLimits(Command[Tier]):
    """Sets the given limits of a tier, None for no limit; a new tier has none."""

    permission: ClassVar[Permission] = "tiers.change"
    actor: Actor
    name: str
    limits: Mapping[str, int | None]  # by the names of the record's fields

    def needs(self, needs: Needs) -> None:
        needs.lock(World.tier_limits, self.name)

    def decide(self, world: World) -> Tier | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        if not _NAME.fullmatch(self.name):
            message = "The name starts with a letter and has up to 40 of a-z, 0-9, '_' and '-'."
            return invalid("name", message)
        before = world.tier_limits.get(self.name) or Tier(self.name, None, None, None, None)
        changed = replace(before, **self.limits)
        write_setting(world, World.tier_limits, changed, Act(self.actor, "tier.set"))
        return changed
