"""The rules of memberships and invitations without a database, in every order of steps."""

import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from laari.rules.actors import Actor
from laari.rules.journal import SETTINGS, state
from laari.rules.limits.invitations import INVITATION_LIFE
from laari.rules.people.invitations import (
    LINK,
    AcceptInvitation,
    InvitePerson,
    Offer,
    WithdrawInvitation,
)
from laari.rules.people.memberships import (
    FIRST_IS_OWNER,
    AddMember,
    EndSessionsAt,
    RemoveMember,
    SetRole,
    TransferOwnership,
)
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import LogIn
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import KEYS, a_merchant

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
SHOP = "mer_shop"
EMAILS = ("a@shop.mv", "b@shop.mv", "c@shop.mv")
TABLES = ("persons", "memberships", "invitations", "second_factors", "log_ins")


class Book:
    """A shop, its people and its invitations, as the steps before left them."""

    def __init__(self) -> None:
        self.now = NOW
        self.rows: dict[str, dict[Any, Any]] = {name: {} for name in TABLES}
        self.links: dict[str, str] = {}  # the token of the last invitation of an address
        self.entries: list[Any] = []
        self.messages: list[Any] = []

    def world(self) -> World:
        world = World(self.now, "http://laari.test", os.urandom, frozenset({"email"}), KEYS)
        world.merchant_settings.lock(SHOP, a_merchant(SHOP))
        for name, rows in self.rows.items():
            for key, row in rows.items():
                getattr(world, name).lock(key, row)
        people = self.rows["persons"].values()
        world.person_ids.update({each.email: each.id for each in people})
        world.log_ins_of.update(
            {
                each.id: frozenset(
                    key for key, row in self.rows["log_ins"].items() if row.person_id == each.id
                )
                for each in people
            }
        )
        world.places.update({each.id: {} for each in people})
        for place in (SHOP, None):
            world.members[place] = {}
        for person_id, place in self.rows["memberships"]:
            world.members[place][self.rows["persons"][person_id].email] = person_id
            world.places[person_id][place] = place is None
        world.invited[SHOP] = {email for _, email in self.rows["invitations"]}
        invitations = self.rows["invitations"].items()
        world.invitation_links.update({row.digest: key for key, row in invitations})
        sent = [each.created_at for each in self.messages]
        world.invitation_mails.update(dict.fromkeys(EMAILS, tuple(sent)))
        return world

    def run(self, command: Any) -> Any:
        world = self.world()
        outcome = command.decide(world)
        for name in TABLES:
            rows = getattr(world, name)
            self.rows[name] |= rows.added | rows.changed
            for key in rows.removed:
                del self.rows[name][key]
        self.entries += world.journal
        self.messages += world.messages
        return outcome

    def id_of(self, email: str) -> UUID:
        found = (each.id for each in self.rows["persons"].values() if each.email == email)
        return next(found, UUID(int=0))

    def log_in(self, email: str) -> None:
        digest = os.urandom(32)
        self.rows["log_ins"][digest] = LogIn(digest, None, self.id_of(email), [])

    @property
    def roles(self) -> dict[str, str]:
        persons = self.rows["persons"]
        found = self.rows["memberships"].items()
        return {persons[key[0]].email: row.role for key, row in found if key[1] == SHOP}


def add(email: str, role: Any = "owner", actor: Actor = OPERATOR) -> AddMember:
    till = "1" if role == "cashier" else None
    return AddMember(actor, SHOP, email, role, till, NewLogin(f"hash of {email}"))


def invite(book: Book, email: str, by: str | None, role: Any = "owner") -> Any:
    """`by` None is the operator."""
    actor = OPERATOR if by is None else Actor("person", by)
    person_id = None if by is None else book.id_of(by)
    invited = book.run(InvitePerson(actor, SHOP, Offer(email, role), person_id))
    if not isinstance(invited, Refusal):
        book.links[email] = invited.link.rpartition("/")[2]
    return invited


def digest_of(token: str) -> bytes:
    return f"{LINK} {token}".encode()


def accept(book: Book, email: str) -> Any:
    digest = digest_of(book.links.get(email, "none"))
    return book.run(AcceptInvitation(Actor("person", email), digest, None, "hash"))


Two = st.tuples(st.sampled_from(EMAILS), st.sampled_from(EMAILS))
STEPS = {
    "add": lambda book, who, by: book.run(add(who, "manager", Actor("person", by))),
    "demote": lambda book, who, by: book.run(
        SetRole(Actor("person", by), SHOP, book.id_of(who), "accountant")
    ),
    "promote": lambda book, who, by: book.run(SetRole(OPERATOR, SHOP, book.id_of(who), "owner")),
    "remove": lambda book, who, by: book.run(
        RemoveMember(Actor("person", by), SHOP, book.id_of(who))
    ),
    "end": lambda book, who, by: book.run(
        RemoveMember(OPERATOR, SHOP, book.id_of(who), may_be_last=True)
    ),
    "transfer": lambda book, who, by: book.run(
        TransferOwnership(Actor("person", by), SHOP, book.id_of(by), book.id_of(who))
    ),
    "invite": invite,
    "invite a manager": lambda book, who, by: invite(book, who, by, "manager"),
    "invite by the operator": lambda book, who, by: invite(book, who, None, "manager"),
    "withdraw": lambda book, who, by: book.run(WithdrawInvitation(OPERATOR, SHOP, who)),
    "accept": lambda book, who, by: accept(book, who),
}


