"""Log-ins of customers and of people: their passwords, and the end of their sessions.

A log-in with the old password locks the same row: its session is ended here, or not opened.
"""

from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, note, write_setting
from laari.rules.needs import Needs
from laari.rules.people.passkeys import end_passkeys
from laari.rules.people.permissions import lacks
from laari.rules.people.persons import end_sessions, no_log_in, note_help, prove
from laari.rules.people.remembered_devices import end_devices, forget_devices
from laari.rules.people.wallet_keys import end_keys
from laari.rules.records.people import CustomerId, PersonId, Whose, show_whose
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class SetPassword(Command[int]):
    """Sets a password of one's own; the result is the number of ended sessions.

    `verified` is the hash that the present password fitted: of two changes at once one is refused.
    """

    actor: Actor
    whose: Whose
    password_hash: str
    verified: str | None

    def needs(self, needs: Needs) -> None:
        needs.log_in(self.whose)

    def decide(self, world: World) -> int | Refusal:
        if self.verified is None or password_hash_of(world, self.whose) != self.verified:
            message = "Your password was changed in the meantime. Nothing was changed now."
            return refuse("conflict", message)
        return set_password(world, self.actor, self.whose, self.password_hash, keeps_first_key=True)


@dataclass(frozen=True, slots=True)
class ResetPassword(Command[int]):
    """The operator sets a password, which a real person has to change.

    The result is the number of ended sessions.
    """

    actor: Actor
    whose: Whose
    password_hash: str

    def needs(self, needs: Needs) -> None:
        needs.log_in(self.whose)

    def decide(self, world: World) -> int | Refusal:
        refusal = may_not_help(world, self.actor, self.whose)
        if refusal is not None:
            return refusal
        if isinstance(self.whose, PersonId):
            act = Act(self.actor, "person.reset_password")
            prove(world, act, self.whose.id)
            note_help(world, act, world.persons[self.whose.id].email)
        return set_password(world, self.actor, self.whose, self.password_hash, must_change=True)


@dataclass(frozen=True, slots=True)
class EndSessions(Command[int]):
    """The operator ends all sessions of somebody; the result is their number.

    A remembered device of a customer would pay without one, and a key would read: they end too.
    """

    actor: Actor
    whose: Whose

    def needs(self, needs: Needs) -> None:
        needs.log_in(self.whose)

    def decide(self, world: World) -> int | Refusal:
        refusal = lacks(self.actor, "sessions.end")
        if refusal is not None:
            return refusal
        rows = world.customers if isinstance(self.whose, CustomerId) else world.persons
        if rows.get(self.whose.id) is None:
            return no_log_in(self.whose)
        if isinstance(self.whose, CustomerId):
            end_devices(world, self.actor, world.customers[self.whose.id])
            end_keys(world, self.actor, world.customers[self.whose.id])
        ended = end_sessions(world, self.whose.id)
        if ended:
            note(
                world,
                Act(self.actor, "sessions.end"),
                "sessions",
                show_whose(self.whose),
                merchant_id=None,
                mode=None,
                before=None,
                after={"ended": ended},
            )
        return ended


def may_not_help(world: World, actor: Actor, whose: Whose) -> Refusal | None:
    """Why the operator may not set this password, or let it be set by a link."""
    if not actor.is_operator:
        return refuse("insufficient_scope")
    refusal = lacks(actor, "customers.change" if isinstance(whose, CustomerId) else "people.manage")
    if refusal is not None:
        return refusal
    customer = world.customers.get(whose.id)
    is_sandbox_customer = customer is not None and customer.sandbox_of is not None
    if is_sandbox_customer or password_hash_of(world, whose) is None:
        return no_log_in(whose)
    return None


def password_hash_of(world: World, whose: Whose) -> str | None:
    if isinstance(whose, CustomerId):
        customer = world.customers.get(whose.id)
        return None if customer is None else customer.password_hash
    person = world.persons.get(whose.id)
    return None if person is None else person.password_hash


def set_password(
    world: World,
    actor: Actor,
    whose: Whose,
    password_hash: str,
    *,
    must_change: bool = False,
    keeps_first_key: bool = False,
) -> int:
    """Sets the password of somebody whom the batch has locked, and ends all sessions.

    It returns their number. A link to set the old password again would outlive it, and so would a
    passkey, a remembered device or a key that somebody with the old password has added.
    """
    if isinstance(whose, CustomerId):
        customer = world.customers[whose.id]
        write_setting(
            world,
            World.customers,
            replace(
                customer,
                password_hash=password_hash,
                password_must_change=must_change and customer.mode == "live",
                password_first=False,
            ),
            Act(actor, "customer.set_password"),
            merchant_id=world.sandbox_shops.get(customer.id),
            mode=customer.mode,
        )
        end_passkeys(world, Act(actor, "passkey.end"), customer)
        forget_devices(world, actor, customer)
        first_stays = keeps_first_key and customer.password_first
        end_keys(world, actor, customer, first_stays=first_stays)
    else:
        person = replace(
            world.persons[whose.id],
            password_hash=password_hash,
            password_must_change=must_change,
            password_first=False,
        )
        write_setting(world, World.persons, person, Act(actor, "person.set_password"))
    withdraw_link(world, whose.id)
    return end_sessions(world, whose.id)


def withdraw_link(world: World, whose: UUID) -> None:
    """Ends the link or code that would set a password."""
    if world.password_links.get(whose) is not None:
        world.password_links.remove(whose)
