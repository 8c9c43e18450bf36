"""People in tests: their commands, decided in a transaction of the test's connection."""

from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.needs import Needs
from laari.rules.people.invitations import (
    AcceptInvitation,
    Invited,
    InvitePerson,
    Joined,
    Offer,
    WithdrawInvitation,
)
from laari.rules.people.memberships import (
    AddMember,
    EndSessionsAt,
    RemoveMember,
    SetRole,
    TransferOwnership,
)
from laari.rules.people.persons import NewLogin
from laari.rules.records.messages import Language
from laari.rules.records.people import Invitation, PersonId
from laari.rules.refusals import Refusal
from laari.store.batch.load import load
from laari.store.batch.save import save
from laari.store.reads.people import invitations
from laari.store.secrets import keys_of
from tests.actors import MASTER

T = TypeVar("T")

ORIGIN = "http://laari.test"


class RefusedError(Exception):
    """A command was refused; the message is that of the refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Added(NamedTuple):
    id: PersonId
    has_new_password: bool


async def decided(
    connection: Connection,
    command: Command[T],
    now: datetime | None = None,
    master: bytes = MASTER,
    channels: frozenset[str] = frozenset({"email"}),
) -> T:
    needs = Needs()
    command.needs(needs)
    async with connection.transaction():
        world = await load(
            connection,
            needs,
            ORIGIN,
            lambda: now or datetime.now(UTC),
            channels,
            keys=keys_of(master),
        )
        outcome = command.decide(world)
        await save(connection, world)
    if isinstance(outcome, Refusal):
        raise RefusedError(outcome)
    return outcome


async def add(
    connection: Connection,
    actor: Actor,
    place: str | None,
    email: str,
    role: Any,
    till: str | None,
    login: NewLogin,
) -> Added:
    added = await decided(connection, AddMember(actor, place, email, role, till, login))
    return Added(PersonId(added.id), added.has_new_password)


async def set_role(
    connection: Connection, actor: Actor, place: str | None, whose: PersonId, role: Any
) -> None:
    await decided(connection, SetRole(actor, place, whose.id, role))


async def transfer_ownership(
    connection: Connection, actor: Actor, place: str, giver: PersonId, receiver: PersonId
) -> None:
    await decided(connection, TransferOwnership(actor, place, giver.id, receiver.id))


async def remove(
    connection: Connection,
    actor: Actor,
    place: str | None,
    whose: PersonId,
    *,
    may_be_last: bool = False,
) -> int:
    return await decided(connection, RemoveMember(actor, place, whose.id, may_be_last))


async def end_sessions(connection: Connection, actor: Actor, place: str, whose: PersonId) -> int:
    return await decided(connection, EndSessionsAt(actor, place, whose.id))


async def invite(
    connection: Connection,
    actor: Actor,
    master: bytes,
    place: str,
    offer: Offer,
    now: datetime,
    *,
    by: PersonId | None = None,
    language: Language | None = None,
) -> Invited:
    command = InvitePerson(actor, place, offer, None if by is None else by.id, language)
    return await decided(connection, command, now, master)


def token_of(invited: Invited) -> str:
    return invited.link.rpartition("/")[2]


async def withdraw(
    connection: Connection, actor: Actor, place: str, email: str
) -> Invitation | None:
    return await decided(connection, WithdrawInvitation(actor, place, email))


async def accept(
    connection: Connection,
    actor: Actor,
    master: bytes,
    token: str,
    now: datetime,
    *,
    person: PersonId | None = None,
    password_hash: str | None = None,
) -> Joined:
    digest = invitations.of_link(master, token)
    person_id = None if person is None else person.id
    command = AcceptInvitation(actor, digest, person_id, password_hash)
    return await decided(connection, command, now, master)
