"""Identity data of customers: who they are by their document. It is stored only encrypted.

Nobody reads it without an entry in the journal. The journal has only the digest of the encrypted
bytes, which differs each time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal
from uuid import UUID

from msgspec import Struct, json

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.calendar import read_date
from laari.rules.command import Command
from laari.rules.journal import Act, note, remove_setting, write_setting
from laari.rules.needs import Needs
from laari.rules.people.customers import add_note
from laari.rules.people.permissions import lacks
from laari.rules.people.persons import no_log_in
from laari.rules.records.people import CustomerId, CustomerIdentity
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

DOCUMENTS = {
    "national_id": "National identity card",
    "passport": "Passport",
    "work_permit": "Work permit",
}
NONE_KEPT = "There is no identity data of this customer."
MAX_NUMBER = 50  # characters
MAX_ADDRESS = 500
_EARLIEST = date(1900, 1, 1)


class Identity(Struct, frozen=True):
    document: str
    number: str
    born: date
    address: str

    def __repr__(self) -> str:
        """Nothing that a log could keep."""
        return "Identity(…)"


def read_identity(given: Mapping[str, object], today: date) -> Identity | str:
    """The checked fields, or what is wrong in words that quote none of them."""
    texts = {name: str(given.get(name, "")).strip() for name in Identity.__struct_fields__}
    if texts["document"] not in DOCUMENTS:
        return "The document must be an identity card, a passport or a work permit."
    for name, longest in (("number", MAX_NUMBER), ("address", MAX_ADDRESS)):
        if not 1 <= len(texts[name]) <= longest or not texts[name].isprintable():
            return f"The {name} must be 1 to {longest} printable characters."
    born = read_date(texts.pop("born"))
    if born is None:
        return "The date of birth must be a date such as 1990-12-31."
    if not _EARLIEST <= born <= today:
        return "The date of birth must be between 1900 and today."
    return Identity(born=born, **texts)


@dataclass(frozen=True, slots=True)
class EnterIdentity(Command[CustomerIdentity]):
    """Keeps the data of a customer with a log-in; it replaces earlier data."""

    actor: Actor
    customer_id: UUID
    identity: Identity
    reason: str

    def needs(self, needs: Needs) -> None:
        _needs(needs, self.customer_id)

    def decide(self, world: World) -> CustomerIdentity | Refusal:
        refusal = lacks(self.actor, "identity.change")
        if refusal is not None:
            return refusal
        customer = world.customers.get(self.customer_id)
        if customer is None or customer.sandbox_of is not None:
            return no_log_in(CustomerId(self.customer_id))
        encrypted = world.encrypt(json.encode(self.identity), context(self.customer_id))
        kept = CustomerIdentity(self.customer_id, encrypted, world.now)
        act = Act(self.actor, "identity.enter", self.reason)
        write_setting(world, World.identities, kept, act, mode=customer.mode)
        return kept


@dataclass(frozen=True, slots=True)
class ViewIdentity(Command[Identity]):
    """Shows the data, if the entry that it was viewed is committed."""

    actor: Actor
    customer_id: UUID
    reason: str

    def needs(self, needs: Needs) -> None:
        needs.read(World.identities, self.customer_id)

    def decide(self, world: World) -> Identity | Refusal:
        refusal = lacks(self.actor, "identity.read")
        if refusal is not None:
            return refusal
        found = opened(world, self.customer_id)
        if isinstance(found, Refusal):
            return found
        note(
            world,
            Act(self.actor, "identity.view", self.reason),
            # Another type than that of the data: the last entry of an object is its present state.
            "identity_view",
            ids.show_id(ids.CUSTOMER, self.customer_id),
            merchant_id=None,
            mode=None,
            before=None,
            after={},
        )
        return found


IdentityFact = Literal["number", "born"]
FACTS: dict[IdentityFact, str] = {"number": "number of the document", "born": "date of birth"}


@dataclass(frozen=True, slots=True)
class CompareIdentity(Command[bool]):
    """Compares what a caller said with the data, which it shows to nobody.

    The result is a note about the customer, so that nobody guesses unseen.
    """

    actor: Actor
    customer_id: UUID
    fact: IdentityFact
    said: str

    def needs(self, needs: Needs) -> None:
        needs.read(World.customers, self.customer_id)
        needs.read(World.identities, self.customer_id)

    def decide(self, world: World) -> bool | Refusal:
        refusal = lacks(self.actor, "identity.read") or lacks(self.actor, "customers.note")
        if refusal is not None:
            return refusal
        kept = opened(world, self.customer_id)
        if isinstance(kept, Refusal):
            return kept
        truth = kept.number if self.fact == "number" else str(kept.born)
        fits = _letters(self.said) == _letters(truth)
        result = "Caller verified" if fits else "Caller NOT verified"
        text = f"{result}: asked for the {FACTS[self.fact]}."
        add_note(world, self.actor, self.customer_id, text)
        return fits


def _letters(text: str) -> str:
    """As a person says it: without spaces and hyphens, in any letters."""
    return "".join(each for each in text.casefold() if each.isalnum())


def opened(world: World, customer_id: UUID) -> Identity | Refusal:
    """The data of a customer, decrypted."""
    kept = world.identities.get(customer_id)
    if kept is None:
        return refuse("conflict", NONE_KEPT)
    plain = world.decrypt(kept.encrypted, context(customer_id))
    if plain is None:
        return refuse("conflict", "The identity data does not open with this master key.")
    return json.decode(plain, type=Identity)


@dataclass(frozen=True, slots=True)
class RemoveIdentity(Command[CustomerIdentity]):
    """Deletes the data."""

    actor: Actor
    customer_id: UUID
    reason: str

    def needs(self, needs: Needs) -> None:
        _needs(needs, self.customer_id)

    def decide(self, world: World) -> CustomerIdentity | Refusal:
        refusal = lacks(self.actor, "identity.change")
        if refusal is not None:
            return refusal
        kept = world.identities.get(self.customer_id)
        if kept is None:
            return refuse("conflict", NONE_KEPT)
        mode = world.customers[self.customer_id].mode
        act = Act(self.actor, "identity.remove", self.reason)
        remove_setting(world, World.identities, kept, act, mode=mode)
        return kept


def context(customer_id: UUID) -> bytes:
    """What the data is encrypted for."""
    return f"customer-identity {customer_id}".encode()


def _needs(needs: Needs, customer_id: UUID) -> None:
    needs.lock(World.customers, customer_id)
    needs.lock(World.identities, customer_id)
