"""The rules of notes, identity data, languages and wallet keys, without a database."""

import os
from dataclasses import replace as replaced
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.journal import SETTINGS, state
from laari.rules.limits.keys_and_rates import WALLET_KEYS
from laari.rules.people.customers import AddNote, SetLanguage
from laari.rules.people.identities import (
    EnterIdentity,
    Identity,
    RemoveIdentity,
    ViewIdentity,
)
from laari.rules.people.log_ins import EndSessions, ResetPassword, SetPassword
from laari.rules.people.remembered_devices import ForgetDevices
from laari.rules.people.wallet_keys import PURPOSE, CreateWalletKey, RevokeWalletKey
from laari.rules.records.people import Customer, CustomerId, KeyCounts, LogIn, WalletKey
from laari.rules.records.wallets import Wallet
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.test_password_links import AISHA
from tests.rules.test_second_factors import KEYS

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
ACCOUNT = 7_700_000_000_001
DAY = date(1970, 1, 1)
WALLET = Wallet(ACCOUNT, AISHA.id, "live", "basic", 0, DAY, 0, DAY, 0, DAY, 0)
IDENTITY = Identity("passport", "A1", date(1990, 1, 1), "Malé")
OWN = Actor("customer", "cus_7")
THEMSELVES = Actor("customer", show_id(CUSTOMER, AISHA.id))
SUPPORT = Actor("operator", "s@laari.mv", "support")
FINANCE = Actor("operator", "f@laari.mv", "finance")
TABLES = ("customers", "identities", "wallet_keys")


SESSION = b"session"


def creating(before: int) -> CreateWalletKey:
    return CreateWalletKey(OWN, AISHA.id, ACCOUNT, "Till", before, session=SESSION)


class Book:
    """One customer with a wallet, as the steps before left them."""

    def __init__(self, customer: Customer = AISHA) -> None:
        self.rows: dict[str, dict[Any, Any]] = {name: {} for name in TABLES}
        self.rows["customers"][customer.id] = customer
        self.wallet = replace(WALLET, mode=customer.mode)
        self.shops = {} if customer.sandbox_of is None else {customer.id: "mer_shop"}
        self.entries: list[Any] = []
        self.notes: list[Any] = []
        self.messages: list[Any] = []
        self.now = NOW
        self.logged_in = True

    @property
    def keys(self) -> list[WalletKey]:
        return [*self.rows["wallet_keys"].values()]

    def world(self) -> World:
        channels = frozenset({"email", "sms"})
        world = World(self.now, "http://laari.test", os.urandom, channels, KEYS)
        for name, rows in self.rows.items():
            for key, row in rows.items():
                getattr(world, name).lock(key, row)
        world.wallets.lock(ACCOUNT, self.wallet)
        world.sandbox_shops.update(self.shops)
        world.log_ins_of[AISHA.id] = world.passkeys_of[AISHA.id] = frozenset()
        world.devices_of[AISHA.id] = frozenset()
        if self.logged_in:
            world.log_ins_of[AISHA.id] = frozenset({SESSION})
            world.log_ins.lock(SESSION, LogIn(SESSION, AISHA.id, None, []))
        usable = sum(each.revoked_at is None for each in self.keys)
        world.wallet_keys_of[AISHA.id] = frozenset(
            each.digest for each in self.keys if each.revoked_at is None
        )
        world.wallet_key_counts[ACCOUNT] = KeyCounts(len(self.keys), usable)
        return world

    def run(self, *commands: Any) -> Any:
        """The outcome of the last one; all are decided in one batch."""
        world = self.world()
        outcome = [command.decide(world) for command in commands][-1]
        for name in TABLES:
            rows = getattr(world, name)
            self.rows[name] |= rows.added | rows.changed
            for key in rows.removed:
                del self.rows[name][key]
        self.entries += world.journal
        self.notes += world.customer_notes
        self.messages += world.messages
        return outcome

    def create(self, made_before: int | None = None) -> Any:
        before = len(self.keys) if made_before is None else made_before
        return self.run(creating(before))

    def revoke(self, number: int = 0, account: int = ACCOUNT) -> Any:
        digest = self.keys[number].digest if number < len(self.keys) else b"none"
        return self.run(RevokeWalletKey(OWN, AISHA.id, account, digest))


