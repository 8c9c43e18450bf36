"""Passkeys: a customer logs in with the lock of a phone or computer instead of the password.

The edge verifies a signature with the public key of the row (`laari.edge.pages.passkeys`). These
commands decide under its lock whether the signature counts: only once, only in the browser that
asked for it, and only if the authenticator's counter increases.
"""

import hmac
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.passkeys import PASSKEYS
from laari.rules.master_key import bind
from laari.rules.messages import tell_access
from laari.rules.needs import Needs
from laari.rules.people.passkey_challenges import Digest, ForAdding, ForLogIn, made_at
from laari.rules.people.permissions import Permission, lacks
from laari.rules.people.persons import end_sessions, no_log_in
from laari.rules.records.people import Customer, CustomerId, Passkey, show_whose
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

MAX_NAME = 50  # characters
MAX_CREDENTIAL = 1023  # bytes, as the standard has it
MAX_PUBLIC_KEY = 2048  # bytes: four times an RSA key of the longest usual size
STALE = "This confirmation has expired or is not from this browser. Try again."
KNOWN = "This passkey is known already, or was ended. Add another one."
COPIED = "The counter of this passkey went back: somebody may have copied it."


@dataclass(frozen=True, slots=True)
class AddPasskey(Command[Passkey]):
    """Adds a passkey of one's own, and tells the customer.

    Its challenge proves that this browser has just entered the present password.
    """

    actor: Actor
    customer_id: UUID
    name: str
    credential: bytes
    public_key: bytes
    counter: int
    challenge: bytes
    browser: str

    def needs(self, needs: Needs) -> None:
        needs.passkeys_of(self.customer_id)
        needs.read(World.passkey_ids, self.credential)

    def decide(self, world: World) -> Passkey | Refusal:
        if not is_themselves(self.actor, self.customer_id):
            return refuse("not_found")
        customer = world.customers.get(self.customer_id)
        if customer is None or customer.password_hash is None:
            return no_log_in(CustomerId(self.customer_id))
        bound = ForAdding(customer.id, customer.password_hash, self.browser)
        if made_at(world.digest, self.challenge, bound, world.now) is None:
            return refuse("conflict", STALE)
        if not 1 <= len(self.name) <= MAX_NAME:
            return invalid("name", f"A name has 1 to {MAX_NAME} characters.")
        fits = 1 <= len(self.credential) <= MAX_CREDENTIAL
        if not fits or not 1 <= len(self.public_key) <= MAX_PUBLIC_KEY:
            return invalid("credential", "This authenticator cannot be used.")
        if self.credential in world.passkey_ids:
            return refuse("conflict", KNOWN)
        if len(usable_passkeys(world, customer.id)) >= PASSKEYS:
            return refuse("rate_limited", f"You have {PASSKEYS} passkeys, the maximum.")
        passkey = Passkey(
            id=world.new_id(),
            customer_id=customer.id,
            credential=self.credential,
            public_key=self.public_key,
            binding=b"",
            name=self.name,
            added_at=world.now,
            counter=self.counter,
        )
        passkey = replace(passkey, binding=_bind(world.digest, passkey))
        world.passkey_ids[self.credential] = passkey.id
        world.passkeys_of[customer.id] |= {passkey.id}
        _write(world, Act(self.actor, "passkey.add"), customer, passkey)
        tell_access(world, customer, "passkey_added", [passkey.name])
        return passkey


