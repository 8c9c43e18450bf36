"""The rules of remembered devices: who adds and ends them, and what they pay on a day."""

import hashlib
import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from laari.rules.actors import Actor, Payer
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.limits.remembered_devices import REMEMBERED_DEVICE_LIFE, REMEMBERED_DEVICES
from laari.rules.master_key import Keys
from laari.rules.payments.device_payments import NOT_REMEMBERED, TOO_MUCH, PayWithDevice
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.people.log_ins import EndSessions, ResetPassword, SetPassword
from laari.rules.people.remembered_devices import (
    CHANGED,
    MAX_NAME,
    NO_SANDBOX,
    OFF,
    ForgetDevice,
    ForgetDevices,
    RememberDevice,
    Remembered,
)
from laari.rules.records.merchants import MerchantActivity
from laari.rules.records.payments import Payment
from laari.rules.records.people import (
    Customer,
    CustomerId,
    DeviceDay,
    DevicePayment,
    RememberedDevice,
)
from laari.rules.records.tenants import Tenant
from laari.rules.records.wallets import Tier, Wallet
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import ACCOUNT, NEVER
from tests.rules.test_contact_changes import AISHA

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
DAY = timedelta(days=1)
SHOP = Tenant(1, "mer_1", "Shop", "live", 0, 0, 0, 1, True)
OWN = Actor("customer", show_id(CUSTOMER, AISHA.id))
OTHER = Actor("customer", show_id(CUSTOMER, UUID(int=9)))
SUPPORT = Actor("operator", "s@laari.mv", "support")
FINANCE = Actor("operator", "f@laari.mv", "finance")
LIMIT = 10_000


def digest(purpose: str, value: str) -> bytes:
    return hashlib.sha256(f"{purpose} {value}".encode()).digest()


KEYS = Keys(lambda text, context: text, digest, lambda stored, context: stored)


class Book:
    """One customer with a wallet and devices, and a shop, as the steps before left them."""

    def __init__(self, customer: Customer = AISHA, balance: int = 1_000_000) -> None:
        self.now = NOW
        self.customer = customer
        spent = (NEVER, 0, NEVER, 0, NEVER, 0)
        self.wallet = Wallet(ACCOUNT, AISHA.id, "live", "business", balance, *spent)
        self.devices: dict[UUID, RememberedDevice] = {}
        self.payments: dict[UUID, Payment] = {}
        self.paid: list[DevicePayment] = []
        self.entries: list[Any] = []
        self.messages: list[Any] = []
        self.failed: list[Any] = []

    def world(self) -> World:
        channels = frozenset({"email", "sms"})
        world = World(self.now, "http://laari.test", os.urandom, channels, KEYS)
        world.customers.lock(AISHA.id, self.customer)
        world.log_ins_of[AISHA.id] = frozenset()
        world.passkeys_of[AISHA.id] = frozenset()
        world.wallet_keys_of[AISHA.id] = frozenset()
        world.devices_of[AISHA.id] = frozenset(each.id for each in self.usable)
        for device in self.devices.values():
            world.remembered_devices.lock(device.id, device)
        world.merchants.show("mer_1", MerchantActivity("mer_1", True))
        world.tiers = {"business": Tier("business", None, None, None, None)}
        world.wallets.lock(ACCOUNT, self.wallet)
        for payment in self.payments.values():
            world.payments.lock(payment.id, payment)
        if self.paid:
            last = max(each.day for each in self.paid)
            spent = sum(each.amount for each in self.paid if each.day == last)
            world.device_days[AISHA.id] = DeviceDay(last, spent)
        return world

    def run(self, *commands: Any) -> list[Any]:
        """All are decided in one batch."""
        world = self.world()
        outcomes = [command.decide(world) for command in commands]
        self.devices |= world.remembered_devices.added | world.remembered_devices.changed
        self.payments |= world.payments.added | world.payments.changed
        self.customer = world.customers.changed.get(AISHA.id, self.customer)
        self.wallet = world.wallets[ACCOUNT]
        self.paid += world.device_payments
        self.entries += world.journal
        self.messages += world.messages
        self.failed += [each for each in world.transactions if each.status == "failed"]
        return outcomes

    @property
    def usable(self) -> list[RememberedDevice]:
        return [each for each in self.devices.values() if each.ended_at is None]

    def remember(self, **changes: Any) -> Any:
        fields = {
            "actor": OWN,
            "customer_id": AISHA.id,
            "name": "Phone",
            "verified": self.customer.password_hash,
            "daily_limit": LIMIT,
        }
        return self.run(RememberDevice(**{**fields, **changes}))[0]

    def paying(self, amount: int, device: RememberedDevice, **changes: Any) -> PayWithDevice:
        """The command that pays a new payment of the shop."""
        draft = PaymentDraft(f"order {len(self.payments)}", amount)
        [payment] = self.run(CreatePayment(SHOP, draft))
        fields = {
            "tenant": SHOP,
            "id": payment.id,
            "payer": Payer(ACCOUNT, "live"),
            "device_id": device.id,
            "digest": device.digest,
            "customer_id": AISHA.id,
            "daily_limit": LIMIT,
        }
        return PayWithDevice(**{**fields, **changes})

    def pay(self, amount: int, device: RememberedDevice, **changes: Any) -> Any:
        return self.run(self.paying(amount, device, **changes))[0]

    @property
    def kinds(self) -> list[str]:
        return [message.kind for message in self.messages]


