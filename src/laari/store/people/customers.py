"""Customers and their wallets."""

import os
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from laari.errors import LaariError
from laari.rules import ids, journal
from laari.rules.actors import Actor
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.people.wallet_keys import PREFIX
from laari.rules.records import Language, Mode, PendingMovement
from laari.rules.refusals import Refusal
from laari.rules.wallets import move_outside_money
from laari.rules.world import World
from laari.store.batch.inside import decide_inside
from laari.store.batch.save import save
from laari.store.people.acting import acting
from laari.store.people.passwords import hash_password, new_password
from laari.store.people.wallet_keys import add_first_key
from laari.store.secrets import new_secret
from laari.store.tables import WALLETS

TAKEN = {
    "customers_mobile": "another customer has this mobile number",
    "customers_email": "another customer has this email address",
    "customers_vpa": "another customer has this virtual payment address",
}


class NewCustomer(Struct, frozen=True):
    id: UUID
    mode: Mode
    account: int
    api_key: str
    password: str


async def create(
    connection: Connection,
    actor: Actor,
    *,
    name: str,
    mode: Mode,
    tier: str,
    mobile: str | None = None,
    email: str | None = None,
    vpa: str | None = None,
    language: Language = "en",
    balance: int = 0,
    password: str | None = None,
    must_change: bool = False,
    first_password: bool = False,
    password_hash: str | None = None,
    key_with: bytes | None = None,
    second_person_above: int | None = None,
) -> NewCustomer:
    """Makes a customer with a wallet and its opening balance.

    With the master key (`key_with`), the wallet gets its first API key.
    A live balance counts as a top-up for the rule of the second person, and is refused above it.
    The first log-in asks for (`first_password`) or requires (`must_change`) a new password.
    """
    password = password or new_password()
    api_key = new_secret(PREFIX)
    customer_id = ids.new_id(datetime.now(UTC), os.urandom)
    try:
        async with acting(connection, actor, "customer.create"):
            await connection.execute(
                "INSERT INTO customers (id, name, mode, mobile, email, vpa, language, "
                "password_hash, password_must_change, password_first) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                customer_id,
                name,
                mode,
                mobile,
                email,
                vpa,
                language,
                password_hash or hash_password(password),
                must_change and mode == "live",
                first_password and mode == "live",
            )
            account = await new_account(connection)
            await open_wallet(connection, actor, customer_id, account, mode, tier)
            if balance:
                await _top_up(connection, actor, account, balance, second_person_above)
            if key_with is not None:
                await add_first_key(connection, actor, key_with, account, api_key)
    except asyncpg.UniqueViolationError as error:
        other = "another command of this person was first: try again"
        raise LaariError(TAKEN.get(error.constraint_name, other)) from error
    return NewCustomer(customer_id, mode, account, api_key, password)


async def _top_up(
    connection: Connection,
    actor: Actor,
    account: int,
    balance: int,
    second_person_above: int | None,
) -> None:
    """Books the opening balance, inside the transaction that makes the wallet."""
    command = MoveMoney(actor, None, account, "topup", balance, "Opening balance")
    outcome = await decide_inside(connection, command, second_person_above=second_person_above)
    if isinstance(outcome, Refusal):
        raise LaariError(outcome.message)
    if isinstance(outcome, PendingMovement):
        raise LaariError(
            "this balance needs a second person: create the wallet without one, and then top it up"
        )


async def new_account(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT nextval('wallet_accounts')"))


async def create_sandbox_customer(
    connection: Connection,
    actor: Actor,
    tenant_id: int,
    merchant_id: str,
    account: int,
    tier: str,
    balance: int,
) -> None:
    """The only customer of a merchant's sandbox, inside the `acting` of its caller."""
    customer_id = ids.new_id(datetime.now(UTC), os.urandom)
    await connection.execute(
        "INSERT INTO customers (id, name, mode, sandbox_of) "
        "VALUES ($1, 'Sandbox customer', 'sandbox', $2)",
        customer_id,
        tenant_id,
    )
    await open_wallet(
        connection, actor, customer_id, account, "sandbox", tier, balance, merchant_id
    )


async def let_log_in(
    connection: Connection, actor: Actor, account: int, email: str, password: str
) -> None:
    """A log-in that the owner of the wallet already has stays."""
    async with acting(connection, actor, "customer.let_log_in"):
        await connection.execute(
            "UPDATE customers SET email = $2, password_hash = $3 WHERE password_hash IS NULL "
            "AND id = (SELECT customer_id FROM wallets WHERE account = $1)",
            account,
            email,
            hash_password(password),
        )


async def open_wallet(
    connection: Connection,
    actor: Actor,
    customer_id: UUID,
    account: int,
    mode: Mode,
    tier: str,
    balance: int = 0,
    merchant_id: str | None = None,
) -> None:
    """Opens a wallet; its first money is booked like any other from outside."""
    try:
        row = await connection.fetchrow(
            "INSERT INTO wallets (account, customer_id, mode, tier) VALUES ($1, $2, $3, $4) "
            f"RETURNING {WALLETS.columns}",
            account,
            customer_id,
            mode,
            tier,
        )
    except asyncpg.ForeignKeyViolationError as error:
        raise LaariError(f"no tier is called {tier}") from error
    wallet = WALLETS.read(row)
    if balance:
        world = World(datetime.now(UTC), "", os.urandom)  # nothing here carries a link
        world.wallets.lock(account, wallet)  # nobody else sees it yet
        moved = move_outside_money(world, None, wallet, "topup", balance, details="Opening balance")
        opened = world.wallets[account]
        journal.note_wallet(
            world, actor, "wallet.topup", wallet, opened, merchant_id=merchant_id, moved=moved
        )
        await save(connection, world)


async def mode_of(connection: Connection, customer_id: UUID) -> Mode | None:
    """Of a customer who can have a log-in: a merchant's own sandbox customer has none."""
    mode: Mode | None = await connection.fetchval(
        "SELECT mode FROM customers WHERE id = $1 AND sandbox_of IS NULL", customer_id
    )
    return mode
