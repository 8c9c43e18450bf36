"""Tills of a shop, and the devices that are paired with them."""

from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command, TenantCommand
from laari.rules.journal import Act, write_setting
from laari.rules.limits.tills import PAIRING_LETTERS, PAIRING_LIFE, TILLS
from laari.rules.master_key import bind
from laari.rules.merchants.access import busy, refusal_for
from laari.rules.merchants.offline import secret_context
from laari.rules.needs import Needs
from laari.rules.people.permissions import MAX_TILL, Permission
from laari.rules.records.tenants import Tenant
from laari.rules.records.tills import Till, TillDevice
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

MANAGE: Permission = "tills.manage"
# The purposes of the stored forms.
PAIRING = "till-pairing"
DEVICE = "till-device"
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # no letters that look alike
MAX_DEVICE = 80  # characters of its name
UNKNOWN_DEVICE = "Device"

NO_TILL = refuse("conflict", "This merchant has no such till.")
INACTIVE = refuse("conflict", "The till is not active. Activate it first.")
NOT_PAIRED = refuse("conflict", "This code is not valid or has expired. Ask for a new one.")


class Pairing(NamedTuple):
    code: str
    expires_at: datetime


class Paired(NamedTuple):
    device: TillDevice
    token: str


def same_name(name: str) -> str:
    """Equal for names that differ only by spaces or case: people take them for one till."""
    return "".join(name.split()).casefold()


def read_code(text: str) -> str:
    """A pairing code as people type it: small letters, spaces and hyphens do not matter."""
    return "".join(each for each in text.upper() if each in LETTERS)


def bound_to(till_id: UUID) -> str:
    return till_id.hex


def _new_secret(world: World, till_id: UUID) -> bytes:
    return world.encrypt(world.new_secret().encode(), secret_context(till_id))


def _write(world: World, act: Act, tenant: Tenant, till: Till) -> None:
    write_setting(world, World.tills, till, act, merchant_id=tenant.merchant_id, mode=tenant.mode)


