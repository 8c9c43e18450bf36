"""Memberships: the role of a person at a merchant, or at the operator (`merchant_id` is None).

A merchant with people has an owner. Every command locks the merchant, so that two changes at once
cannot remove the last two owners. A person who makes a change is still an owner then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, note, remove_setting, write_setting
from laari.rules.needs import Needs
from laari.rules.people.permissions import MAX_TILL, ROLES, lacks
from laari.rules.people.persons import Enrolled, NewLogin, enrol, log_ins, note_help, remove_person
from laari.rules.records.people import Invitation, Membership, MerchantRole, OperatorRole, Role
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

ONLY_OWNER = "This is the only owner: make another person an owner first."
FIRST_IS_OWNER = "The first person of a merchant has to be an owner."


def may_not_change(world: World, actor: Actor, place: str | None) -> Refusal | None:
    """The refusal if there is no such merchant, or if the actor may not change its people now.

    A person's role is read again: it may have been lost since the request came.
    """
    if place is not None and world.merchant_settings.get(place) is None:
        return refuse("conflict", f"No merchant has the id {place}.")
    if actor.kind != "person":
        return lacks(actor, "operators.manage" if place is None else "people.manage")
    person_id = world.members[place].get(actor.name)
    membership = None if person_id is None else world.memberships.get((person_id, place))
    if membership is None or membership.role != "owner":
        return refuse("insufficient_scope", "Only an owner can change people.")
    return None


def is_member(world: World, place: str | None, email: str) -> Refusal | None:
    if email in world.members[place]:
        return refuse("conflict", f"{email} already logs in to {_named(place)}.")
    return None


def not_joining(world: World, place: str | None, email: str, role: Role) -> Refusal | None:
    """Why this address cannot have this role at the place."""
    refusal = is_member(world, place, email)
    if refusal is not None:
        return refusal
    if place is not None and role != "owner" and not world.members[place]:
        return refuse("conflict", FIRST_IS_OWNER)
    return None


def misfit(place: str | None, role: Role, till: str | None) -> Refusal | None:
    """Why there is no such role at the place. A cashier has a till, and nobody else has one."""
    if role not in get_args(OperatorRole if place is None else MerchantRole):
        return invalid("role", f"There is no role {role} at {_named(place)}.")
    if (role == "cashier") != (till is not None):
        return invalid("till", "A cashier has a till, and nobody else has one.")
    if till is not None and not 1 <= len(till) <= MAX_TILL:
        return invalid("till", f"A till has a label of 1 to {MAX_TILL} characters.")
    return None


def join(
    world: World,
    act: Act,
    place: str | None,
    email: str,
    role: Role,
    *,
    till: str | None = None,
) -> Membership:
    """Gives the role to the person with this address, whom the batch has locked or made."""
    person_id = world.person_ids[email]
    membership = Membership(person_id, place, role, till, world.now)
    world.members[place][email] = person_id
    world.places[person_id][place] = True  # as if it took live money: so a second factor stays
    _write(world, act, membership)
    return membership


@dataclass(frozen=True, slots=True)
class AddMember(Command[Enrolled]):
    """Adds a person, whose login is used only if they have none or have not proved the address."""

    actor: Actor
    place: str | None
    email: str
    role: Role
    till: str | None
    login: NewLogin

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)
        needs.person_at(self.email)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Enrolled | Refusal:
        refusal = (
            may_not_change(world, self.actor, self.place)
            or misfit(self.place, self.role, self.till)
            or not_joining(world, self.place, self.email, self.role)
        )
        if refusal is not None:
            return refusal
        act = Act(self.actor, "membership.add")
        enrolled = enrol(world, act, self.email, self.login)
        if isinstance(enrolled, Enrolled):
            if self.place is None or enrolled.has_new_password:
                note_help(world, act, self.email)
            join(world, act, self.place, self.email, self.role, till=self.till)
        return enrolled


@dataclass(frozen=True, slots=True)
class SetRole(Command[Membership]):
    """Gives a person another role at the same place."""

    actor: Actor
    place: str | None
    person_id: UUID
    role: Role
    till: str | None = None

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Membership | Refusal:
        refusal = may_not_change(world, self.actor, self.place) or misfit(
            self.place, self.role, self.till
        )
        if refusal is not None:
            return refusal
        membership = world.memberships.get((self.person_id, self.place))
        if membership is None:
            return _no_member(self.place)
        if self.role != "owner" and _owners(world, self.place) == [self.person_id]:
            return refuse("conflict", ONLY_OWNER)
        act = Act(self.actor, "membership.set_role")
        changed = replace(membership, role=self.role, till=self.till)
        _write(world, act, changed)
        if self.place is None and not ROLES[self.role] <= ROLES[membership.role]:
            note_help(world, act, _email_of(world, membership))
        if self.role != "owner":
            _withdraw_invitations(world, act, self.place, self.person_id)
        return changed


@dataclass(frozen=True, slots=True)
class TransferOwnership(Command[Membership]):
    """The receiver becomes an owner and the giver, who is one, a manager: both or neither."""

    actor: Actor
    place: str
    giver: UUID
    receiver: UUID

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> Membership | Refusal:
        refusal = may_not_change(world, self.actor, self.place)
        if refusal is not None:
            return refusal
        giver = world.memberships.get((self.giver, self.place))
        receiver = world.memberships.get((self.receiver, self.place))
        if giver is None or giver.role != "owner" or self.giver == self.receiver:
            message = "Only an owner can transfer ownership, to another person."
            return refuse("conflict", message)
        if receiver is None:
            return _no_member(self.place)
        act = Act(self.actor, "membership.transfer")
        owner = replace(receiver, role="owner", till=None)
        _write(world, act, replace(giver, role="manager", till=None))
        _write(world, act, owner)
        _withdraw_invitations(world, act, self.place, self.giver)
        return owner


@dataclass(frozen=True, slots=True)
class RemoveMember(Command[int]):
    """Ends a person's access; the result is the number of ended sessions.

    A person with another place stays logged in there. `may_be_last` allows to remove the only
    person of a merchant, which then has none.
    """

    actor: Actor
    place: str | None
    person_id: UUID
    may_be_last: bool = False

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)
        needs.person(self.person_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> int | Refusal:
        refusal = may_not_change(world, self.actor, self.place)
        if refusal is not None:
            return refusal
        membership = world.memberships.get((self.person_id, self.place))
        if membership is None:
            return _no_member(self.place)
        is_last = self.may_be_last and len(world.members[self.place]) == 1
        if _owners(world, self.place) == [self.person_id] and not is_last:
            return refuse("conflict", ONLY_OWNER)
        act = Act(self.actor, "membership.remove")
        _withdraw_invitations(world, act, self.place, self.person_id)
        remove_setting(
            world,
            World.memberships,
            membership,
            act,
            merchant_id=self.place,
            shown=_shown(world, membership),
        )
        person = world.persons[self.person_id]
        del world.members[self.place][person.email]
        del world.places[person.id][self.place]
        return 0 if world.places[person.id] else remove_person(world, act, person)


@dataclass(frozen=True, slots=True)
class EndSessionsAt(Command[int]):
    """Ends a person's sessions for this merchant; at others the person stays logged in."""

    actor: Actor
    place: str
    person_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.people(self.place)
        needs.person(self.person_id)

    def busy(self) -> Refusal:
        return busy()

    def decide(self, world: World) -> int | Refusal:
        refusal = may_not_change(world, self.actor, self.place)
        if refusal is not None:
            return refusal
        open_ones = [
            each for each in log_ins(world, self.person_id) if self.place not in each.ended_for
        ]
        for each in open_ones:
            ended = replace(each, ended_for=[*each.ended_for, self.place])
            world.log_ins.change(each.digest, ended)
        if open_ones:
            note(
                world,
                Act(self.actor, "sessions.end"),
                "sessions",
                ids.show_id(ids.PERSON, self.person_id),
                merchant_id=self.place,
                mode=None,
                before=None,
                after={"ended": len(open_ones)},
            )
        return len(open_ones)


