"""Changes of one merchant: who may make them, under which lock, and their entry in the journal."""

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks_now
from laari.rules.records.merchants import MerchantSettings
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


def refusal_for(
    world: World, actor: Actor, merchant_id: str, permission: Permission
) -> Refusal | None:
    """The refusal if there is no such merchant, or if the actor may not do this now."""
    if world.merchant_settings.get(merchant_id) is None:
        return refuse("conflict", f"No merchant has the id {merchant_id}.")
    return lacks_now(world, actor, merchant_id, permission)


def busy() -> Refusal:
    return refuse("conflict", "Another command is changing this merchant. Try again.")


@dataclass(frozen=True, slots=True)
class OneMerchant(Command[MerchantSettings]):
    """Changes one merchant, locked. The entry of the journal has the reason `why`."""

    action: ClassVar[str]
    permission: ClassVar[Permission]
    actor: Actor
    merchant_id: str

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.merchant_id, self.actor)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> MerchantSettings | Refusal:
        for permission in self.permissions:
            refusal = refusal_for(world, self.actor, self.merchant_id, permission)
            if refusal is not None:
                return refusal
        changed = self.changed(world, world.merchant_settings[self.merchant_id])
        if not isinstance(changed, Refusal):
            act = Act(self.actor, self.action, self.why)
            write_setting(world, World.merchant_settings, changed, act, merchant_id=changed.id)
        return changed

    @property
    def permissions(self) -> Collection[Permission]:
        return (self.permission,)

    @property
    def why(self) -> str | None:
        """The reason for the journal."""
        return None

    @abstractmethod
    def changed(self, world: World, merchant: MerchantSettings) -> MerchantSettings | Refusal: ...
