"""Logins and sessions: `laari merchant user`, `laari customer reset-password`, `laari session`."""

from typing import get_args
from uuid import UUID

import click

from laari.cli.merchants.merchants import merchant
from laari.cli.people.customers import customer
from laari.cli.terminal import fields
from laari.cli.terminal.declared import act, add_commands, subject_of
from laari.cli.terminal.operation import actor, database_operation, operation, submit
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import password_options, printed, refuse_weak_password
from laari.errors import LaariError
from laari.operations.customers import CUSTOMER, END_SESSIONS
from laari.operations.merchant_people import REMOVE, SET_ROLE, WITHDRAW_INVITATION
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.people.invitations import InvitePerson, Offer
from laari.rules.people.log_ins import EndSessions, ResetPassword
from laari.rules.people.memberships import AddMember, TransferOwnership
from laari.rules.people.permissions import MAX_TILL
from laari.rules.people.persons import NewLogin
from laari.rules.records.messages import Language
from laari.rules.records.people import CustomerId, MerchantRole, PersonId
from laari.store.merchants import merchants
from laari.store.people.passwords import hash_password, new_password
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads.people import customers, memberships, persons
from laari.store.reads.people.memberships import Member

_customer_id = fields.id_of(ids.CUSTOMER, "a customer id")


ROLES = click.Choice(get_args(MerchantRole))


@merchant.group()
def user() -> None:
    """People who log in to a merchant's dashboard."""


@user.command()
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@click.option("--role", type=ROLES, default="owner", show_default=True, help="The person's role.")
@click.option("--till", type=fields.text(MAX_TILL), help="The till of a cashier.")
@password_options
@operation
@needs("people.manage")
async def add(
    service: Service,
    merchant_id: str,
    email: str,
    role: MerchantRole,
    till: str | None,
    *,
    password: str | None,
) -> dict[str, object]:
    """Add a person to a merchant and print the password.

    The password is not shown again. The person changes it at the first login. A person who exists
    keeps the password, and `password` is null.
    """
    password = checked_or_new(password)
    login = NewLogin(hash_password(password), must_change=True)
    added = await submit(
        service,
        AddMember(actor=actor(), place=merchant_id, email=email, role=role, till=till, login=login),
    )
    return {
        "merchant_id": merchant_id,
        "email": email,
        "role": role,
        "till": till,
        "password": printed(password) if added.has_new_password else None,
    }


@user.command("list")
@click.argument("merchant_id")
@database_operation
@needs("people.manage")
async def list_users(connection: Connection, merchant_id: str) -> list[dict[str, object]]:
    """List a merchant's people, roles and sessions."""
    await merchants.show(connection, merchant_id)  # raises an error if there is none
    found = await memberships.list_members(connection, merchant_id)
    return [{"merchant_id": merchant_id, **shown_member(each)} for each in found]


def shown_member(member: Member) -> dict[str, object]:
    return {
        "email": member.email,
        "role": member.role,
        "till": member.till,
        "created_at": show_time(member.created_at),
        "last_seen_at": show_or_none(member.last_seen_at),
        "sessions": member.sessions,
    }


async def member_at(service: Service, place: str | None, email: str) -> UUID:
    """The id of a person of a merchant, or of the operator."""
    async with connection_to(service.dsn) as connection:
        return (await memberships.find_member(connection, place, email)).person_id.id


@user.command()
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@click.option("--role", type=ROLES, required=True, help="The person's role.")
@click.option("--till", type=fields.text(MAX_TILL), help="The till of a cashier.")
@click.option("--send", type=click.Choice(["en", "dv"]), help="Send it by email, in this language.")
@operation
@needs("people.manage")
async def invite(
    service: Service,
    merchant_id: str,
    email: str,
    role: MerchantRole,
    till: str | None,
    *,
    send: Language | None,
) -> dict[str, object]:
    """Invite a person to a merchant and print the link.

    The link works once, for 24 hours, and is not shown again.
    """
    if send is not None and "email" not in service.settings.channels:
        raise LaariError("this service cannot send emails: set LAARI_SMTP_URL, or forward the link")
    offer = Offer(email, role, till)
    made = await submit(service, InvitePerson(actor(), merchant_id, offer, language=send))
    return {
        "merchant_id": merchant_id,
        **offer._asdict(),
        "link": made.link,
        "expires_at": show_time(made.expires_at),
        "sent": made.is_sent,
    }