def with_one(**fields: Any) -> tuple[Book, RememberedDevice]:
    book = Book(replace(AISHA, **fields))
    made = book.remember()
    assert isinstance(made, Remembered)
    return book, made.device


# Who adds one.


def test_a_new_device_is_told_and_in_the_journal_and_keeps_no_token() -> None:
    book = Book()
    made = book.remember()
    assert made.token not in str(book.devices) + str(book.entries)
    assert made.device.digest == digest("remembered-device", made.token)
    assert [entry.action for entry in book.entries] == ["remembered_device.add"]
    [message] = book.messages
    told = json.decode(message.parameters)
    assert (message.kind, told["name"]) == ("device_remembered", "Phone")
    assert told["link"] == "http://laari.test/app/forgotten"


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"daily_limit": 0}, OFF),
        ({"verified": "an older hash"}, CHANGED),
        ({"actor": OTHER}, "not_found"),
        ({"actor": OPERATOR}, "not_found"),
        ({"name": ""}, "name"),
        ({"name": "x" * (MAX_NAME + 1)}, "name"),
        ({"name": "a\nb"}, "name"),
    ],
    ids=str,
)
def test_who_may_not_add_one(changes: dict[str, Any], refused: Any) -> None:
    book = Book()
    outcome = book.remember(**changes)
    assert isinstance(outcome, Refusal)
    assert refused in (outcome, outcome.code, outcome.field)
    assert (book.devices, book.messages) == ({}, [])


def test_a_sandbox_customer_has_none() -> None:
    assert Book(replace(AISHA, mode="sandbox", sandbox_of=1)).remember() == NO_SANDBOX


def test_devices_have_a_number_and_old_ones_make_room() -> None:
    book = Book()
    for _ in range(REMEMBERED_DEVICES):
        assert isinstance(book.remember(), Remembered)
    assert book.remember().code == "rate_limited"
    book.now += REMEMBERED_DEVICE_LIFE
    assert isinstance(book.remember(), Remembered)


# What it pays.


def test_it_pays_up_to_the_sum_of_a_day() -> None:
    book, device = with_one()
    paid = book.pay(9_999, device)
    assert (paid.status, paid.payer_account) == ("paid", ACCOUNT)
    assert book.wallet.balance == 1_000_000 - 9_999
    assert book.pay(2, device) == TOO_MUCH
    assert book.pay(1, device).status == "paid"
    assert book.pay(1, device) == TOO_MUCH
    assert [each.amount for each in book.paid] == [9_999, 1]
    assert book.failed == []  # a refusal for the sum is no attempt on the wallet


def test_all_devices_of_a_customer_share_the_sum() -> None:
    book, device = with_one()
    other = book.remember(name="Computer").device
    assert book.pay(6_000, device).status == "paid"
    assert book.pay(6_000, other) == TOO_MUCH
    assert book.pay(4_000, other).status == "paid"


def test_the_day_begins_at_midnight_in_the_maldives() -> None:
    book, device = with_one()
    book.now = datetime(2026, 11, 18, 18, 59, 59, tzinfo=UTC)
    assert book.pay(LIMIT, device).status == "paid"
    assert book.pay(1, device) == TOO_MUCH
    book.now = datetime(2026, 11, 18, 19, 0, tzinfo=UTC)
    assert book.pay(LIMIT, device).status == "paid"
    book.now = datetime(2026, 11, 18, 18, 59, 59, tzinfo=UTC)  # another server, a little behind
    assert book.pay(1, device) == TOO_MUCH
    assert [str(each.day) for each in book.paid] == ["2026-11-18", "2026-11-19"]


@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=64))
def test_in_one_batch_the_sum_holds(amounts: list[int]) -> None:
    book, device = with_one()
    outcomes = book.run(*(book.paying(amount, device) for amount in amounts))
    spent = 0
    for amount, outcome in zip(amounts, outcomes, strict=True):
        fits = spent + amount <= LIMIT
        assert (outcome == TOO_MUCH) != fits
        spent += amount if fits else 0
    assert book.wallet.balance == 1_000_000 - spent
    assert sum(each.amount for each in book.paid) == spent


def test_a_payment_that_the_wallet_refuses_takes_nothing_of_the_sum() -> None:
    book = Book(balance=1_000)
    device = book.remember().device
    assert book.pay(5_000, device).code == "insufficient_balance"
    assert book.paid == []
    assert book.pay(1_000, device).status == "paid"


