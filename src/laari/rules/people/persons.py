"""People of merchants and of the operator. Each has one email, one password and its sessions.

Who makes somebody an operator, or sees their password, can act as both. So the journal keeps who
did that, by names: it stays if one of them is removed, or is added again. For 30 days they are not
two people, nor are two operators to whom the same one gave a role or a log-in.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import OPERATOR_KINDS, Actor, written
from laari.rules.journal import Act, note, remove_setting, write_setting
from laari.rules.limits.second_person import RECENT
from laari.rules.needs import Needs
from laari.rules.records.people import CustomerId, LogIn, Person, Whose, show_whose
from laari.rules.records.second_person import Help
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

LOG_IN = "log_in"  # the type of the object in the journal, which is the address


class NewLogin(NamedTuple):
    """The password of a person who has none yet, and who knows it."""

    password_hash: str
    must_change: bool = False
    first_password: bool = False
    proven: bool = True  # False for a sign-up: anybody could have entered the address


class Enrolled(NamedTuple):
    id: UUID
    has_new_password: bool  # False if the person has a password already


def enrol(world: World, act: Act, email: str, login: NewLogin) -> Enrolled | Refusal:
    """Finds the person with this email, or makes one. A refusal has changed nothing.

    A person who signed up alone has not proved the address: the login replaces theirs, their
    sessions end and their second factor is off. So a stranger who signs up with the address of
    another person gains nothing, and cannot lock that person out.
    """
    person_id = world.person_ids.get(email)
    person = None if person_id is None else world.persons.get(person_id)
    if person is None:  # or was removed while the batch waited for the lock
        return Enrolled(_make(world, act, email, login), True)
    refusal = not_enrolled(world, email, login)
    if refusal is not None:
        return refusal
    if person.proven:
        return Enrolled(person.id, False)
    password_hash, must_change, first_password, proven = login
    changed = replace(
        person,
        password_hash=password_hash,
        password_must_change=must_change,
        password_first=first_password,
        proven=proven,
    )
    write_setting(world, World.persons, changed, act)
    forget_factor(world, act, person.id)
    end_sessions(world, person.id)
    return Enrolled(person.id, True)


def not_enrolled(world: World, email: str, login: NewLogin) -> Refusal | None:
    """Why nobody is enrolled: a sign-up with the address of a person."""
    person_id = world.person_ids.get(email)
    person = None if person_id is None else world.persons.get(person_id)
    if person is not None and not login.proven:
        return refuse("conflict", "This email address cannot be used to sign up.")
    return None


def _make(world: World, act: Act, email: str, login: NewLogin) -> UUID:
    password_hash, must_change, first_password, proven = login
    person = Person(
        id=world.new_id(),
        email=email,
        created_at=world.now,
        password_hash=password_hash,
        password_must_change=must_change,
        password_first=first_password,
        proven=proven,
    )
    world.person_ids[email] = person.id
    world.places[person.id] = {}
    world.log_ins_of[person.id] = frozenset()
    write_setting(world, World.persons, person, act)
    return person.id


def forget_factor(world: World, act: Act, person_id: UUID) -> None:
    """Turns a second factor off that may be a stranger's.

    Not if live money is behind the person: their emails alone must not open it. The operator has
    approved such a merchant, and can turn the factor off.
    """
    if not any(world.places[person_id].values()):
        remove_factor(world, act, person_id)


def remove_factor(world: World, act: Act, person_id: UUID) -> bool:
    """Whether there was one. Its recovery codes go with it."""
    factor = world.second_factors.get(person_id)
    if factor is None:
        return False
    remove_setting(world, World.second_factors, factor, act)
    return True


def prove(world: World, act: Act, person_id: UUID) -> None:
    """Notes that a new password went to the address of the person.

    A second factor from before that may be a stranger's, who would lock the person out with it.
    """
    person = world.persons[person_id]
    if not person.proven:
        write_setting(world, World.persons, replace(person, proven=True), act)
        forget_factor(world, act, person_id)


def end_sessions(world: World, whose: UUID, *, except_for: bytes | None = None) -> int:
    """Ends the sessions of the person or customer; returns their number."""
    ended = [each for each in log_ins(world, whose) if each.digest != except_for]
    for each in ended:
        world.log_ins.remove(each.digest)
    return len(ended)


def log_ins(world: World, whose: UUID) -> list[LogIn]:
    """The sessions of the person or customer, also those that have expired."""
    found = [world.log_ins.get(digest) for digest in world.log_ins_of[whose]]
    return [each for each in found if each is not None]


def remove_person(world: World, act: Act, person: Person) -> int:
    """Removes a person without a place; returns the number of ended sessions."""
    ended = end_sessions(world, person.id)
    remove_factor(world, act, person.id)
    remove_setting(world, World.persons, person, act)
    world.person_ids.pop(person.email, None)
    return ended


def no_log_in(whose: Whose) -> Refusal:
    kind = "customer" if isinstance(whose, CustomerId) else "person"
    message = f"The {kind} {show_whose(whose)} has no log-in, or no {kind} has this id."
    return refuse("conflict", message)


def note_help(world: World, act: Act, email: str) -> None:
    """Notes that somebody on the desk gave this person a role there, or could see the log-in.

    Somebody at the server has the master key, so the rule cannot hold there.
    """
    if act.actor.kind != "operator":
        return
    note(
        world,
        Act(act.actor, "log_in.help"),
        LOG_IN,
        email,
        merchant_id=None,
        mode=None,
        before=None,
        after={"by": act.action},
    )


def needs_helps(needs: Needs) -> None:
    """For a command that asks whether two names are two people."""
    needs.read(World.helps, None)


def helps_of(world: World) -> Sequence[Help]:
    """None with the rule off: a service may have one person."""
    return () if world.second_operator_above is None else world.helps[None]


def is_same_person(name: str, actor: Actor) -> bool:
    """Whether a name as `written` is this actor's, in any letters and from any interface."""
    return _is_same(name, written(actor))


def _is_same(name: str, other_name: str) -> bool:
    """A system user is the operator whose email address begins with its name."""
    kind, _, called = name.partition(" ")
    other_kind, _, other_called = other_name.partition(" ")
    one, other = called.casefold(), other_called.casefold()
    if "command_line" in (kind, other_kind) and ("@" in one) is not ("@" in other):
        one, other = one.partition("@")[0], other.partition("@")[0]
    return one == other


def not_second(
    name: str, actor: Actor, helps: Sequence[Help], now: datetime, own: str
) -> str | None:
    """Why this actor is no second person for the one with this name, or None.

    `own` says it if the name is the actor's.
    """
    if is_same_person(name, actor):
        return own
    recent = [each for each in helps if each.at > now - RECENT]
    mine, theirs = _helpers(written(actor), recent), _helpers(name, recent)
    if (
        any(_is_same(each, name) for each in mine)
        or any(is_same_person(each, actor) for each in theirs)
        or any(_is_same(each, other) for each in mine for other in theirs)
    ):
        return (
            f"In the last {RECENT.days} days you or {name} got a role or log-in from the other, or "
            "both from the same operator. Another operator has to do this. `laari operator create` "
            "makes one on the server."
        )
    return None


def _helpers(name: str, recent: Sequence[Help]) -> list[str]:
    """Who could act under this name of an operator: those who helped, and those who helped them."""
    found = list[str]()
    to_do = [name]
    while to_do:
        helped = to_do.pop()
        if not helped.startswith(OPERATOR_KINDS):
            continue
        for each in recent:
            if _is_same(f"operator {each.email}", helped) and each.by not in found:
                found.append(each.by)
                to_do.append(each.by)
    return found