@user.command("transfer")
@click.argument("merchant_id")
@click.argument("giver", type=fields.email)
@click.argument("receiver", type=fields.email)
@operation
@needs("people.manage")
async def transfer(
    service: Service, merchant_id: str, giver: str, receiver: str
) -> dict[str, object]:
    """Make the receiver an owner and the giver a manager."""
    old, new = [await member_at(service, merchant_id, email) for email in (giver, receiver)]
    await submit(service, TransferOwnership(actor(), merchant_id, old, new))
    return {"merchant_id": merchant_id, "owner": receiver, "manager": giver}


add_commands(user, WITHDRAW_INVITATION, SET_ROLE, REMOVE)


@user.command("reset-password")
@click.argument("merchant_id")
@click.argument("email", type=fields.email)
@password_options
@operation
@needs("people.manage")
async def reset_user_password(
    service: Service, merchant_id: str, email: str, password: str | None
) -> dict[str, object]:
    """Set a user's new password and end all sessions.

    The password is not shown again. The person changes it at the next login.
    """
    password = checked_or_new(password)
    whose = PersonId(await member_at(service, merchant_id, email))
    ended = await submit(service, ResetPassword(actor(), whose, hash_password(password)))
    return {
        "merchant_id": merchant_id,
        "email": email,
        "password": printed(password),
        "sessions_ended": ended,
    }


@customer.command("reset-password")
@click.argument("customer_id", type=_customer_id)
@password_options
@operation
@needs("customers.change")
async def reset_customer_password(
    service: Service, customer_id: UUID, password: str | None
) -> dict[str, object]:
    """Set a customer's new password and end all sessions, passkeys, remembered devices and keys.

    The customer's programs need new keys, and the customer gets a message about it. The password
    is not shown again. A live customer changes it at the next login.
    """
    async with connection_to(service.dsn) as connection:
        is_live = await customers.mode_of(connection, customer_id) == "live"
    password = checked_or_new(password) if is_live else password or new_password()
    command = ResetPassword(actor(), CustomerId(customer_id), hash_password(password))
    return {
        "customer_id": ids.show_id(ids.CUSTOMER, customer_id),
        "password": printed(password),
        "sessions_ended": await submit(service, command),
    }


@click.group()
def session() -> None:
    """Browser sessions of merchants' users and of customers."""


@session.command()
@click.option("--email", type=fields.email, help="Email of a merchant's user.")
@click.option("--customer", "customer_id", type=_customer_id, help="Id of a customer.")
@operation
@needs(END_SESSIONS.needs)
async def end(service: Service, email: str | None, customer_id: UUID | None) -> dict[str, object]:
    """End all sessions of a merchant's user or of a customer.

    The password stays the same. If it was stolen, use reset-password.
    """
    if customer_id is not None and email is None:
        shown = {"customer_id": ids.show_id(ids.CUSTOMER, customer_id)}
        holder = await subject_of(service, CUSTOMER, customer=shown["customer_id"])
        ended = await act(service, END_SESSIONS, holder, {})
    elif email is not None and customer_id is None:
        shown = {"email": email}
        ended = await submit(service, EndSessions(actor(), await person_at(service, email)))
    else:
        raise LaariError("use one of --email (a merchant's user) and --customer (an id)")
    return {**shown, "sessions_ended": ended}


async def person_at(service: Service, email: str) -> PersonId:
    async with connection_to(service.dsn) as connection:
        found = await persons.find(connection, email)
    if found is None:
        raise LaariError(f"{email} does not log in to any merchant")
    return found


def checked_or_new(password: str | None) -> str:
    if password is None:
        return new_password()
    refuse_weak_password(password)
    return password