@given(st.lists(st.tuples(st.sampled_from([*STEPS]), Two), max_size=15))
def test_in_any_order_an_owner_stays_and_the_journal_is_complete(
    steps: list[tuple[str, tuple[str, str]]],
) -> None:
    book = Book()
    book.run(add(EMAILS[0]))
    for step, (who, by) in steps:
        before = {name: dict(rows) for name, rows in book.rows.items()}
        outcome = STEPS[step](book, who, by)
        if isinstance(outcome, Refusal):
            assert book.rows == before
    roles = book.roles
    assert not roles or "owner" in roles.values()
    # An open invitation has an inviter who is an owner now.
    for invitation in book.rows["invitations"].values():
        inviter = invitation.invited_by  # none is the operator
        assert inviter is None or book.rows["memberships"][inviter, SHOP].role == "owner"
    # Nobody is left without a place.
    assert {key[0] for key in book.rows["memberships"]} == book.rows["persons"].keys()
    # The last entry of each object is its state, and each begins where the one before ended.
    for name in ("persons", "memberships", "invitations"):
        for record in book.rows[name].values():
            setting = SETTINGS[type(record)]
            object_id = setting.object_id(record)
            entries = [
                each
                for each in book.entries
                if (each.object_type, each.object_id) == (setting.object_type, object_id)
            ]
            for earlier, later in pairwise(entries):
                assert later.before == earlier.after
            noted = json.decode(entries[-1].after)
            assert noted.items() >= json.decode(json.encode(state(record))).items()


def test_a_manager_whom_the_operator_invited_is_not_the_first_person() -> None:
    """All others left while the invitation was open."""
    book = Book()
    book.run(add(EMAILS[0]))
    assert not isinstance(invite(book, EMAILS[1], None, "manager"), Refusal)
    gone = RemoveMember(OPERATOR, SHOP, book.id_of(EMAILS[0]), may_be_last=True)
    assert not isinstance(book.run(gone), Refusal)
    assert accept(book, EMAILS[1]).message == FIRST_IS_OWNER
    assert book.roles == {}
    book.run(add(EMAILS[2]))
    assert not isinstance(accept(book, EMAILS[1]), Refusal)
    assert book.roles == {EMAILS[1]: "manager", EMAILS[2]: "owner"}


@pytest.mark.parametrize("role", ["manager", "support", "finance", None])
def test_only_an_owner_or_an_admin_changes_people(role: Any) -> None:
    book = Book()
    book.run(add(EMAILS[0]))
    book.run(add(EMAILS[1], "manager"))
    owner, other = map(book.id_of, EMAILS[:2])
    before = {name: dict(rows) for name, rows in book.rows.items()}
    for stranger in (
        Actor("operator", "eve@laari.test", role),
        Actor("person", EMAILS[1], "owner"),  # the role of the request has been lost
        Actor("person", "eve@laari.test", "owner"),
    ):
        for command in (
            add(EMAILS[2], "manager", stranger),
            SetRole(stranger, SHOP, other, "owner"),
            TransferOwnership(stranger, SHOP, owner, other),
            RemoveMember(stranger, SHOP, other),
            EndSessionsAt(stranger, SHOP, other),
            InvitePerson(stranger, SHOP, Offer(EMAILS[2], "owner")),
            WithdrawInvitation(stranger, SHOP, EMAILS[2]),
        ):
            assert book.run(command).status == 403, command
    assert book.rows == before


def test_a_person_goes_with_the_last_place_and_the_sessions_end() -> None:
    book = Book()
    book.run(add(EMAILS[0]))
    book.run(add(EMAILS[1], "manager"))
    person_id = book.id_of(EMAILS[1])
    login = NewLogin("unused")
    book.run(AddMember(OPERATOR, None, EMAILS[1], "support", None, login))
    book.log_in(EMAILS[1])
    assert book.run(RemoveMember(OPERATOR, SHOP, person_id)) == 0
    assert book.run(RemoveMember(OPERATOR, None, person_id)) == 1
    assert person_id not in book.rows["persons"]
    assert book.rows["log_ins"] == {}


def test_sessions_end_for_one_merchant_once() -> None:
    book = Book()
    book.run(add(EMAILS[0]))
    book.log_in(EMAILS[0])
    command = EndSessionsAt(OPERATOR, SHOP, book.id_of(EMAILS[0]))
    assert [book.run(command), book.run(command)] == [1, 0]
    [session] = book.rows["log_ins"].values()
    assert session.ended_for == [SHOP]
    assert [each.action for each in book.entries].count("sessions.end") == 1


def test_an_expired_link_and_a_replaced_one_open_nothing() -> None:
    book = Book()
    book.run(add(EMAILS[0]))
    invite(book, EMAILS[1], EMAILS[0])
    old = book.links[EMAILS[1]]
    invite(book, EMAILS[1], EMAILS[0])
    stranger = Actor("person", EMAILS[1])
    replaced = AcceptInvitation(stranger, digest_of(old), None, "hash")
    assert book.run(replaced).status == 404
    book.now += INVITATION_LIFE
    assert accept(book, EMAILS[1]).status == 404
    book.now -= timedelta(seconds=1)
    assert not isinstance(accept(book, EMAILS[1]), Refusal)


@pytest.mark.parametrize(
    ("place", "role", "till"),
    [
        (SHOP, "admin", None),
        (None, "owner", None),
        (SHOP, "cashier", None),
        (SHOP, "manager", "1"),
        (SHOP, "cashier", "12345678901"),
    ],
)
def test_a_role_fits_its_place_and_only_a_cashier_has_a_till(
    place: str | None, role: Any, till: str | None
) -> None:
    book = Book()
    book.run(add(EMAILS[0]))
    refused = book.run(AddMember(OPERATOR, place, EMAILS[1], role, till, NewLogin("hash")))
    assert (refused.status, refused.field) == (
        400,
        "till" if role in ("cashier", "manager") else "role",
    )