STEPS = {
    "create": lambda book, number: book.create(),
    "revoke": lambda book, number: book.revoke(number),
    "dhivehi": lambda book, number: book.run(SetLanguage(OPERATOR, AISHA.id, "dv")),
    "english": lambda book, number: book.run(SetLanguage(OPERATOR, AISHA.id, "en")),
    "enter": lambda book, number: book.run(EnterIdentity(OPERATOR, AISHA.id, IDENTITY, "New")),
    "view": lambda book, number: book.run(ViewIdentity(OPERATOR, AISHA.id, "Asked")),
    "remove": lambda book, number: book.run(RemoveIdentity(OPERATOR, AISHA.id, "Asked")),
}


@given(
    st.lists(st.tuples(st.sampled_from([*STEPS]), st.integers(0, 3)), max_size=20),
    st.booleans(),
)
def test_in_any_order_the_journal_is_complete(steps: list[Any], in_sandbox: bool) -> None:
    customer = replace(AISHA, mode="sandbox", sandbox_of=1) if in_sandbox else AISHA
    book = Book(customer)
    for step, number in steps:
        STEPS[step](book, number)
    for name in TABLES:
        for record in book.rows[name].values():
            setting = SETTINGS[type(record)]
            entries = [
                each
                for each in book.entries
                if (each.object_type, each.object_id)
                == (setting.object_type, setting.object_id(record))
            ]
            for before, after in pairwise(entries):
                assert after.before == before.after
            if entries:
                assert json.decode(entries[-1].after) == json.decode(json.encode(state(record)))
            owner = "mer_shop" if in_sandbox else None
            assert {(each.merchant_id, each.mode) for each in entries} <= {(owner, customer.mode)}


def test_one_form_makes_one_key_and_only_its_digest_is_kept() -> None:
    book = Book()
    secret = book.create(0)
    assert [each.digest for each in book.keys] == [KEYS.digest(PURPOSE, secret)]
    assert secret not in str(book.entries)
    assert "no other key" in book.create(0).message
    both = [creating(1) for _ in range(2)]
    assert isinstance(book.run(*both), Refusal)
    assert len(book.keys) == 2


def test_a_wallet_has_a_number_of_usable_keys() -> None:
    book = Book()
    for _ in range(WALLET_KEYS):
        assert isinstance(book.create(), str)
    assert "the maximum" in book.create().message
    assert book.revoke() is True
    assert book.revoke() is False
    assert isinstance(book.create(), str)
    assert "the maximum" in book.create().message


def test_a_key_of_another_wallet_stays() -> None:
    book = Book()
    book.create()
    assert book.revoke(account=ACCOUNT + 1) is False
    assert book.keys[0].revoked_at is None


def test_a_customer_is_told_of_a_new_key_and_of_its_end() -> None:
    book = Book()
    book.create()
    book.revoke()
    book.revoke()
    assert [each.kind for each in book.messages] == ["key_created", "key_revoked"]


@pytest.mark.parametrize("how", ["own", "operator", "everywhere", "sessions"])
def test_a_new_password_and_logging_out_everywhere_end_all_keys(how: str) -> None:
    book, whose = Book(replace(AISHA, password_first=how == "operator")), CustomerId(AISHA.id)
    book.create()
    book.create()
    book.now += timedelta(minutes=1)
    book.run(
        {
            "own": SetPassword(THEMSELVES, whose, "new", AISHA.password_hash),
            "operator": ResetPassword(OPERATOR, whose, "new"),
            "everywhere": ForgetDevices(THEMSELVES, AISHA.id),
            "sessions": EndSessions(OPERATOR, whose),
        }[how]
    )
    assert all(each.revoked_at == book.now for each in book.keys)
    assert [each.kind for each in book.messages] == [*["key_created"] * 2, "key_revoked"]
    assert book.messages[-1].parameters.count(b"Till") == 2


def test_the_end_of_devices_by_the_operator_leaves_keys() -> None:
    book = Book()
    book.create()
    book.run(ForgetDevices(OPERATOR, AISHA.id))
    assert book.keys[0].revoked_at is None


def test_a_first_key_survives_the_change_of_the_first_password_once() -> None:
    """The operator handed out both; a key that was made with this password meanwhile ends."""
    book = Book(replace(AISHA, password_first=True, created_at=NOW))
    book.create()
    book.now += timedelta(minutes=1)
    book.create()
    change = SetPassword(THEMSELVES, CustomerId(AISHA.id), "new", AISHA.password_hash)
    book.run(change)
    assert [each.revoked_at is None for each in book.keys] == [True, False]
    book.run(replaced(change, password_hash="newer", verified="new"))
    assert [each.revoked_at is None for each in book.keys] == [False, False]


