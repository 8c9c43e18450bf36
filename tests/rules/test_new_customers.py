"""New customers, their opening balances, and the sign-up by a code, without a database."""

import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec import json
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.banking.wallet_money import NEEDS_SECOND, CreateCustomer, NewCustomer
from laari.rules.ledger import outside_account
from laari.rules.limits.password_links import (
    PASSWORD_CODE_ATTEMPTS,
    PASSWORD_CODE_DIGITS,
    PASSWORD_LINK_LIFE,
)
from laari.rules.money import MAX_MONEY
from laari.rules.needs import Needs
from laari.rules.people.customer_signups import BeginSignUp, FinishSignUp
from laari.rules.people.customers import LetLogIn
from laari.rules.people.new_customers import CustomerDraft, lowest_tier
from laari.rules.people.wallet_keys import PURPOSE
from laari.rules.records.messages import Contact
from laari.rules.records.people import Customer, CustomerSignUp
from laari.rules.records.wallets import Tier
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR, PERSON
from tests.rules.test_password_links import AISHA
from tests.rules.test_second_factors import KEYS

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
ACCOUNT, NEW = 7_700_000_000_001, UUID(int=11)
SUPPORT = Actor("operator", "s@laari.mv", "support")
TIERS = {
    "verified": Tier("verified", 100, 1_000, None, None),
    "basic": Tier("basic", 50, 9_000, 9_000, 9_000),
    "open": Tier("open", None, 1, 1, 1),
}
DRAFT = CustomerDraft(
    "Ali", "live", "7770000", "ali@mail.mv", "ali", password_hash="hash", password_first=True
)
HANDLE, SERVICE = "secret", Actor("service", "sign-up")
DIGEST = KEYS.digest("sign-up", HANDLE)


def world(**options: Any) -> World:
    """One customer, three tiers, and a free account for everything that may need one."""
    made = World(NOW, "", os.urandom, frozenset({"sms"}), KEYS, **options)
    made.tiers.update(TIERS)
    made.recipients["mobile", "7771234"] = Contact(ACCOUNT, AISHA.id, None, "7771234", "dv")
    made.contact_holders["live", "mobile", "7771234"] = AISHA.id
    made.new_accounts.update({str(NEW): ACCOUNT, DIGEST.hex(): ACCOUNT + 1})
    return made


def create(made: World, actor: Actor = OPERATOR, balance: int = 0, **changes: Any) -> Any:
    tier = changes.pop("tier", "basic")
    return CreateCustomer(actor, NEW, replace(DRAFT, **changes), tier, balance).decide(made)


def nothing(made: World) -> bool:
    """Whether a refusal changed nothing."""
    return not (made.customers.added or made.wallets.added or made.journal or made.transfers)


def test_a_new_customer_has_an_empty_wallet_and_a_key_that_is_kept_as_a_digest() -> None:
    made = world()
    new = create(made)
    assert isinstance(new, NewCustomer)
    [customer], [wallet] = made.customers.added.values(), made.wallets.added.values()
    assert (customer.id, customer.mobile, customer.created_at) == (NEW, "7770000", NOW)
    assert (wallet.account, wallet.customer_id, wallet.tier) == (ACCOUNT, NEW, "basic")
    assert (wallet.balance, made.transfers) == (0, [])
    [key] = made.wallet_keys.added.values()
    assert (key.account, key.digest) == (ACCOUNT, KEYS.digest(PURPOSE, new.api_key))
    assert [(each.object_type, each.action) for each in made.journal] == [
        ("customer", "customer.create"),
        ("wallet", "customer.create"),
        ("wallet_key", "wallet_key.create"),
    ]
    assert {(each.merchant_id, each.mode) for each in made.journal} == {(None, "live")}


def test_an_opening_balance_comes_from_outside_with_an_entry() -> None:
    made = world()
    create(made, balance=700)
    [moved] = made.transfers
    assert (moved.amount, moved.debit_account) == (700, outside_account("live").number)
    assert made.wallets.added[ACCOUNT].balance == 700
    [entry] = [each for each in made.journal if each.action == "wallet.topup"]
    assert json.decode(entry.after or "")["balance"] == 700
    assert entry.reason == "Opening balance"


