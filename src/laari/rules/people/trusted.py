"""Trusted people: a customer asks somebody who gets messages about large payments and the like.

A thief who talks an old customer into paying cannot hide it from the other person. So both have to
agree, and if the customer ends it, the messages go on for a day: `TRUST_END`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.trusted import TRUST_END
from laari.rules.messages import TrustAgreedContent, TrustContent, TrustEndContent, send
from laari.rules.needs import Needs
from laari.rules.people.contacts import masked_contact
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.messages import Recipient
from laari.rules.records.people import Customer, TrustedPerson
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

PAGE = "/app/password#trusted"  # a page


def is_open(trust: TrustedPerson, now: datetime) -> bool:
    """Whether somebody is asked, or gets messages now."""
    return trust.status != "ended" and (trust.ends_at is None or trust.ends_at > now)


@dataclass(frozen=True, slots=True)
class AskTrustedPerson(Command[TrustedPerson]):
    """Asks the holder of a mobile number.

    The customer does not learn whether anybody has it: without a holder nobody answers.
    """

    actor: Actor
    customer_id: UUID
    mobile: str
    above: int

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.lock(World.trusted_people, self.customer_id)
        needs.read(World.recipients, ("mobile", self.mobile))

    def decide(self, world: World) -> TrustedPerson | Refusal:
        if not is_themselves(self.actor, self.customer_id):
            return refuse("not_found")
        customer = world.customers[self.customer_id]
        if customer.mode != "live":
            return refuse("conflict", "A sandbox customer has no trusted person.")
        if self.mobile == customer.mobile:
            return invalid("mobile", "This is your own number.")
        earlier = world.trusted_people.get(self.customer_id)
        if earlier is not None and is_open(earlier, world.now):
            return refuse("conflict", "You have a trusted person already.")
        found = world.recipients.get(("mobile", self.mobile))
        asked = TrustedPerson(
            customer_id=self.customer_id,
            trusted_id=None if found is None else found.customer_id,
            mobile=self.mobile,
            above=self.above,
            asked_at=world.now,
        )
        act = Act(self.actor, "trusted_person.ask")
        write_setting(world, World.trusted_people, asked, act, mode=customer.mode)
        if found is not None:
            to = Recipient(found.email, found.mobile, found.language, found.customer_id)
            # Anybody can have any name: who knows them knows the end of the number.
            contact = masked_contact(customer.mobile or customer.email or "")
            content = TrustContent(customer.name, contact, self.above, world.origin + PAGE)
            # `ONCE_ABOUT_ONE` counts the messages about this customer.
            send(world, to, "trust_asked", content, object_id=customer.id)
        return asked


@dataclass(frozen=True, slots=True)
class _Answer(Command[TrustedPerson]):
    """Either side decides. `trusted_id` is the person on the screen: it may be another one now."""

    actor: Actor
    customer_id: UUID
    trusted_id: UUID | None

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        if self.trusted_id is not None:
            needs.lock(World.customers, self.trusted_id)
        needs.lock(World.trusted_people, self.customer_id)

    def found(self, world: World) -> TrustedPerson | None:
        trust = world.trusted_people.get(self.customer_id)
        is_same = trust is not None and trust.trusted_id == self.trusted_id
        return trust if trust is not None and is_same and is_open(trust, world.now) else None

    @property
    def is_trusted(self) -> bool:
        return self.trusted_id is not None and is_themselves(self.actor, self.trusted_id)


@dataclass(frozen=True, slots=True)
class AgreeToTrust(_Answer):
    """The trusted person agrees: from now on they get the messages."""

    def decide(self, world: World) -> TrustedPerson | Refusal:
        trust = self.found(world)
        if trust is None or not self.is_trusted:
            return refuse("not_found")
        if trust.status != "asked":
            return refuse("conflict", "You have agreed already.")
        agreed = replace(trust, status="agreed", agreed_at=world.now)
        customer = world.customers[self.customer_id]
        act = Act(self.actor, "trusted_person.agree")
        write_setting(world, World.trusted_people, agreed, act, mode=customer.mode)
        content = TrustAgreedContent(trust.mobile, trust.above, world.origin + PAGE)
        send(world, customer.recipient, "trust_agreed", content)
        return agreed


@dataclass(frozen=True, slots=True)
class EndTrust(_Answer):
    """Either side ends it, or the operator, who says why.

    The customer's own ending takes a day once the other has agreed.
    """

    permission: ClassVar[Permission] = "customers.change"
    reason: str | None = None

    def decide(self, world: World) -> TrustedPerson | Refusal:
        trust = self.found(world)
        is_own = is_themselves(self.actor, self.customer_id)
        refusal = None if is_own or self.is_trusted else lacks(self.actor, self.permission)
        if refusal is not None and self.actor.is_operator:
            return refusal
        if trust is None or refusal is not None:
            return refuse("not_found")
        customer = world.customers[self.customer_id]
        if is_own and trust.status == "agreed":
            return self._end_later(world, trust, customer)
        ended = replace(trust, status="ended", ends_at=None)
        act = Act(self.actor, "trusted_person.end", self.reason)
        write_setting(world, World.trusted_people, ended, act, mode=customer.mode)
        content = TrustEndContent(customer.name, world.now)
        if self.is_trusted:
            send(world, customer.recipient, "trust_ended", content)
        elif self.actor.is_operator:
            for person in self._both(world, customer):
                send(world, person.recipient, "trust_stopped", content)
        return ended

    def _both(self, world: World, customer: Customer) -> list[Customer]:
        """The customer, and the other if the number belongs to anybody."""
        other = None if self.trusted_id is None else world.customers[self.trusted_id]
        return [customer] if other is None else [customer, other]

    def _end_later(
        self, world: World, trust: TrustedPerson, customer: Customer
    ) -> TrustedPerson | Refusal:
        """Both hear of it: the customer may not be the one who pressed."""
        if trust.ends_at is not None:
            return refuse("conflict", "It is ending already.")
        ends_at = world.now + TRUST_END
        ending = replace(trust, ends_at=ends_at)
        act = Act(self.actor, "trusted_person.end")
        write_setting(world, World.trusted_people, ending, act, mode=customer.mode)
        for person in self._both(world, customer):
            content = TrustEndContent(customer.name, ends_at)
            send(world, person.recipient, "trust_ending", content)
        return ending
