"""Merchants and customers in tests: their commands, decided on the test's connection."""

import os
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.wallet_money import CreateCustomer
from laari.rules.merchants.new_merchants import (
    FULL,
    CreateMerchant,
    MerchantDraft,
    NewOwner,
    SignUpMerchant,
)
from laari.rules.people.new_customers import CustomerDraft
from laari.rules.people.persons import NewLogin
from laari.rules.records.tenants import Mode
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from laari.store.people.passwords import hash_password, new_password
from tests.actors import MASTER
from tests.people import RefusedError, decided


class NewMerchant(NamedTuple):
    merchant: Merchant
    secret_key: str
    password: str | None  # None without an owner, or if the owner has one already
    sandbox_account: int


class NewCustomer(NamedTuple):
    id: UUID
    mode: Mode
    account: int
    api_key: str
    password: str


async def make_customer(
    connection: Connection,
    actor: Actor,
    *,
    name: str,
    mode: Mode,
    tier: str,
    balance: int = 0,
    password: str | None = None,
    must_change: bool = False,
    first_password: bool = False,
    key_with: bytes = MASTER,
    **contacts: Any,
) -> NewCustomer:
    password = password or new_password()
    draft = CustomerDraft(
        name,
        mode,
        password_hash=hash_password(password),
        password_must_change=must_change,
        password_first=first_password,
        **contacts,
    )
    new_id = ids.new_id(datetime.now(UTC), os.urandom)
    command = CreateCustomer(actor, new_id, draft, tier, balance)
    made = await decided(connection, command, master=key_with)
    return NewCustomer(made.id, mode, made.account, made.api_key, password)


async def make_merchant(
    connection: Connection,
    actor: Actor,
    master: bytes,
    *,
    name: str,
    mode: Any,
    email: str | None = None,
    password: str | None = None,
    **more: Any,
) -> NewMerchant:
    """A person who exists keeps the password."""
    password, owner = password or new_password(), None
    login = {each: more.pop(each) for each in ("must_change", "first_password") if each in more}
    if email is not None:
        owner = NewOwner(email, NewLogin(hash_password(password), **login))
    draft = MerchantDraft(name, mode, **more)
    new_id = ids.new_merchant_id(os.urandom)
    command = CreateMerchant(actor, new_id, draft, owner, private_webhooks=True)
    made = await decided(connection, command, master=master)
    shown = await merchants.show(connection, made.merchant.id)
    password = password if made.password_hash else None
    return NewMerchant(shown, made.secret_key, password, made.merchant.sandbox_account)


async def sign_up(
    connection: Connection,
    actor: Actor,
    master: bytes,
    most: int,
    *,
    name: str,
    email: str | None = None,
    password: str | None = None,
    owner: str | None = None,
    must_change: bool = False,
    **more: Any,
) -> NewMerchant | None:
    """None if there are `most` merchants. `owner` is the address of a person who has logged in."""
    password, new_owner = password or new_password(), None if owner is None else NewOwner(owner)
    if email is not None:
        new_owner = NewOwner(email, NewLogin(hash_password(password), must_change, proven=False))
    draft = MerchantDraft(name, "sandbox", **more)
    new_id = ids.new_merchant_id(os.urandom)
    command = SignUpMerchant(actor, new_id, draft, most, new_owner, private_webhooks=True)
    try:
        made = await decided(connection, command, master=master)
    except RefusedError as error:
        if error.refusal == FULL:
            return None
        raise
    shown = await merchants.show(connection, made.merchant.id)
    password = password if made.password_hash else None
    return NewMerchant(shown, made.secret_key, password, made.merchant.sandbox_account)