@pytest.mark.parametrize(("alone", "possible"), [(700, True), (699, False)])
def test_a_live_opening_balance_counts_for_the_person_who_gives_it(
    alone: int, possible: bool
) -> None:
    made = world(second_operator_above=alone)
    outcome = create(made, balance=700)
    assert (outcome != NEEDS_SECOND) == possible
    if possible:
        assert [each.alone for each in made.person_days.added.values()] == [700]
    else:
        assert nothing(made)
    sandbox = world(second_operator_above=0)
    assert isinstance(create(sandbox, balance=700, mode="sandbox"), NewCustomer)


@pytest.mark.parametrize(
    ("contact", "value"), [("mobile", "7770000"), ("email", "ali@mail.mv"), ("vpa", "ali")]
)
def test_no_two_customers_of_a_mode_have_the_same_contact(contact: Any, value: str) -> None:
    made = world()
    made.contact_holders["live", contact, value] = AISHA.id
    refused = create(made)
    assert isinstance(refused, Refusal)
    assert nothing(made)
    made.contact_holders.clear()
    made.contact_holders["sandbox", contact, value] = AISHA.id
    assert isinstance(create(made), NewCustomer)
    # Of two in one batch, the second one is refused.
    made.new_accounts[str(AISHA.id)] = ACCOUNT + 2
    second = CreateCustomer(OPERATOR, AISHA.id, DRAFT, "basic")
    assert isinstance(second.decide(made), Refusal)


@pytest.mark.parametrize("balance", [-1, MAX_MONEY + 1])
def test_a_balance_is_money_and_a_tier_exists(balance: int) -> None:
    for wrong in ({"balance": balance}, {"tier": "gold"}):
        made = world()
        assert isinstance(create(made, **wrong), Refusal)
        assert nothing(made)


def test_the_role_of_the_actor_decides() -> None:
    for actor, balance, may in (
        (OPERATOR, 5, True),
        (SUPPORT, 0, True),
        (SUPPORT, 5, False),
        (PERSON, 0, False),
        (Actor("customer", "cus_1"), 0, False),
    ):
        made = world()
        assert isinstance(create(made, actor, balance), NewCustomer) == may, actor
        assert may or nothing(made)


def test_only_live_customers_are_asked_for_a_new_password() -> None:
    for mode in ("live", "sandbox"):
        made = world()
        create(made, mode=mode, password_must_change=True)
        [customer] = made.customers.added.values()
        is_live = mode == "live"
        assert (customer.password_must_change, customer.password_first) == (is_live, is_live)


def test_the_lowest_tier_has_the_smallest_first_limit() -> None:
    assert lowest_tier(TIERS.values()) == "basic"
    assert lowest_tier([TIERS["open"], TIERS["verified"]]) == "verified"
    same = [Tier("b", 5, None, 7, 7), Tier("a", 5, 6, None, None)]
    assert lowest_tier(same) == "a"


# Sign-up.


def begun(mobile: str = "7770000") -> tuple[World, Any]:
    made = world()
    BeginSignUp(HANDLE, mobile, "Ali", "hash", "dv").decide(made)
    [message] = made.messages
    return made, message


def test_a_name_that_could_be_a_message_sends_nothing() -> None:
    made = world()
    refused = BeginSignUp(HANDLE, "7770000", "Unlock: laari-help.mv", "hash", "dv").decide(made)
    assert isinstance(refused, Refusal)
    assert (refused.field, made.messages) == ("name", [])


def finish(signup: CustomerSignUp, code: str, made: World | None = None) -> tuple[World, Any]:
    made = made or world()
    made.customer_signups.lock(signup.digest, signup)
    return made, FinishSignUp(SERVICE, DIGEST, HANDLE, code).decide(made)


def waiting() -> tuple[CustomerSignUp, str]:
    made, message = begun()
    [signup] = made.customer_signups.added.values()
    return signup, json.decode(message.parameters.partition(b"\n")[2])["code"]