@pytest.mark.parametrize("silently", [False, True])
def test_a_frozen_wallet_pays_nothing(silently: bool) -> None:
    book, device = with_one()
    book.wallet = replace(book.wallet, frozen_at=NOW, frozen_silently=silently)
    assert book.pay(1, device).code == "wallet_limit_exceeded"
    assert book.wallet.balance == 1_000_000


def test_a_lower_limit_counts_at_once_and_none_is_off() -> None:
    book, device = with_one()
    assert book.pay(5_000, device).status == "paid"
    assert book.pay(1, device, daily_limit=5_000) == TOO_MUCH
    assert book.pay(1, device, daily_limit=0) == TOO_MUCH


def test_a_device_is_forgotten_after_its_life() -> None:
    book, device = with_one()
    book.now += REMEMBERED_DEVICE_LIFE - timedelta(seconds=1)
    assert book.pay(1, device).status == "paid"
    book.now += timedelta(seconds=1)
    assert book.pay(1, device) == NOT_REMEMBERED


@pytest.mark.parametrize(
    "change",
    [
        {"digest": bytes(32)},
        {"device_id": UUID(int=3)},
        {"customer_id": UUID(int=9)},
    ],
    ids=str,
)
def test_another_token_device_or_customer_pays_nothing(change: dict[str, Any]) -> None:
    book, device = with_one()
    assert book.pay(1, device, **change) == NOT_REMEMBERED
    assert book.wallet.balance == 1_000_000


def test_a_device_pays_from_its_own_wallet_only() -> None:
    book, device = with_one()
    book.wallet = replace(book.wallet, customer_id=UUID(int=9))
    assert book.pay(1, device) == NOT_REMEMBERED


@pytest.mark.parametrize(
    "change",
    [{"customer_id": UUID(int=9)}, {"binding": bytes(32)}],
    ids=str,
)
def test_a_row_that_was_changed_in_the_database_pays_nothing(change: dict[str, Any]) -> None:
    book, device = with_one()
    book.devices[device.id] = moved = replace(device, **change)
    if "customer_id" in change:
        book.wallet = replace(book.wallet, customer_id=moved.customer_id)
    assert book.pay(1, device, customer_id=moved.customer_id) == NOT_REMEMBERED


# What ends it.


def test_the_customer_ends_one() -> None:
    book, device = with_one()
    other = book.remember(name="Computer").device
    for actor, id in ((OTHER, device.id), (OPERATOR, device.id), (OWN, UUID(int=3))):
        assert book.run(ForgetDevice(actor, AISHA.id, id))[0].code == "not_found"
    ended = book.run(ForgetDevice(OWN, AISHA.id, device.id))[0]
    assert not isinstance(ended, Refusal)
    assert book.run(ForgetDevice(OWN, AISHA.id, device.id))[0].code == "not_found"
    assert book.pay(1, device) == NOT_REMEMBERED
    assert book.pay(1, other).status == "paid"
    assert book.kinds == ["device_remembered"] * 2 + ["device_forgotten"]


def test_an_end_counts_within_the_same_batch() -> None:
    book, device = with_one()
    first, second = book.paying(1, device), book.paying(1, device)
    paid, _, refused = book.run(first, ForgetDevice(OWN, AISHA.id, device.id), second)
    assert (paid.status, refused) == ("paid", NOT_REMEMBERED)


@pytest.mark.parametrize("command", [SetPassword, ResetPassword])
def test_a_new_password_ends_all(command: Any) -> None:
    book, device = with_one()
    whose = CustomerId(AISHA.id)
    given = (OWN, whose, "new", "hash") if command is SetPassword else (OPERATOR, whose, "new")
    assert not isinstance(book.run(command(*given))[0], Refusal)
    assert (book.usable, book.pay(1, device)) == ([], NOT_REMEMBERED)


def test_the_end_of_all_sessions_by_the_operator_ends_all() -> None:
    book, device = with_one()
    assert book.run(EndSessions(FINANCE, CustomerId(AISHA.id)))[0].code == "insufficient_scope"
    assert book.pay(1, device).status == "paid"
    assert book.run(EndSessions(SUPPORT, CustomerId(AISHA.id))) == [0]
    assert book.pay(1, device) == NOT_REMEMBERED


@pytest.mark.parametrize(
    ("actor", "may"),
    [(OPERATOR, True), (SUPPORT, True), (FINANCE, False), (OWN, True), (OTHER, False)],
)
def test_who_may_end_all(actor: Actor, may: bool) -> None:
    book, _ = with_one()
    book.now += timedelta(seconds=1)
    book.remember(name="Computer")
    [outcome] = book.run(ForgetDevices(actor, AISHA.id))
    assert outcome == 2 if may else isinstance(outcome, Refusal)
    assert len(book.usable) == (0 if may else 2)
    told = [json.decode(each.parameters)["name"] for each in book.messages[2:]]
    assert told == (["Phone, Computer"] if may else [])


def test_without_devices_nothing_is_told() -> None:
    book = Book()
    assert book.run(ForgetDevices(OPERATOR, AISHA.id)) == [0]
    assert (book.entries, book.messages) == ([], [])