def test_keys_of_a_sandbox_customer_stay() -> None:
    book = Book(replace(AISHA, mode="sandbox", sandbox_of=1))
    book.create()
    book.run(SetPassword(THEMSELVES, CustomerId(AISHA.id), "new", AISHA.password_hash))
    book.run(ForgetDevices(THEMSELVES, AISHA.id))
    assert (book.keys[0].revoked_at, book.messages) == (None, [])


def test_a_session_that_a_new_password_ended_makes_no_key() -> None:
    book = Book()
    book.logged_in = False
    assert book.create().code == "not_found"
    assert book.keys == []


def test_identity_data_is_shown_with_an_entry_that_has_none_of_it() -> None:
    book = Book()
    view = ViewIdentity(OPERATOR, AISHA.id, "Asked")
    assert "no identity data" in book.run(view).message
    book.run(EnterIdentity(OPERATOR, AISHA.id, IDENTITY, "New"))
    assert book.run(view) == IDENTITY
    assert [each.action for each in book.entries] == ["identity.enter", "identity.view"]
    assert "A1" not in str(book.entries)
    remove = RemoveIdentity(OPERATOR, AISHA.id, "Asked")
    assert not isinstance(book.run(remove), Refusal)
    assert "no identity data" in book.run(remove).message
    assert "no identity data" in book.run(view).message


def test_identity_data_of_another_customer_does_not_open() -> None:
    book = Book()
    book.run(EnterIdentity(OPERATOR, AISHA.id, IDENTITY, "New"))
    [kept] = book.rows["identities"].values()
    book.rows["identities"] = {AISHA.id: replace(kept, encrypted=b"another context\n{}")}
    count = len(book.entries)
    assert "does not open" in book.run(ViewIdentity(OPERATOR, AISHA.id, "Asked")).message
    assert len(book.entries) == count


def test_a_sandbox_customer_of_a_merchant_has_no_identity() -> None:
    book = Book(replace(AISHA, mode="sandbox", sandbox_of=1))
    refused = book.run(EnterIdentity(OPERATOR, AISHA.id, IDENTITY, "New"))
    assert "has no log-in" in refused.message


def test_a_note_names_its_author() -> None:
    book = Book()
    book.run(AddNote(SUPPORT, AISHA.id, "Called"))
    assert [(each.author, each.text, each.time) for each in book.notes] == [
        (SUPPORT.name, "Called", NOW)
    ]
    entry = book.entries[-1]
    assert (entry.action, entry.actor_name, entry.time) == ("customer.note", SUPPORT.name, NOW)
    assert "Called" not in str(entry.after)


@pytest.mark.parametrize(
    ("actor", "may"), [(OPERATOR, True), (SUPPORT, True), (FINANCE, False), (OWN, False)]
)
def test_the_role_of_the_actor_decides(actor: Actor, may: bool) -> None:
    book = Book()
    book.run(EnterIdentity(OPERATOR, AISHA.id, IDENTITY, "New"))
    for command in (
        AddNote(actor, AISHA.id, "Called"),
        SetLanguage(actor, AISHA.id, "dv"),
        EnterIdentity(actor, AISHA.id, IDENTITY, "New"),
        ViewIdentity(actor, AISHA.id, "Asked"),
        RemoveIdentity(actor, AISHA.id, "Asked"),
    ):
        assert isinstance(book.run(command), Refusal) != may, command


def test_customers_set_only_their_own_language() -> None:
    own, other = (Actor("customer", show_id(CUSTOMER, id)) for id in (AISHA.id, UUID(int=9)))
    assert not isinstance(Book().run(SetLanguage(own, AISHA.id, "dv")), Refusal)
    assert isinstance(Book().run(SetLanguage(other, AISHA.id, "dv")), Refusal)


def test_nobody_has_no_notes_and_no_language() -> None:
    nobody = UUID(int=9)
    for command in (AddNote(OPERATOR, nobody, "Called"), SetLanguage(OPERATOR, nobody, "dv")):
        assert "has no log-in" in Book().run(command).message
