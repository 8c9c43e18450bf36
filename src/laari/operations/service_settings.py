"""What the operator sets for the service: bank holidays, tiers of wallets, and its own people."""

from datetime import date
from typing import get_args

from asyncpg import Connection
from msgspec.structs import asdict

from laari.errors import LaariError
from laari.operations.fields import NO_LIMIT, Choice, Day, Email, Field, Limit, Text
from laari.operations.operation import Context, Operation, Shape, Subject, command, plain
from laari.rules.actors import Actor
from laari.rules.banking.holidays import RemoveHoliday, SetHoliday
from laari.rules.banking.tiers import SetLimits
from laari.rules.people.memberships import AddMember, RemoveMember, SetRole
from laari.rules.people.persons import NewLogin
from laari.rules.records.bank import BankHoliday
from laari.rules.records.people import Membership, OperatorRole
from laari.rules.records.wallets import Tier
from laari.rules.refusals import Refusal, refuse
from laari.store.bank_statements import Ask
from laari.store.reads.people import memberships
from laari.store.reads.people.memberships import Member

# == Bank holidays ================================================================================


def _set_holiday(actor: Actor, day: date, name: str) -> SetHoliday:
    return SetHoliday(actor, BankHoliday(day, name))


SET_HOLIDAY: Operation[None] = Operation(
    "holiday.set",
    needs="payouts.run",
    fields=(
        Field("day", Day(), "Add or rename a holiday.", "on pages", typed="add"),
        Field("name", Text(100), "Name of the added holiday.", "on pages"),
    ),
    run=command(_set_holiday),
    done="The holiday is set. Banks do not pay on this day.",
    typed="payout holidays",
    about="Add a bank holiday, or give it another name.",
)


def _remove_holiday(actor: Actor, removed: date) -> RemoveHoliday:
    return RemoveHoliday(actor, removed)


REMOVE_HOLIDAY: Operation[None] = Operation(
    "holiday.remove",
    needs="payouts.run",
    fields=(Field("removed", Day(), "Remove a holiday.", "on pages", typed="remove"),),
    run=command(_remove_holiday),
    done="The holiday is removed.",
    typed="payout holidays",
    about="Remove a bank holiday.",
)

# == Tiers ========================================================================================


def _set_limits(actor: Actor, name: str, **limits: int | str | None) -> SetLimits:
    given = {
        limit: value if isinstance(value, int) else None  # for NO_LIMIT
        for limit, value in limits.items()
        if value is not None
    }
    return SetLimits(actor, name, given)


def _tier_shape(tier: Tier) -> Shape:
    return asdict(tier)


SET_TIER: Operation[None] = Operation(
    "tier.set",
    needs="tiers.change",
    fields=(
        Field("name", Text(40), positional=True),
        Field("per_transaction", Limit(), f"In laari; '{NO_LIMIT}' removes the limit.", "never"),
        *(
            Field(name, Limit(), f"In laari, or '{NO_LIMIT}'.", "never")
            for name in ("daily", "weekly", "monthly")
        ),
    ),
    run=command(_set_limits),
    shape=plain(_tier_shape),
    done="The limits of the tier are set.",
    about="""Set limits of a tier, or create one.

    Omitted limits stay as they are.
    """,
)

# == People of the operator =======================================================================


async def find_person(connection: Connection, email: str) -> Member | None:
    try:
        return await memberships.find_member(connection, None, email.strip().lower())
    except LaariError:
        return None


PERSON = Subject(
    "person",
    "",
    (Field("email", Text(254), positional=True),),
    find_person,
    "{email} does not log in to the operator's desk",
)
NOT_OWN = refuse("conflict", "Another admin has to change your own access.")


def _add_person(actor: Actor, email: str, role: OperatorRole, login: NewLogin) -> AddMember:
    return AddMember(actor=actor, place=None, email=email, role=role, till=None, login=login)


# Each face makes the log-in: one shows a password once, the other sends a link.
ADD_PERSON: Operation[None] = Operation(
    "operator.create",
    needs="operators.manage",
    fields=(
        Field("email", Email(), positional=True),
        Field("role", Choice(get_args(OperatorRole)), "The person's role."),
    ),
    run=command(_add_person),
    done="The person now has access to the desk with the existing password.",
    about="""Add a person to the operator and print the password.

    The password is not shown again, and the person changes it at the first login. A person who
    exists keeps the password, and `password` is null.
    """,
)


async def _set_role(context: Context, person: Member, role: OperatorRole) -> Membership | Refusal:
    if person.email == context.actor.name:
        return NOT_OWN
    return await context.submit(SetRole(context.actor, None, person.person_id.id, role))


async def _role_shape(ask: Ask, person: Member, changed: Membership) -> Shape:
    return {"email": person.email, "role": changed.role}


SET_ROLE = Operation(
    "operator.set-role",
    needs="operators.manage",
    subject=PERSON,
    fields=(Field("role", Choice(get_args(OperatorRole)), "The person's role."),),
    run=_set_role,
    shape=_role_shape,
    done="The role is changed.",
    about="Change the role of a person of the operator.",
)


async def _remove(context: Context, person: Member) -> int | Refusal:
    if person.email == context.actor.name:
        return NOT_OWN
    return await context.submit(RemoveMember(context.actor, None, person.person_id.id))


async def _removed_shape(ask: Ask, person: Member, ended: int) -> Shape:
    return {"email": person.email, "sessions_ended": ended}


REMOVE = Operation(
    "operator.remove",
    needs="operators.manage",
    subject=PERSON,
    fields=(),
    run=_remove,
    shape=_removed_shape,
    done="The person no longer has access to the desk.",
    about="""End a person's access to the operator's desk at once.

    Sessions end if the person works for nobody else.
    """,
)