@dataclass(frozen=True, slots=True)
class UsePasskey(Command[Passkey]):
    """Counts a signature that this public key has verified, once.

    The session begins after this, if neither the password was changed nor the passkey ended
    meanwhile.
    """

    passkey_id: UUID
    customer_id: UUID
    public_key: bytes
    counter: int
    challenge: bytes
    bound: ForLogIn

    def needs(self, needs: Needs) -> None:
        needs.read(World.customers, self.customer_id)
        needs.lock(World.passkeys, self.passkey_id)

    def decide(self, world: World) -> Passkey | Refusal:
        passkey, customer = self._own(world)
        if passkey is None or customer is None or customer.mode != self.bound.mode:
            return refuse("not_found")
        moment = made_at(world.digest, self.challenge, self.bound, world.now)
        last = passkey.challenged_at
        if moment is None or (last is not None and moment <= last):
            return refuse("conflict", STALE)
        if not goes_on(passkey.counter, self.counter):
            return refuse("conflict", COPIED)
        used = replace(passkey, counter=self.counter, challenged_at=moment, used_at=world.now)
        world.passkeys.change(passkey.id, used)
        return used

    def _own(self, world: World) -> tuple[Passkey | None, Customer | None]:
        """The passkey if it is in use, and was made by us for this customer with this key."""
        passkey = world.passkeys.get(self.passkey_id)
        if passkey is None or passkey.ended_at is not None:
            return None, None
        is_ours = hmac.compare_digest(passkey.binding, _bind(world.digest, passkey))
        same = (passkey.customer_id, passkey.public_key) == (self.customer_id, self.public_key)
        return (
            (passkey, world.customers.get(self.customer_id)) if is_ours and same else (None, None)
        )


def goes_on(before: int, now: int) -> bool:
    """Whether a counter can follow the other; one that never counts stays at 0.

    If an authenticator was copied, one counter falls behind the other.
    """
    return now > before or now == before == 0


@dataclass(frozen=True, slots=True)
class EndPasskey(Command[Passkey]):
    """Ends a passkey of one's own, and tells the customer.

    All sessions except the present one end too: a stolen phone may have opened one with it.
    """

    actor: Actor
    customer_id: UUID
    passkey_id: UUID
    session: bytes

    def needs(self, needs: Needs) -> None:
        needs.customer(self.customer_id)

    def decide(self, world: World) -> Passkey | Refusal:
        usable = world.passkeys_of[self.customer_id]
        if not is_themselves(self.actor, self.customer_id) or self.passkey_id not in usable:
            return refuse("not_found")
        customer, passkey = world.customers[self.customer_id], world.passkeys[self.passkey_id]
        _end(world, Act(self.actor, "passkey.end"), customer, passkey)
        end_sessions(world, customer.id, except_for=self.session)
        tell_access(world, customer, "passkey_ended", [passkey.name])
        return passkey


@dataclass(frozen=True, slots=True)
class EndPasskeys(Command[int]):
    """The operator ends all passkeys of a customer, and tells them; the result is their number.

    The sessions end too: one that a stolen phone has opened counts as a recent confirmation.
    """

    permission: ClassVar[Permission] = "sessions.end"
    actor: Actor
    customer_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.customer(self.customer_id)

    def decide(self, world: World) -> int | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        customer = world.customers.get(self.customer_id)
        if customer is None:
            return no_log_in(CustomerId(self.customer_id))
        ended = end_passkeys(world, Act(self.actor, "passkey.end"), customer)
        if ended:
            end_sessions(world, customer.id)
            tell_access(world, customer, "passkey_ended", [passkey.name for passkey in ended])
        return len(ended)


def usable_passkeys(world: World, customer_id: UUID) -> list[Passkey]:
    """Those of a customer whom the batch has locked, in the order in which they were added."""
    found = [world.passkeys[passkey_id] for passkey_id in world.passkeys_of[customer_id]]
    return sorted(found, key=lambda passkey: (passkey.added_at, passkey.id))


def end_passkeys(world: World, act: Act, customer: Customer) -> list[Passkey]:
    """Ends all of them, and returns them."""
    found = usable_passkeys(world, customer.id)
    for passkey in found:
        _end(world, act, customer, passkey)
    return found


def _end(world: World, act: Act, customer: Customer, passkey: Passkey) -> None:
    """It stays in the table, so that its credential never counts again."""
    _write(world, act, customer, replace(passkey, ended_at=world.now))
    world.passkeys_of[customer.id] -= {passkey.id}


def _write(world: World, act: Act, customer: Customer, passkey: Passkey) -> None:
    write_setting(
        world,
        World.passkeys,
        passkey,
        act,
        merchant_id=world.sandbox_shops.get(customer.id),
        mode=customer.mode,
    )


def _bind(digest: Digest, passkey: Passkey) -> bytes:
    """Ties the public key to the credential and the customer: a moved key opens no wallet."""
    owner = show_whose(CustomerId(passkey.customer_id))
    return bind(digest, passkey.public_key, passkey.credential.hex(), owner)