@dataclass(frozen=True, slots=True)
class CreateTill(TenantCommand[Till]):
    actor: Actor
    tenant: Tenant
    name: str

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.tenant.merchant_id, self.actor)
        needs.read(World.till_names, self.tenant.id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Till | Refusal:
        names, name = world.till_names[self.tenant.id], " ".join(self.name.split())
        refusal = refusal_for(world, self.actor, self.tenant.merchant_id, MANAGE)
        if refusal is not None:
            return refusal
        if not 1 <= len(name) <= MAX_TILL or not name.isprintable():
            return invalid("name", f"A till has a name of 1 to {MAX_TILL} printable characters.")
        for other in names:
            if same_name(other) == same_name(name):
                return invalid("name", f"There is a till “{other}” already. Choose another name.")
        if len(names) >= TILLS:
            return invalid("name", f"A shop has at most {TILLS} tills.")
        id = world.new_id()
        secret = _new_secret(world, id)
        till = Till(
            id=id,
            tenant_id=self.tenant.id,
            name=name,
            token=world.new_token(),
            created_at=world.now,
            secret_encrypted=secret,
        )
        _write(world, Act(self.actor, "till.create"), self.tenant, till)
        world.till_names[self.tenant.id] = (*names, name)
        return till


@dataclass(frozen=True, slots=True)
class OneTill(TenantCommand[Till]):
    """Changes one till and its devices, locked."""

    action: ClassVar[str]
    actor: Actor
    tenant: Tenant
    till_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.tenant.merchant_id, self.actor)
        needs.till(self.till_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Till | Refusal:
        refusal = refusal_for(world, self.actor, self.tenant.merchant_id, MANAGE)
        if refusal is not None:
            return refusal
        till = world.tills.get(self.till_id)
        if till is None or till.tenant_id != self.tenant.id:
            return NO_TILL
        changed = self.changed(world, till)
        if not isinstance(changed, Refusal):
            _write(world, Act(self.actor, self.action), self.tenant, changed)
        return changed

    @abstractmethod
    def changed(self, world: World, till: Till) -> Till | Refusal: ...

    def end_device(self, world: World, till: Till, digest: bytes) -> Till:
        """Ends a device of this till, whose secret it knew; a second time changes nothing."""
        device = world.till_devices.get(digest)
        if device is not None and device.till_id == self.till_id and device.ended_at is None:
            ended = replace(device, ended_at=world.now)
            _write_device(world, Act(self.actor, "till_device.end"), self.tenant, ended)
            return replace(till, secret_encrypted=_new_secret(world, till.id))
        return till


@dataclass(frozen=True, slots=True)
class ActivateTill(OneTill):
    action: ClassVar[str] = "till.activate"

    def changed(self, world: World, till: Till) -> Till:
        return replace(till, active=True)


@dataclass(frozen=True, slots=True)
class DeactivateTill(OneTill):
    """Ends the till's devices and its pairing code too: later they stay ended."""

    action: ClassVar[str] = "till.deactivate"

    def changed(self, world: World, till: Till) -> Till:
        for digest in world.devices_of_till[till.id]:
            till = self.end_device(world, till, digest)
        return replace(till, active=False, pairing_digest=None, pairing_expires_at=None)


@dataclass(frozen=True, slots=True)
class EndDevice(OneTill):
    action: ClassVar[str] = "till.end_device"
    digest: bytes

    def changed(self, world: World, till: Till) -> Till:
        return self.end_device(world, till, self.digest)


@dataclass(frozen=True, slots=True)
class OfferPairing(TenantCommand[Pairing]):
    """Gives the till a code that pairs one device; an earlier code no longer works."""

    actor: Actor
    tenant: Tenant
    till_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.merchant(self.tenant.merchant_id, self.actor)
        needs.lock(World.tills, self.till_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Pairing | Refusal:
        refusal = refusal_for(world, self.actor, self.tenant.merchant_id, MANAGE)
        if refusal is not None:
            return refusal
        till = world.tills.get(self.till_id)
        if till is None or till.tenant_id != self.tenant.id:
            return NO_TILL
        if not till.active:
            return INACTIVE
        code = world.new_letters(LETTERS, PAIRING_LETTERS)
        expires_at = world.now + PAIRING_LIFE
        offered = replace(
            till, pairing_digest=world.digest(PAIRING, code), pairing_expires_at=expires_at
        )
        _write(world, Act(self.actor, "till.offer_pairing"), self.tenant, offered)
        return Pairing(code, expires_at)


@dataclass(frozen=True, slots=True)
class PairDevice(Command[Paired]):
    """Pairs the device that shows the code: it acts as the till until somebody ends it."""

    digest: bytes  # of the code
    name: str
    address: str | None = None

    def needs(self, needs: Needs) -> None:
        def follow(needs: Needs, world: World) -> None:
            till_id = world.pairing_codes.get(self.digest)
            if till_id is not None:
                needs.lock(World.tills, till_id)

        def follow_till(needs: Needs, world: World) -> None:
            till_id = world.pairing_codes.get(self.digest)
            till = None if till_id is None else world.tills.get(till_id)
            if till is not None:
                needs.read(World.tenants, till.tenant_id)

        needs.read(World.pairing_codes, self.digest)
        needs.then(World.pairing_codes, follow)
        needs.then(World.tills, follow_till)

    def decide(self, world: World) -> Paired | Refusal:
        till_id = world.pairing_codes.get(self.digest)
        till = None if till_id is None else world.tills.get(till_id)
        if till is None or till.pairing_digest != self.digest or till.pairing_expires_at is None:
            return NOT_PAIRED
        if till.pairing_expires_at <= world.now:
            return NOT_PAIRED
        token = world.new_secret()
        digest = world.digest(DEVICE, token)
        device = TillDevice(
            digest=digest,
            binding=bind(world.digest, digest, bound_to(till.id)),
            till_id=till.id,
            name=self.name[:MAX_DEVICE] or UNKNOWN_DEVICE,
            paired_at=world.now,
        )
        actor = Actor("till", till.name, address=self.address)
        tenant = world.tenants[till.tenant_id]
        # A device that is too old ends without a command, and knows the old secret.
        secret = _new_secret(world, till.id)
        used = replace(till, secret_encrypted=secret, pairing_digest=None, pairing_expires_at=None)
        _write(world, Act(actor, "till.use_pairing"), tenant, used)
        _write_device(world, Act(actor, "till_device.pair"), tenant, device)
        return Paired(device, token)


def _write_device(world: World, act: Act, tenant: Tenant, device: TillDevice) -> None:
    merchant_id, mode = tenant.merchant_id, tenant.mode
    write_setting(world, World.till_devices, device, act, merchant_id=merchant_id, mode=mode)
