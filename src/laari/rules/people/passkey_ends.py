"""The end of passkeys, by their customer, by the operator, or with the password."""

from uuid import UUID

from msgspec.structs import replace

from laari.rules.journal import Act, write_setting
from laari.rules.records.people import Customer, Passkey
from laari.rules.world import World


def usable_passkeys(world: World, customer_id: UUID) -> list[Passkey]:
    """Those of a customer whom the batch has locked, in the order in which they were added."""
    found = [world.passkeys[passkey_id] for passkey_id in world.passkeys_of[customer_id]]
    return sorted(found, key=lambda passkey: (passkey.added_at, passkey.id))


def end_passkeys(world: World, act: Act, customer: Customer) -> list[Passkey]:
    """Ends all of them, and returns them."""
    found = usable_passkeys(world, customer.id)
    for passkey in found:
        end_passkey(world, act, customer, passkey)
    return found


def end_passkey(world: World, act: Act, customer: Customer, passkey: Passkey) -> None:
    """It stays in the table, so that its credential never counts again."""
    write_passkey(world, act, customer, replace(passkey, ended_at=world.now))
    world.passkeys_of[customer.id] -= {passkey.id}


def write_passkey(world: World, act: Act, customer: Customer, passkey: Passkey) -> None:
    write_setting(
        world,
        World.passkeys,
        passkey,
        act,
        merchant_id=world.sandbox_shops.get(customer.id),
        mode=customer.mode,
    )