def test_the_right_code_opens_a_wallet_of_the_lowest_tier_once() -> None:
    signup, code = waiting()
    made, customer = finish(signup, code)
    assert isinstance(customer, Customer)
    assert (customer.mobile, customer.language, customer.password_hash) == ("7770000", "dv", "hash")
    [wallet] = made.wallets.added.values()
    assert (wallet.account, wallet.tier, wallet.balance) == (ACCOUNT + 1, "basic", 0)
    assert not made.wallet_keys.added
    assert list(made.customer_signups.removed) == [DIGEST]
    again = FinishSignUp(SERVICE, DIGEST, HANDLE, code).decide(made)
    assert isinstance(again, Refusal)


def test_wrong_codes_count_and_end_it() -> None:
    signup, code = waiting()
    wrong = str(int(code) ^ 1).zfill(PASSWORD_CODE_DIGITS)
    for attempts in range(1, PASSWORD_CODE_ATTEMPTS + 1):
        made, refused = finish(signup, wrong)
        assert isinstance(refused, Refusal)
        signup = made.customer_signups.changed[DIGEST]
        assert signup.attempts == attempts
        assert nothing(made)
    made, refused = finish(signup, code)
    assert isinstance(refused, Refusal)
    assert nothing(made)


def test_a_code_is_of_its_request_what_was_given_and_its_time() -> None:
    signup, code = waiting()
    for changed in (
        replace(signup, mobile="7779999"),
        replace(signup, name="Ali B"),
        replace(signup, password_hash="another"),
        replace(signup, expires_at=NOW),
        replace(signup, code_digest=KEYS.digest("sign-up-code", f"other 7770000 {code}")),
    ):
        made, refused = finish(changed, code)
        assert isinstance(refused, Refusal)
        assert nothing(made)
    assert signup.expires_at - NOW == PASSWORD_LINK_LIFE
    late = replace(signup, expires_at=NOW + timedelta(microseconds=1))
    assert isinstance(finish(late, code)[1], Customer)


def test_a_number_that_was_taken_meanwhile_gets_no_second_wallet() -> None:
    signup, code = waiting()
    other = world()
    other.contact_holders["live", "mobile", "7770000"] = AISHA.id
    made, refused = finish(signup, code, other)
    assert isinstance(refused, Refusal)
    assert nothing(made)
    assert list(made.customer_signups.removed) == [DIGEST]


def test_the_owner_of_a_number_gets_a_notice_and_nobody_a_code() -> None:
    made, message = begun("7771234")
    assert (message.kind, message.recipient, message.language) == (
        "signup_known",
        "+9607771234",
        "dv",
    )
    assert not made.customer_signups.added
    made, message = begun()
    assert (message.kind, message.recipient, message.language) == (
        "signup_code",
        "+9607770000",
        "dv",
    )


def test_an_unknown_sign_up_takes_no_account_number() -> None:
    needs, empty = Needs(), world()
    FinishSignUp(SERVICE, DIGEST, HANDLE, "1").needs(needs)
    for follow in needs.followers[World.customer_signups]:
        follow(needs, empty)
    assert not needs.only_read(World.new_accounts)
    assert needs.locked(World.customer_signups) == {DIGEST}


# The log-in of a demo.

SANDBOX = replace(AISHA, mode="sandbox", sandbox_of=2, password_hash=None, password_first=False)


@pytest.mark.parametrize(
    ("actor", "customer", "changes"),
    [
        (OPERATOR, SANDBOX, True),
        (OPERATOR, replace(SANDBOX, password_hash="own"), False),
        (OPERATOR, replace(SANDBOX, sandbox_of=None), False),
        (OPERATOR, replace(AISHA, password_hash=None), False),
        (PERSON, SANDBOX, False),
    ],
)
def test_only_a_sandbox_customer_without_a_log_in_is_given_one(
    actor: Actor, customer: Customer, changes: bool
) -> None:
    made = World(NOW, "", os.urandom, keys=KEYS)
    made.customers.lock(customer.id, customer)
    made.sandbox_shops[customer.id] = "mer_shop"
    LetLogIn(actor, customer.id, "customer@laari.test", "new").decide(made)
    assert [each.password_hash for each in made.customers.changed.values()] == ["new"] * changes
    assert [(each.action, each.merchant_id) for each in made.journal] == [
        ("customer.let_log_in", "mer_shop")
    ] * changes
