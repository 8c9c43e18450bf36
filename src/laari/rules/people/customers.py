"""What operators keep about customers: notes, languages, and the log-in of a sandbox customer."""

import hashlib
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.journal import Act, note, write_setting
from laari.rules.needs import Needs
from laari.rules.people.permissions import lacks
from laari.rules.people.persons import no_log_in
from laari.rules.records.messages import Language
from laari.rules.records.people import Customer, CustomerId, CustomerNote
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class AddNote(Command[CustomerNote]):
    """Adds a note, which only operators see and nobody changes."""

    actor: Actor
    customer_id: UUID
    text: str

    def needs(self, needs: Needs) -> None:
        needs.read(World.customers, self.customer_id)

    def decide(self, world: World) -> CustomerNote | Refusal:
        refusal = lacks(self.actor, "customers.note")
        if refusal is not None:
            return refusal
        if world.customers.get(self.customer_id) is None:
            return no_log_in(CustomerId(self.customer_id))
        return add_note(world, self.actor, self.customer_id, self.text)


def add_note(world: World, actor: Actor, customer_id: UUID, text: str) -> CustomerNote:
    """Adds a note with its entry, which has a digest: not everybody who reads it may see notes."""
    added = CustomerNote(customer_id, world.now, actor.name, text)
    world.customer_notes.append(added)
    note(
        world,
        Act(actor, "customer.note"),
        "customer_note",
        ids.show_id(ids.CUSTOMER, customer_id),
        merchant_id=None,
        mode=None,
        before=None,
        after={"text_digest": hashlib.sha256(text.encode()).hexdigest()},
    )
    return added


@dataclass(frozen=True, slots=True)
class LetLogIn(Command[Customer]):
    """Gives a merchant's sandbox customer a log-in, for a demo; one that they have stays."""

    actor: Actor
    customer_id: UUID
    email: str
    password_hash: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.read(World.sandbox_shops, self.customer_id)

    def decide(self, world: World) -> Customer | Refusal:
        refusal = lacks(self.actor, "customers.change")
        if refusal is not None:
            return refusal
        customer = world.customers.get(self.customer_id)
        if customer is None or customer.sandbox_of is None:
            return refuse("conflict", "Only a merchant's sandbox customer gets a log-in like this.")
        if customer.password_hash is not None:
            return customer
        changed = replace(customer, email=self.email, password_hash=self.password_hash)
        write_setting(
            world,
            World.customers,
            changed,
            Act(self.actor, "customer.let_log_in"),
            merchant_id=world.sandbox_shops.get(customer.id),
            mode=customer.mode,
        )
        return changed


@dataclass(frozen=True, slots=True)
class SetLanguage(Command[Customer]):
    """Sets the language of a customer's wallet and messages; customers set their own."""

    actor: Actor
    customer_id: UUID
    language: Language

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.read(World.sandbox_shops, self.customer_id)

    def decide(self, world: World) -> Customer | Refusal:
        is_own = is_themselves(self.actor, self.customer_id)
        refusal = None if is_own else lacks(self.actor, "customers.change")
        if refusal is not None:
            return refusal
        customer = world.customers.get(self.customer_id)
        if customer is None:
            return no_log_in(CustomerId(self.customer_id))
        changed = replace(customer, language=self.language)
        write_setting(
            world,
            World.customers,
            changed,
            Act(self.actor, "customer.set_language"),
            merchant_id=world.sandbox_shops.get(customer.id),
            mode=customer.mode,
        )
        return changed