def _owners(world: World, place: str | None) -> list[UUID]:
    """The owners of a merchant; the operator has none."""
    return [
        person_id
        for person_id in world.members[place].values()
        if world.memberships[person_id, place].role == "owner"
    ]


def _no_member(place: str | None) -> Refusal:
    return refuse("conflict", f"This person does not log in to {_named(place)}.")


def _named(place: str | None) -> str:
    return "the operator's desk" if place is None else place


def _write(world: World, act: Act, membership: Membership) -> None:
    write_setting(
        world,
        World.memberships,
        membership,
        act,
        merchant_id=membership.merchant_id,
        shown=_shown(world, membership),
    )


def _shown(world: World, membership: Membership) -> Mapping[str, object]:
    """The address, for readers of the journal: the person may be removed later."""
    return {"email": _email_of(world, membership)}


def _email_of(world: World, membership: Membership) -> str:
    members = world.members[membership.merchant_id].items()
    return next(email for email, each in members if each == membership.person_id)


def _withdraw_invitations(world: World, act: Act, place: str | None, person_id: UUID) -> None:
    """A person who is no longer an owner must not come back through an invitation to a friend."""
    for invitation in invitations_of(world, place):
        if invitation.invited_by == person_id:
            withdraw(world, act, invitation)


def invitations_of(world: World, place: str | None) -> list[Invitation]:
    """All of a merchant, also those that have expired."""
    if place is None:
        return []
    found = [world.invitations.get((place, email)) for email in world.invited[place]]
    return [each for each in found if each is not None]


def withdraw(world: World, act: Act, invitation: Invitation) -> None:
    merchant_id = invitation.merchant_id
    remove_setting(world, World.invitations, invitation, act, merchant_id=merchant_id)
    world.invited[merchant_id].discard(invitation.email)


def busy() -> Refusal:
    return refuse("conflict", "Another command is changing these people. Try again.")
