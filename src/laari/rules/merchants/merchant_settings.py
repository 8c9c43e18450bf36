"""The settings of a merchant: mode of its credentials, webhooks, fees in force, pauses, limits."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct, structs
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.merchants.access import OneMerchant, busy
from laari.rules.merchants.applications import ApproveMerchant
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.merchants import MerchantSettings
from laari.rules.records.tenants import Mode, TenantSettings
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.webhooks import check_webhook_url
from laari.rules.world import World

MAX_NAME = 255  # characters


class Changes(Struct, frozen=True):
    """New values of a merchant; None leaves a value as it is."""

    mode: Mode | None = None
    active: bool | None = None
    inactive_reason: str | None = None  # for its people, while it is inactive
    webhook_url: str | None = None  # an empty text removes it
    webhooks_enabled: bool | None = None
    fee_bps: int | None = None
    fee_fixed: int | None = None

    def given(self) -> dict[str, object]:
        return {name: each for name, each in structs.asdict(self).items() if each is not None}


_PERMISSIONS: dict[str, Permission] = {
    "mode": "mode.change",
    "webhook_url": "webhooks.manage",
    "webhooks_enabled": "webhooks.manage",
    "fee_bps": "fees.change",
    "fee_fixed": "fees.change",
}


@dataclass(frozen=True, slots=True)
class UpdateMerchant(OneMerchant):
    """Changes the given values, all or none.

    The change to live mode approves the merchant, if the actor may approve. `private_webhooks`
    allows plain http and addresses of a private network.
    """

    action: ClassVar[str] = "merchant.update"
    permission: ClassVar[Permission] = "merchants.change"  # of values that only the operator sets
    changes: Changes
    private_webhooks: bool = False

    def needs(self, needs: Needs) -> None:
        OneMerchant.needs(self, needs)
        needs.read(World.live_tenants, self.merchant_id)
        if self.changes.mode == "live":
            self._approval.needs(needs)

    @property
    def _approval(self) -> ApproveMerchant:
        return ApproveMerchant(self.actor, self.merchant_id)

    @property
    def permissions(self) -> Collection[Permission]:
        given = self.changes.given()
        return {_PERMISSIONS.get(name, self.permission) for name in given} or {self.permission}

    @property
    def why(self) -> str | None:
        return self.changes.inactive_reason

    def changed(self, world: World, merchant: MerchantSettings) -> MerchantSettings | Refusal:
        refusal = self._not_valid() or self._go_live(world)
        if refusal is not None:
            return refusal
        changed = replace(merchant, **self.changes.given())
        return replace(
            changed,
            webhook_url=changed.webhook_url or None,
            inactive_reason=None if changed.active else changed.inactive_reason,
        )

    def _not_valid(self) -> Refusal | None:
        changes = self.changes
        if changes.inactive_reason is not None and changes.active is not False:
            return invalid("reason", "Only a merchant that becomes inactive has a reason.")
        if changes.webhook_url:
            return check_webhook_url(changes.webhook_url, self.private_webhooks)
        return None

    def _go_live(self, world: World) -> Refusal | None:
        """Approves a merchant whose mode becomes live, if it is not approved yet."""
        if self.changes.mode != "live" or self.merchant_id in world.live_tenants:
            return None
        if lacks(self.actor, ApproveMerchant.permission):
            return refuse("conflict", "This merchant is not approved for live mode.")
        approved = self._approval.decide(world)
        return approved if isinstance(approved, Refusal) else None


@dataclass(frozen=True, slots=True)
class RenameMerchant(OneMerchant):
    """Changes the name that customers see. Of an approved shop, only the operator changes it.

    Otherwise a shop could be approved under one name and take money under another.
    """

    action: ClassVar[str] = "merchant.rename"
    permission: ClassVar[Permission] = "name.change"
    name: str

    def needs(self, needs: Needs) -> None:
        OneMerchant.needs(self, needs)
        needs.read(World.live_tenants, self.merchant_id)

    def changed(self, world: World, merchant: MerchantSettings) -> MerchantSettings | Refusal:
        if not (1 <= len(self.name) <= MAX_NAME and self.name.isprintable()):
            return invalid("name", f"A name has 1 to {MAX_NAME} printable characters.")
        if self.merchant_id in world.live_tenants and not self.actor.is_operator:
            return refuse("conflict", "This shop is approved. Ask the operator for another name.")
        return replace(merchant, name=self.name)


@dataclass(frozen=True, slots=True)
class RequireFactor(OneMerchant):
    """Whether all people of the merchant need a second factor."""

    action: ClassVar[str] = "merchant.require_factor"
    permission: ClassVar[Permission] = "people.manage"
    required: bool

    def changed(self, world: World, merchant: MerchantSettings) -> MerchantSettings:
        return replace(merchant, requires_factor=self.required)


@dataclass(frozen=True, slots=True)
class SetLimit(Command[TenantSettings]):
    """The largest new payment of a merchant in one mode; None for no limit of its own."""

    permission: ClassVar[Permission] = "merchants.change"
    actor: Actor
    tenant_id: int
    max_payment: int | None
    reason: str | None = None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.tenant_settings, self.tenant_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> TenantSettings | Refusal:
        tenant = world.tenant_settings.get(self.tenant_id)
        refusal = lacks(self.actor, self.permission)
        if refusal is not None or tenant is None:
            return refusal or refuse("not_found")
        changed = replace(tenant, max_payment=self.max_payment)
        write_setting(
            world,
            World.tenant_settings,
            changed,
            Act(self.actor, "merchant.set_limit", self.reason),
            merchant_id=tenant.merchant_id,
            mode=tenant.mode,
        )
        return changed
