"""New merchants, made by the operator or by sign-up, without a database."""

import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.merchants.keys import KEY
from laari.rules.merchants.new_merchants import (
    FULL,
    SANDBOX_BALANCE,
    CreateMerchant,
    MerchantDraft,
    NewMerchant,
    NewOwner,
    SignUpMerchant,
)
from laari.rules.needs import Needs
from laari.rules.people.persons import NewLogin
from laari.rules.people.wallet_keys import PURPOSE, sandbox_key
from laari.rules.records.people import Person
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR, PERSON
from tests.rules.test_new_customers import TIERS
from tests.rules.test_second_factors import KEYS

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
SHOP, ACCOUNT = "mer_new", 7_700_000_000_005
DRAFT = MerchantDraft("Bodu Boat", "live", 150, 5, "https://shop.mv/hook")
ALI = Person(UUID(int=8), "ali@shop.mv", NOW, "theirs", proven=True)
LOGIN = NewLogin("hash")
STRANGER = Actor("service", "sign-up")
SUPPORT = Actor("operator", "s@laari.mv", "support")


def world(person: Person | None = None, held: int = 0) -> World:
    made = World(NOW, "", os.urandom, keys=KEYS)
    made.tiers.update(TIERS)
    made.new_accounts[SHOP] = ACCOUNT
    made.new_tenants.update({(SHOP, "live"): 3, (SHOP, "sandbox"): 4})
    made.merchants_held[9] = held
    if person is not None:
        made.person_ids[person.email] = person.id
        made.persons.lock(person.id, person)
        made.places[person.id] = {}
        made.log_ins_of[person.id] = frozenset()
    return made


def create(made: World, actor: Actor = OPERATOR, owner: NewOwner | None = None) -> Any:
    return CreateMerchant(actor, SHOP, DRAFT, owner).decide(made)


def sign_up(made: World, owner: NewOwner | None = None) -> Any:
    return SignUpMerchant(STRANGER, SHOP, DRAFT, 9, owner).decide(made)


def nothing(made: World) -> bool:
    """Whether a refusal changed nothing."""
    changed = (made.merchant_settings.added, made.persons.added, made.persons.changed)
    return not (any(changed) or made.journal or made.transfers or made.wallets.added)


def test_a_merchant_has_two_sides_a_key_and_a_sandbox_customer_with_money() -> None:
    made = world()
    new = create(made)
    assert isinstance(new, NewMerchant)
    [merchant] = made.merchant_settings.added.values()
    assert new.merchant == merchant
    assert (merchant.fee_bps, merchant.fee_fixed, merchant.webhook_url) == (
        150,
        5,
        DRAFT.webhook_url,
    )
    assert merchant.secret_digest == KEYS.digest(KEY, new.secret_key)
    assert new.secret_key not in str(made.journal)
    modes = {each.mode: each.id for each in made.tenant_settings.added.values()}
    assert modes == {"live": 3, "sandbox": 4}
    [customer], [wallet] = made.customers.added.values(), made.wallets.added.values()
    assert (customer.sandbox_of, customer.password_hash, customer.mode) == (4, None, "sandbox")
    assert (wallet.account, wallet.balance, wallet.mode) == (ACCOUNT, SANDBOX_BALANCE, "sandbox")
    assert merchant.sandbox_account == ACCOUNT
    [key] = made.wallet_keys.added.values()
    assert key.digest == KEYS.digest(PURPOSE, sandbox_key(KEYS.digest, ACCOUNT))
    assert [(each.object_type, each.action) for each in made.journal] == [
        ("merchant", "merchant.create"),
        ("tenant", "merchant.create"),
        ("tenant", "merchant.create"),
        ("customer", "merchant.create"),
        ("wallet", "merchant.create"),
        ("wallet", "wallet.topup"),
        ("wallet_key", "wallet_key.create"),
    ]
    assert {each.merchant_id for each in made.journal} == {SHOP}


@pytest.mark.parametrize(
    ("person", "changes"),
    [(None, True), (ALI, False), (replace(ALI, proven=False), True)],
)
def test_the_owner_keeps_a_password_that_is_theirs(person: Any, changes: bool) -> None:
    made = world(person)
    new = create(made, owner=NewOwner(ALI.email, LOGIN))
    assert new.password_hash == (LOGIN.password_hash if changes else None)
    hashes = {**made.persons.seen}.values()
    assert [each.password_hash for each in hashes] == ["hash" if changes else "theirs"]
    [membership] = made.memberships.added.values()
    assert (membership.merchant_id, membership.role) == (SHOP, "owner")
    assert made.members[SHOP] == {ALI.email: membership.person_id}


def test_a_sign_up_has_no_live_side_and_the_mode_of_the_sandbox() -> None:
    made = world()
    new = sign_up(made, NewOwner(ALI.email, LOGIN))
    assert isinstance(new, NewMerchant)
    assert new.merchant.mode == "sandbox"
    assert [each.mode for each in made.tenant_settings.added.values()] == ["sandbox"]
    assert [each.proven for each in made.persons.added.values()] == [False]
    needs = Needs()
    SignUpMerchant(STRANGER, SHOP, DRAFT, 9).needs(needs)
    assert needs.only_read(World.new_tenants) == {(SHOP, "sandbox")}
    assert needs.takes_locks  # the bound is exact only until the end of a transaction


def test_nobody_signs_up_with_the_address_of_a_person() -> None:
    for person in (ALI, replace(ALI, proven=False)):
        made = world(person)
        refused = sign_up(made, NewOwner(ALI.email, LOGIN))
        assert isinstance(refused, Refusal)
        assert refused.field == "email"
        assert nothing(made)


def test_a_person_who_logged_in_adds_a_shop_unless_they_were_removed() -> None:
    made = world(ALI)
    new = sign_up(made, NewOwner(ALI.email))
    assert (isinstance(new, NewMerchant), new.password_hash) == (True, None)
    gone = world()
    assert isinstance(sign_up(gone, NewOwner(ALI.email)), Refusal)
    assert nothing(gone)


def test_sign_ups_of_one_batch_end_at_the_bound() -> None:
    made = world(held=8)
    assert isinstance(sign_up(made), NewMerchant)
    assert sign_up(made) == FULL
    full = world(held=9)
    assert sign_up(full) == FULL
    assert nothing(full)


def test_only_an_admin_makes_merchants() -> None:
    for actor in (SUPPORT, PERSON, STRANGER):
        made = world()
        assert isinstance(create(made, actor), Refusal), actor
        assert nothing(made)


@pytest.mark.parametrize("url", ["ftp://shop.mv", "http://shop.mv/hook", "https://127.0.0.1/hook"])
def test_webhooks_of_a_new_merchant_go_to_public_addresses_only(url: str) -> None:
    draft = replace(DRAFT, webhook_url=url)
    for command in (
        CreateMerchant(OPERATOR, SHOP, draft),
        SignUpMerchant(STRANGER, SHOP, draft, 9),
    ):
        made = world()
        refused = command.decide(made)
        assert isinstance(refused, Refusal)
        assert refused.field == "webhook_url"
        assert nothing(made)


def test_a_service_for_development_takes_webhooks_of_new_merchants_to_itself() -> None:
    draft = replace(DRAFT, webhook_url="http://127.0.0.1:9/hook")
    for command in (
        CreateMerchant(OPERATOR, SHOP, draft, private_webhooks=True),
        SignUpMerchant(STRANGER, SHOP, draft, 9, private_webhooks=True),
    ):
        assert isinstance(command.decide(world()), NewMerchant)
