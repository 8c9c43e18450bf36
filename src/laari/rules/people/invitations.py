"""Invitations to a role at a merchant, by a link that works once and for 24 hours."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.invitations import INVITATION_LIFE, INVITATIONS_A_DAY, OPEN_INVITATIONS
from laari.rules.messages import InvitationContent, send
from laari.rules.needs import Needs
from laari.rules.people.memberships import (
    busy,
    invitations_of,
    is_member,
    join,
    may_not_change,
    misfit,
    not_joining,
    withdraw,
)
from laari.rules.people.persons import Enrolled, NewLogin, enrol
from laari.rules.records.messages import Language, Recipient
from laari.rules.records.people import Invitation, MerchantRole
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

LINK = "invitation"  # the purpose of the digest of a link
JOIN = "/dashboard/join"  # the address of the links, before their token
_DAY = timedelta(hours=24)
_SERVICE = Actor("service", "expiry")


class Offer(NamedTuple):
    email: str
    role: MerchantRole
    till: str | None = None


class Invited(NamedTuple):
    link: str
    expires_at: datetime
    is_sent: bool  # by email


class Joined(NamedTuple):
    invitation: Invitation
    person_id: UUID


@dataclass(frozen=True, slots=True)
class InvitePerson(Command[Invited]):
    """Makes an invitation, which replaces an earlier one of the same address.

    The link is sent by email in this `language`, or with None returned alone. A link that its
    inviter (`by`) sees proves nothing about the address: the inviter could open it.
    """

    actor: Actor
    place: str
    offer: Offer
    by: UUID | None = None  # None is the operator
    language: Language | None = None

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)
        # Also of an address that is not invited yet.
        needs.lock(World.invitations, (self.place, self.offer.email))
        if self.language is not None:
            needs.read(World.invitation_mails, self.offer.email)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Invited | Refusal:
        email, role, till = self.offer
        refusal = (
            may_not_change(world, self.actor, self.place)
            or misfit(self.place, role, till)
            or is_member(world, self.place, email)
            or self._too_many(world)
        )
        if refusal is not None:
            return refusal
        secret, expires_at = world.new_secret(), world.now + INVITATION_LIFE
        is_sent = self.language is not None and "email" in world.channels
        invitation = Invitation(
            merchant_id=self.place,
            email=email,
            digest=world.digest(LINK, secret),
            role=role,
            till=till,
            invited_by=self.by,
            created_at=world.now,
            expires_at=expires_at,
            proves=self.by is None or is_sent,
        )
        act = Act(self.actor, "invitation.create")
        write_setting(world, World.invitations, invitation, act, merchant_id=self.place)
        world.invited[self.place].add(email)
        link = f"{world.origin}{JOIN}/{secret}"
        if self.language is not None and is_sent:
            name = world.merchant_settings[self.place].name
            content = InvitationContent(name, role, expires_at, link)
            to = Recipient(email, None, self.language, None)
            send(world, to, "invitation", content)
            world.invitation_mails[email] = (*world.invitation_mails.get(email, ()), world.now)
        return Invited(link, expires_at, is_sent)

    def _too_many(self, world: World) -> Refusal | None:
        email = self.offer.email
        others = [
            each
            for each in invitations_of(world, self.place)
            if each.email != email and each.expires_at > world.now
        ]
        if len(others) >= OPEN_INVITATIONS:
            message = f"A merchant has at most {OPEN_INVITATIONS} open invitations."
            return refuse("conflict", message)
        mails = world.invitation_mails.get(email, ())
        if sum(sent > world.now - _DAY for sent in mails) >= INVITATIONS_A_DAY:
            return refuse(
                "conflict",
                f"{email} got {INVITATIONS_A_DAY} invitations in 24 hours. Try again later.",
            )
        return None


@dataclass(frozen=True, slots=True)
class WithdrawInvitation(Command[Invitation]):
    """Ends the invitation of an address."""

    actor: Actor
    place: str
    email: str

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Invitation | Refusal:
        refusal = may_not_change(world, self.actor, self.place)
        if refusal is not None:
            return refusal
        found = world.invitations.get((self.place, self.email))
        if found is None:
            return refuse("conflict", f"{self.email} has no open invitation.")
        withdraw(world, Act(self.actor, "invitation.withdraw"), found)
        return found


@dataclass(frozen=True, slots=True)
class ExpireInvitation(Command[bool]):
    """Ends an invitation after its time; False if it was accepted or replaced meanwhile."""

    place: str
    email: str

    def needs(self, needs: Needs) -> None:
        needs.read(World.invited, self.place)
        needs.lock(World.invitations, (self.place, self.email))

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> bool:
        found = world.invitations.get((self.place, self.email))
        if found is None or found.expires_at > world.now:
            return False
        withdraw(world, Act(_SERVICE, "invitation.expire"), found)
        return True


@dataclass(frozen=True, slots=True)
class AcceptInvitation(Command[Joined]):
    """Gives the role to the person who is logged in, or to a new one with this password."""

    actor: Actor
    digest: bytes
    person_id: UUID | None
    password_hash: str | None

    def needs(self, needs: Needs) -> None:
        needs.invitation(self.digest)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Joined | Refusal:
        key = world.invitation_links.get(self.digest)
        found = None if key is None else world.invitations.get(key)
        # Another link may have replaced it meanwhile.
        if found is None or found.digest != self.digest or found.expires_at <= world.now:
            return refuse("not_found")
        refusal = not_joining(world, found.merchant_id, found.email, found.role)
        if refusal is not None:
            return refusal
        act = Act(self.actor, "invitation.accept")
        person_id = self._person(world, act, found)
        if isinstance(person_id, Refusal):
            return person_id
        withdraw(world, act, found)
        join(world, act, found.merchant_id, found.email, found.role, till=found.till)
        return Joined(found, person_id)

    def _person(self, world: World, act: Act, found: Invitation) -> UUID | Refusal:
        known = world.person_ids.get(found.email)
        if self.password_hash is not None:
            return self._enrol(world, act, found, self.password_hash)
        if self.person_id is None or known != self.person_id:
            return refuse("conflict", "This invitation is for another person.")
        person = world.persons.get(self.person_id)
        if person is None:
            return refuse("conflict", "This person was just removed.")
        if found.proves:
            write_setting(world, World.persons, replace(person, proven=True), act)
        return person.id

    def _enrol(
        self, world: World, act: Act, found: Invitation, password_hash: str
    ) -> UUID | Refusal:
        """A new person, or one who has not proved the address, if this link proves it."""
        known = world.person_ids.get(found.email)
        person = None if known is None else world.persons.get(known)
        if known is not None and (person is None or person.proven or not found.proves):
            return refuse("conflict", "This person has a password: log in first.")
        login = NewLogin(password_hash, proven=found.proves)
        enrolled = enrol(world, act, found.email, login)
        return enrolled.id if isinstance(enrolled, Enrolled) else enrolled
