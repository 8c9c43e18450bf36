"""Remembered devices: browsers that pay small amounts for a customer without the password.

A browser has a random token, and the row has what the master key makes of it. What a device may pay
is decided in `laari.rules.payments.device_payments`.
"""

import hmac
from dataclasses import dataclass
from typing import ClassVar, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.remembered_devices import REMEMBERED_DEVICE_LIFE, REMEMBERED_DEVICES
from laari.rules.master_key import bind
from laari.rules.messages import tell_access
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.people.wallet_keys import end_keys
from laari.rules.records.people import Customer, CustomerId, RememberedDevice, show_whose
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

TOKEN = "remembered-device"  # noqa: S105  # the purpose of the stored form
MAX_NAME = 50  # characters
OFF = refuse("conflict", "Remembered devices are switched off.")
NO_SANDBOX = refuse("conflict", "A sandbox customer has no remembered devices.")
CHANGED = refuse("conflict", "Your password was changed in the meantime. Nothing was changed now.")
END = "remembered_device.end"


class Remembered(NamedTuple):
    device: RememberedDevice
    token: str


@dataclass(frozen=True, slots=True)
class RememberDevice(Command[Remembered]):
    """Remembers the browser of a customer, and tells them.

    `verified` is the hash that the password fitted: with a new password nothing is remembered.
    """

    actor: Actor
    customer_id: UUID
    name: str
    verified: str
    daily_limit: int

    def needs(self, needs: Needs) -> None:
        needs.devices_of(self.customer_id)

    def decide(self, world: World) -> Remembered | Refusal:
        customer = world.customers.get(self.customer_id)
        if customer is None or not is_themselves(self.actor, self.customer_id):
            return refuse("not_found")
        if not self.daily_limit:
            return OFF
        if customer.mode != "live":
            return NO_SANDBOX
        if customer.password_hash != self.verified:
            return CHANGED
        if not 1 <= len(self.name) <= MAX_NAME or not self.name.isprintable():
            return invalid("name", f"A name has 1 to {MAX_NAME} printable characters.")
        if len(remembered_devices(world, customer.id)) >= REMEMBERED_DEVICES:
            most = REMEMBERED_DEVICES
            return refuse("rate_limited", f"You have {most} remembered devices, the maximum.")
        token = world.new_secret()
        digest = world.digest(TOKEN, token)
        device = RememberedDevice(
            id=world.new_id(),
            digest=digest,
            binding=bind(world.digest, digest, owner_of(customer.id)),
            customer_id=customer.id,
            name=self.name,
            added_at=world.now,
        )
        world.devices_of[customer.id] |= {device.id}
        _write(world, Act(self.actor, "remembered_device.add"), device)
        tell_access(world, customer, "device_remembered", [device.name])
        return Remembered(device, token)


@dataclass(frozen=True, slots=True)
class ForgetDevice(Command[RememberedDevice]):
    """Ends a remembered device of one's own, and tells the customer."""

    actor: Actor
    customer_id: UUID
    device_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.devices_of(self.customer_id)

    def decide(self, world: World) -> RememberedDevice | Refusal:
        usable = world.devices_of[self.customer_id]
        if not is_themselves(self.actor, self.customer_id) or self.device_id not in usable:
            return refuse("not_found")
        device = world.remembered_devices[self.device_id]
        _end(world, Act(self.actor, END), device)
        customer = world.customers[self.customer_id]
        tell_access(world, customer, "device_forgotten", [device.name])
        return device


@dataclass(frozen=True, slots=True)
class ForgetDevices(Command[int]):
    """Ends all remembered devices of a customer, and tells them; the result is their number.

    By the operator, or by the customer who logs out everywhere: then the keys end too.
    """

    permission: ClassVar[Permission] = "sessions.end"
    actor: Actor
    customer_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.devices_of(self.customer_id)
        needs.keys_of(self.customer_id)

    def decide(self, world: World) -> int | Refusal:
        own = is_themselves(self.actor, self.customer_id)
        refusal = None if own else lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        customer = world.customers.get(self.customer_id)
        if customer is None:
            return refuse("not_found")
        if own:
            end_keys(world, self.actor, customer)
        return end_devices(world, self.actor, customer)


def owner_of(customer_id: UUID) -> str:
    """What the digest of a token is bound to."""
    return show_whose(CustomerId(customer_id))


def is_remembered(world: World, device: RememberedDevice, digest: bytes) -> bool:
    """Whether this locked row is in use, and was made by us for this token and its customer."""
    is_young = world.now < device.added_at + REMEMBERED_DEVICE_LIFE
    binding = bind(world.digest, digest, owner_of(device.customer_id))
    is_ours = hmac.compare_digest(device.binding, binding)
    return device.ended_at is None and is_young and is_ours


def remembered_devices(world: World, customer_id: UUID) -> list[RememberedDevice]:
    """Those of a customer whom the batch has locked, in the order in which they were added.

    A device that is too old makes room for another one.
    """
    oldest = world.now - REMEMBERED_DEVICE_LIFE
    found = [world.remembered_devices[device_id] for device_id in world.devices_of[customer_id]]
    young = [device for device in found if device.added_at > oldest]
    return sorted(young, key=lambda device: (device.added_at, device.id))


def forget_devices(world: World, actor: Actor, customer: Customer) -> list[RememberedDevice]:
    """Ends all of them, and returns them."""
    found = remembered_devices(world, customer.id)
    for device in found:
        _end(world, Act(actor, END), device)
    return found


def end_devices(world: World, actor: Actor, customer: Customer) -> int:
    """Ends all of them, and tells the customer; the result is their number."""
    ended = forget_devices(world, actor, customer)
    if ended:
        tell_access(world, customer, "device_forgotten", [device.name for device in ended])
    return len(ended)


def _end(world: World, act: Act, device: RememberedDevice) -> None:
    """It stays in the table: its payments name it."""
    _write(world, act, replace(device, ended_at=world.now))
    world.devices_of[device.customer_id] -= {device.id}


def _write(world: World, act: Act, device: RememberedDevice) -> None:
    write_setting(world, World.remembered_devices, device, act, mode="live")
