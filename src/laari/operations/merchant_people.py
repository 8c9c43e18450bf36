"""What the operator and a shop's owners do with the people of a merchant."""

from typing import NamedTuple, get_args

from asyncpg import Connection

from laari.errors import LaariError
from laari.operations.fields import Choice, Email, Field, Text
from laari.operations.merchants import MERCHANT
from laari.operations.operation import Context, Operation, Shape, Subject, command
from laari.rules.actors import Actor
from laari.rules.people.invitations import WithdrawInvitation
from laari.rules.people.memberships import RemoveMember, SetRole
from laari.rules.people.permissions import MAX_TILL
from laari.rules.records.people import Invitation, Membership, MerchantRole
from laari.store.bank_statements import Ask
from laari.store.merchants.merchants import Merchant
from laari.store.reads.people import memberships
from laari.store.reads.people.memberships import Member


class MemberOf(NamedTuple):
    merchant_id: str
    member: Member


async def find(connection: Connection, merchant_id: str, email: str) -> MemberOf | None:
    try:
        return MemberOf(merchant_id, await memberships.find_member(connection, merchant_id, email))
    except LaariError:
        return None


MEMBER = Subject(
    "member",
    "",
    (*MERCHANT.fields, Field("email", Email(), positional=True)),
    find,
    "{email} does not log in to {merchant_id}",
)


def _set_role(actor: Actor, person: MemberOf, role: MerchantRole, till: str | None) -> SetRole:
    return SetRole(actor, person.merchant_id, person.member.person_id.id, role, till)


async def _role_shape(ask: Ask, person: MemberOf, changed: Membership) -> Shape:
    return {
        "merchant_id": person.merchant_id,
        "email": person.member.email,
        "role": changed.role,
        "till": changed.till,
    }


SET_ROLE = Operation(
    "user.set-role",
    needs="people.manage",
    subject=MEMBER,
    fields=(
        Field("role", Choice(get_args(MerchantRole)), "The person's new role."),
        Field("till", Text(MAX_TILL), "The till of a cashier.", "never"),
    ),
    run=command(_set_role),
    shape=_role_shape,
    done="The role is changed.",
    typed="merchant user set-role",
    about="Change a person's role at a merchant. A merchant always has an owner.",
)


async def _remove(context: Context, person: MemberOf) -> object:
    return await context.submit(
        RemoveMember(
            context.actor,
            person.merchant_id,
            person.member.person_id.id,
            may_be_last=context.actor.is_operator,  # such as of a shop that has closed
        )
    )


async def _removed_shape(ask: Ask, person: MemberOf, ended: int) -> Shape:
    return {
        "merchant_id": person.merchant_id,
        "email": person.member.email,
        "sessions_ended": ended,
    }


REMOVE = Operation(
    "user.remove",
    needs="people.manage",
    subject=MEMBER,
    fields=(),
    run=_remove,
    shape=_removed_shape,
    done="The person is removed.",
    typed="merchant user remove",
    about="""End a person's access to a merchant at once.

    Sessions end if the person works for nobody else.
    """,
)


def _withdraw(actor: Actor, merchant: Merchant, email: str) -> WithdrawInvitation:
    return WithdrawInvitation(actor, merchant.id, email)


async def _withdrawn_shape(ask: Ask, merchant: Merchant, ended: Invitation) -> Shape:
    return {"merchant_id": merchant.id, "email": ended.email}


WITHDRAW_INVITATION = Operation(
    "user.withdraw-invitation",
    needs="people.manage",
    subject=MERCHANT,
    fields=(Field("email", Email(), positional=True),),
    run=command(_withdraw),
    shape=_withdrawn_shape,
    done="The invitation is withdrawn. Its link no longer works.",
    typed="merchant user withdraw-invitation",
    about="End an open invitation.",
)
