"""Every change of a setting is in the journal with its actor, or does not happen."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from laari.rules.actors import Actor, sandbox_customer
from laari.rules.banking.wallet_controls import FreezeWallet, SetTier, UnfreezeWallet
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.limits.invitations import INVITATION_LIFE
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.merchants.sandbox_wallet import SetSandboxWallet
from laari.rules.payments.payments import CancelPayment, CreatePayment, PaymentDraft, PayPayment
from laari.rules.people.contact_changes import (
    CancelContactChange,
    ConfirmContactChange,
    RequestContactChange,
)
from laari.rules.people.invitations import ExpireInvitation, Offer
from laari.rules.people.persons import NewLogin
from laari.rules.people.second_factors import BeginFactor
from laari.rules.people.wallet_keys import CreateWalletKey, RevokeWalletKey
from laari.rules.records.people import CustomerId, show_whose
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.audit.covered import TABLES
from laari.store.batch.runner import BatchRunner
from laari.store.batch.save import writing
from laari.store.counters import failed_logins
from laari.store.counters.purge import purge_addresses
from laari.store.merchants import merchants
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.journal import Filter, find
from laari.store.reads.people import persons
from laari.store.secrets import keys_of
from tests import people, shops
from tests.acting import acting
from tests.actors import MASTER, OPERATOR, change
from tests.audit.books import look, seal_all
from tests.logins import opened, password_link, set_password, use_link
from tests.making import NewMerchant, make_customer, make_merchant
from tests.people import RefusedError, decided

PERSON = Actor("person", "owner@shop.mv", "owner", "192.0.2.7")


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


async def entries(connection: asyncpg.Connection, action: str) -> list[dict[str, Any]]:
    rows = await connection.fetch("SELECT * FROM journal WHERE action = $1 ORDER BY id", action)
    return [
        {**row, "before": _read(row["before"]), "after": _read(row["after"])}
        for row in map(dict, rows)
    ]


def _read(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


async def make_shop(connection: asyncpg.Connection) -> NewMerchant:
    return await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")


async def with_people(connection: asyncpg.Connection, merchant_id: str) -> str:
    """An owner with a second factor, and an invitation; returns its token."""
    now = datetime.now(UTC)
    place = (merchant_id, PERSON.name, "owner", None)
    added = await people.add(connection, OPERATOR, *place, NewLogin("hash"))
    await decided(connection, BeginFactor(PERSON, added.id, b""), now)
    await change(connection, "UPDATE second_factors SET confirmed_at = now()")
    offer = Offer("new@shop.mv", "manager")
    made = await people.invite(connection, PERSON, MASTER, merchant_id, offer, now)
    return people.token_of(made)


async def test_a_change_is_written_with_its_actor_and_all_values(connection) -> None:
    shop = await make_shop(connection)
    await shops.set_fee(connection, PERSON, shop.merchant.id, 5)
    [entry] = await entries(connection, "merchant.update")
    assert (entry["actor_kind"], entry["actor_name"]) == ("person", "owner@shop.mv")
    assert (entry["actor_role"], entry["address"]) == ("owner", "192.0.2.7")
    assert (entry["object_type"], entry["object_id"]) == ("merchant", shop.merchant.id)
    assert (entry["merchant_id"], entry["mode"]) == (shop.merchant.id, None)
    changed = {name for name in entry["after"] if entry["before"][name] != entry["after"][name]}
    assert changed == {"fee_bps"}
    assert (entry["before"]["fee_bps"], entry["after"]["fee_bps"]) == (0, 5)
    assert entry["after"]["name"] == "Shop"


async def test_a_new_merchant_is_written_with_everything_that_belongs_to_it(connection) -> None:
    shop = await make_shop(connection)
    made = await entries(connection, "merchant.create")
    assert sorted(entry["object_type"] for entry in made) == [
        "customer",
        "merchant",
        "tenant",
        "tenant",
        "wallet",
    ]
    assert {entry["merchant_id"] for entry in made} == {shop.merchant.id}
    assert all(entry["before"] is None for entry in made)
    [key] = await entries(connection, "wallet_key.create")
    assert (key["merchant_id"], key["mode"]) == (shop.merchant.id, "sandbox")


@pytest.mark.ci
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE merchants SET fee_bps = 7",
        "UPDATE merchants SET id = 'mer_other'",
        "UPDATE tiers SET name = 'other' WHERE name = 'verified'",
        "UPDATE customers SET mobile = '7771234'",
        "UPDATE tiers SET daily = 1 WHERE name = 'basic'",
        "DELETE FROM tiers WHERE name = 'verified'",
        "UPDATE oauth_clients SET scope = ''",
        "UPDATE wallet_keys SET revoked_at = now()",
        "INSERT INTO tiers (name) VALUES ('gold')",
        "UPDATE invitations SET digest = sha256('mine')",
        "UPDATE invitations SET role = 'owner'",
        "DELETE FROM invitations",
        "DELETE FROM second_factors",
        "UPDATE second_factors SET confirmed_at = NULL",
    ],
)
async def test_a_change_without_an_actor_is_refused(connection, statement: str) -> None:
    shop = await make_shop(connection)
    await shops.create_client(connection, OPERATOR, MASTER, shop.merchant.id, "payments:read")
    await with_people(connection, shop.merchant.id)
    for table, column in (("wallets", "tier"), ("tenants", "merchant_id")):
        await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_fkey")
    for table in ("oauth_clients", "memberships", "invitations", "fee_history"):
        await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_merchant_id_fkey")
    count = await connection.fetchval("SELECT count(*) FROM journal")
    with pytest.raises(asyncpg.RestrictViolationError, match="needs an actor"):
        await connection.execute(statement)
    assert await connection.fetchval("SELECT count(*) FROM journal") == count


async def test_the_first_tiers_have_an_entry_of_the_schema(connection) -> None:
    made = await entries(connection, "tier.create")
    assert [entry["object_id"] for entry in made] == ["basic", "verified", "business"]
    assert {(entry["actor_kind"], entry["actor_name"]) for entry in made} == {("service", "schema")}


async def test_a_change_of_nothing_is_no_entry(connection) -> None:
    shop = await make_shop(connection)
    await shops.update(connection, OPERATOR, shop.merchant.id, fee_bps=0)
    await shops.end_old_key(connection, OPERATOR, shop.merchant.id)
    await shops.set_tier(connection, OPERATOR, "basic", {})
    for action in ("merchant.update", "merchant.end_old_key", "tier.set"):
        assert await entries(connection, action) == []


async def test_uses_and_clocks_and_balances_fire_nothing(connection) -> None:
    shop = await make_shop(connection)
    await shops.create_client(connection, OPERATOR, MASTER, shop.merchant.id, "payments:read")
    count = await connection.fetchval("SELECT count(*) FROM journal")
    for statement in (
        "UPDATE oauth_clients SET last_used_at = now()",
        "UPDATE wallet_keys SET last_used_at = now()",
        "UPDATE tenants SET clock_offset_seconds = 5 WHERE mode = 'sandbox'",
        "UPDATE wallets SET balance = 1, tier = tier",
    ):
        await connection.execute(statement)
    assert await connection.fetchval("SELECT count(*) FROM journal") == count


async def test_only_a_digest_of_a_password_is_written(connection) -> None:
    made = await make_customer(
        connection, OPERATOR, name="A", mode="live", tier="basic", password="secret"
    )
    await set_password(connection, PERSON, CustomerId(made.id), "new-hash")
    [entry] = await entries(connection, "customer.set_password")
    values = entry["before"]["password_hash"], entry["after"]["password_hash"]
    assert len({*values}) == 2
    assert all(len(value) == 32 for value in values)
    assert "new-hash" not in str(entry)


async def test_no_secret_is_in_the_journal(connection) -> None:
    shop = await make_shop(connection)
    client, secret = await shops.create_client(connection, OPERATOR, MASTER, shop.merchant.id, "")
    _, rotated = await shops.rotate_key(connection, OPERATOR, bytes(32), shop.merchant.id)
    made = await make_customer(connection, OPERATOR, name="A", mode="live", tier="basic")
    text = str(await connection.fetch("SELECT * FROM journal"))
    for secret_value in (shop.secret_key, secret, rotated, made.api_key, made.password):
        assert secret_value not in text
    hashed = await connection.fetchval("SELECT password_hash FROM customers WHERE name = 'A'")
    assert hashed not in text
    assert client.id in text


async def test_invitations_are_written_without_their_link(connection) -> None:
    shop = await make_shop(connection)
    token = await with_people(connection, shop.merchant.id)
    [made] = await entries(connection, "invitation.create")
    assert (made["object_type"], made["merchant_id"]) == ("invitation", shop.merchant.id)
    assert made["object_id"] == f"{shop.merchant.id} new@shop.mv"
    assert (made["before"], made["after"]["role"]) == (None, "manager")
    assert await people.withdraw(connection, PERSON, shop.merchant.id, "new@shop.mv")
    with pytest.raises(RefusedError, match="no open invitation"):
        await people.withdraw(connection, PERSON, shop.merchant.id, "new@shop.mv")
    [ended] = await entries(connection, "invitation.withdraw")
    assert (ended["before"], ended["after"]) == (made["after"], None)
    assert token not in str(await connection.fetch("SELECT * FROM journal"))


@pytest.mark.ci
async def test_an_expired_invitation_is_ended_by_the_service(dsn: str, connection) -> None:
    shop = await make_shop(connection)
    await with_people(connection, shop.merchant.id)
    expire = ExpireInvitation(shop.merchant.id, "new@shop.mv")
    assert await decided(connection, expire, datetime.now(UTC) + INVITATION_LIFE)
    [ended] = await entries(connection, "invitation.expire")
    assert (ended["actor_kind"], ended["after"]) == ("service", None)
    assert (await look(dsn)).differences == []


async def test_links_for_passwords_are_written_if_somebody_forwards_them(connection) -> None:
    shop = await make_shop(connection)
    await with_people(connection, shop.merchant.id)
    whose = await persons.find(connection, PERSON.name)
    assert whose is not None
    now = datetime.now(UTC)
    token = await password_link(connection, whose, now)
    assert await use_link(connection, token, "new-hash", now, "192.0.2.9")
    assert not await use_link(connection, token, "new-hash", now, "192.0.2.9")
    [issued] = await entries(connection, "password_link.issue")
    [used] = await entries(connection, "password_link.use")
    assert issued["object_id"] == used["object_id"] == show_whose(whose)
    assert (issued["actor_name"], used["actor_name"]) == (OPERATOR.name, PERSON.name)
    assert used["address"] == "192.0.2.9"
    assert token not in str(await connection.fetch("SELECT * FROM journal"))


async def test_a_person_who_leaves_takes_factor_and_invitations_along(dsn: str, connection) -> None:
    """Deletes that follow a delete have entries of the same actor."""
    shop = await make_shop(connection)
    await with_people(connection, shop.merchant.id)
    whose = await persons.find(connection, PERSON.name)
    assert whose is not None
    await change(connection, "UPDATE invitations SET invited_by = $1", whose.id)
    await people.remove(connection, OPERATOR, shop.merchant.id, whose, may_be_last=True)
    gone = await entries(connection, "membership.remove")
    assert {entry["object_type"] for entry in gone} == {
        "membership",
        "invitation",
        "person",
        "second_factor",
    }
    assert all(entry["after"] is None for entry in gone)
    assert (await look(dsn)).differences == []


async def test_an_actor_ends_with_its_block_also_within_a_transaction(connection) -> None:
    transaction = connection.transaction()
    await transaction.start()
    async with acting(connection, OPERATOR, "test.done"):
        await connection.execute("INSERT INTO tiers (name) VALUES ('gold')")
    with pytest.raises(asyncpg.RestrictViolationError):
        await connection.execute("UPDATE tiers SET daily = 5 WHERE name = 'gold'")
    await transaction.rollback()
    assert await entries(connection, "test.done") == []
    async with acting(connection, OPERATOR, "test.done"):
        await connection.execute("INSERT INTO tiers (name) VALUES ('gold')")
    with pytest.raises(asyncpg.RestrictViolationError):
        await connection.execute("UPDATE tiers SET daily = 5 WHERE name = 'gold'")


async def enter(connection: asyncpg.Connection, **other: Any) -> None:
    """An entry about the tier `basic`, as a command adds it."""
    daily = {"per_transaction": 1, "daily": 5, "weekly": None, "monthly": None}
    values = {"object_id": "basic", "after": daily, "merchant_id": None, **other}
    await connection.execute(
        "INSERT INTO journal (time, actor_kind, actor_name, action, object_type, object_id, "
        "merchant_id, after) VALUES (now(), 'service', 'test', 'tier.set', 'tier', $1, $2, $3)",
        values["object_id"],
        values["merchant_id"],
        None if values["after"] is None else msgspec.json.encode(values["after"]).decode(),
    )


SET_TIER = (
    "UPDATE tiers SET per_transaction = 1, daily = 5, weekly = NULL, monthly = NULL "
    "WHERE name = 'basic'"
)


async def refuses_tier(connection: asyncpg.Connection) -> None:
    point = connection.transaction()
    await point.start()
    with pytest.raises(asyncpg.RestrictViolationError, match="needs an actor"):
        await connection.execute(SET_TIER)
    await point.rollback()


async def test_an_entry_of_the_transaction_with_the_new_values_is_enough(connection) -> None:
    async with connection.transaction():
        await enter(connection)
        await connection.execute(SET_TIER)
    assert len(await entries(connection, "tier.set")) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"object_id": "business"},
        {"merchant_id": "mer_other"},
        {"after": None},
        {"after": {}},
        {"after": {"per_transaction": 1, "daily": 6, "weekly": None, "monthly": None}},
        {"after": {"per_transaction": 1, "daily": 5, "weekly": None}},
    ],
)
async def test_an_entry_about_something_else_is_not_enough(connection, other: Any) -> None:
    async with connection.transaction():
        await enter(connection, **other)
        await refuses_tier(connection)


async def test_the_last_entry_of_the_transaction_counts(connection) -> None:
    async with connection.transaction():
        await enter(connection)
        await enter(connection, after={"daily": 9})
        await refuses_tier(connection)


async def test_an_entry_of_an_earlier_transaction_is_not_enough(connection) -> None:
    await enter(connection)
    await refuses_tier(connection)


async def test_commands_of_one_batch_have_an_entry_each(dsn: str, connection) -> None:
    """The row is written once, with its last values; the entries lead there."""
    made = await make_customer(
        connection, OPERATOR, name="A", mode="live", tier="basic", mobile="7771234"
    )
    runner = BatchRunner(dsn, "http://laari.test", keys=keys_of(MASTER))
    commands = [
        RequestContactChange(OPERATOR, made.id, "mobile", "7775678", "lost"),
        ConfirmContactChange(OPERATOR, made.id, "mobile", None, None, "seen", timedelta(0)),
        CancelContactChange(OPERATOR, made.id, "mobile", None, "wrong"),
        RequestContactChange(OPERATOR, made.id, "mobile", "7775679", "lost"),
    ]
    outcomes = await runner.run(commands, 1.0)
    [again] = await runner.run([CancelContactChange(OPERATOR, made.id, "mobile", None, "x")], 1.0)
    await runner.close()
    assert not any(isinstance(each, Refusal) for each in (*outcomes, again))
    rows = await connection.fetch("SELECT new_value, status FROM contact_changes ORDER BY 1")
    assert [tuple(row) for row in rows] == [("7775678", "cancelled"), ("7775679", "cancelled")]
    found = await connection.fetch(
        "SELECT action FROM journal WHERE object_type = 'contact_change' ORDER BY id"
    )
    assert [row["action"].partition(".")[2] for row in found] == [
        "request",
        "confirm",
        "cancel",
        "request",
        "cancel",
    ]
    assert (await look(dsn)).differences == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET reason = 'x'",
        "UPDATE journal SET after = '{}'",
        "UPDATE journal SET xid = 1",
        "UPDATE journal SET address = '192.0.2.9'",
        "DELETE FROM journal",
        "TRUNCATE journal",
    ],
)
async def test_entries_never_change(connection, statement: str) -> None:
    with pytest.raises(asyncpg.RestrictViolationError, match="insert-only"):
        await connection.execute(statement)
    await connection.execute("UPDATE journal SET address = NULL")


async def without_journal(connection: asyncpg.Connection) -> None:
    """No entry can be written any more, as if the disk were full there."""
    await connection.execute("ALTER TABLE journal ADD CONSTRAINT full_now CHECK (false) NOT VALID")


async def test_a_setting_whose_entry_cannot_be_written_stays(connection) -> None:
    shop = await make_shop(connection)
    await without_journal(connection)
    with pytest.raises(asyncpg.CheckViolationError):
        await shops.update(connection, OPERATOR, shop.merchant.id, fee_bps=9)
    assert (await merchants.show(connection, shop.merchant.id)).fee_bps == 0


async def test_a_command_whose_entry_cannot_be_written_does_nothing(dsn: str, connection) -> None:
    shop = await make_shop(connection)
    tenant = await tenants.of_merchant(connection, shop.merchant.id, "live")
    runner = BatchRunner(dsn, "http://laari.test")
    [payment] = await runner.run([CreatePayment(tenant, PaymentDraft("a", 100))], 1.0)
    assert not isinstance(payment, tuple)
    await without_journal(connection)
    with pytest.raises(asyncpg.CheckViolationError):
        await runner.run([CancelPayment(tenant, payment.id, OPERATOR)], 1.0)
    await runner.close()
    found = await connection.fetch("SELECT status FROM payments")
    assert [row["status"] for row in found] == ["pending"]
    assert await connection.fetchval("SELECT count(*) FROM events") == 1  # its creation


async def test_commands_on_wallets_keep_the_state_complete(dsn: str, connection) -> None:
    made = await make_customer(
        connection, OPERATOR, name="A", mode="live", tier="basic", balance=500
    )
    runner = BatchRunner(dsn, "http://laari.test")
    for command in (
        FreezeWallet(OPERATOR, made.account, "stolen"),
        FreezeWallet(OPERATOR, made.account, "again"),  # refused
        SetTier(OPERATOR, made.account, "verified"),
        MoveMoney(OPERATOR, None, made.account, "adjustment", -100, "Correction"),
        UnfreezeWallet(OPERATOR, made.account),
        UnfreezeWallet(OPERATOR, made.account),
    ):
        await runner.run([command], 1.0)
    await runner.close()
    rows = await connection.fetch(
        "SELECT action, reason, after FROM journal WHERE object_type = 'wallet' ORDER BY id"
    )
    shown = [
        (row["action"], row["reason"], after["tier"], after["frozen_reason"], after.get("balance"))
        for row in rows
        for after in [_read(row["after"])]
    ]
    assert shown == [
        ("customer.create", None, "basic", None, None),
        ("wallet.topup", "Opening balance", "basic", None, 500),
        ("wallet.freeze", "stolen", "basic", "stolen", None),
        ("wallet.set_tier", None, "verified", "stolen", None),
        ("wallet.adjustment", "Correction", "verified", "stolen", 400),
        ("wallet.unfreeze", None, "verified", None, None),
    ]


async def test_sandbox_controls_name_their_caller(dsn: str, connection) -> None:
    shop = await make_shop(connection)
    caller = Actor("credential", "secret key")
    tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
    runner = BatchRunner(dsn, "http://laari.test")
    for _ in range(2):  # the second time changes nothing
        await runner.run([SetSandboxWallet(tenant, caller, 5, "basic")], 1.0)
    await runner.run([MoveClock(tenant, caller, 60), MoveClock(tenant, caller, 0)], 1.0)
    await runner.close()
    [wallet] = await entries(connection, "sandbox.set_wallet")
    [clock] = await entries(connection, "sandbox.move_clock")
    for entry in (wallet, clock):
        assert (entry["actor_name"], entry["mode"]) == (caller.name, "sandbox")
        assert entry["merchant_id"] == shop.merchant.id
    assert wallet["after"]["balance"] == 5
    assert (clock["before"], clock["after"]) == ({"offset_seconds": 0}, {"offset_seconds": 60})


async def test_a_customers_own_key_names_the_customer(connection) -> None:
    made = await make_customer(
        connection,
        OPERATOR,
        name="A",
        mode="live",
        tier="basic",
        key_with=MASTER,
        password="secret",
    )
    customer = Actor("customer", "cus_1")
    await opened(connection, made.id)
    session = await connection.fetchval("SELECT digest FROM sessions")
    await decided(
        connection,
        CreateWalletKey(customer, made.id, made.account, "Mine", 1, session=session),
    )
    await connection.execute("SELECT 1")
    first, own = await entries(connection, "wallet_key.create")
    assert (first["actor_kind"], own["actor_kind"]) == ("command_line", "customer")
    assert (own["merchant_id"], own["mode"]) == (None, "live")
    digest = bytes.fromhex(own["object_id"])
    assert await decided(connection, RevokeWalletKey(customer, made.id, made.account, digest))
    [revoked] = await entries(connection, "wallet_key.revoke")
    assert revoked["before"]["revoked_at"] is None
    assert revoked["after"]["revoked_at"] is not None


async def test_a_watched_column_fires_its_trigger(connection) -> None:
    """A column that is in the entries but not in the trigger's list could change without one."""
    rows = await connection.fetch(
        "SELECT t.tgrelid::regclass::text, (SELECT array_agg(a.attname::text) FROM pg_attribute a "
        "WHERE a.attrelid = t.tgrelid AND a.attnum = ANY(t.tgattr::int2[])) "
        "FROM pg_trigger t WHERE tgfoid = 'journal_change'::regproc"
    )
    for table, columns in rows:
        journal = TABLES[table].journal
        assert journal is not None
        watched = {column.removeprefix("#") for column in journal.columns.split()}
        if table == "wallets":  # updated by every payment: the spine adds its entries
            assert columns is None
        elif columns is not None:  # without a list, every column fires it
            assert watched <= set(columns)


async def test_an_address_is_removed_after_its_time_and_seals_stay_valid(
    dsn: str, connection
) -> None:
    shop = await make_shop(connection)
    await shops.set_fee(connection, PERSON, shop.merchant.id, 5)
    await seal_all(dsn)
    now = datetime.now(UTC)
    assert await purge_addresses(connection, now - timedelta(days=1)) == 0
    [entry] = await entries(connection, "merchant.update")
    assert entry["address"] == PERSON.address
    assert await purge_addresses(connection, now + timedelta(days=1)) == 1
    [entry] = await entries(connection, "merchant.update")
    assert (entry["address"], entry["actor_name"]) == (None, PERSON.name)
    assert (await look(dsn)).differences == []


async def test_failed_log_ins_add_up_by_day(connection) -> None:
    made = await make_customer(connection, OPERATOR, name="A", mode="live", tier="basic")
    who, late = CustomerId(made.id), datetime(2026, 11, 17, 18, 59, tzinfo=UTC)
    midnight = late + timedelta(minutes=1)  # in the Maldives
    for at, attempts in ((late, 1), (late, 2), (midnight, 1)):
        await failed_logins.count(connection, who, at, attempts)
    rows = await connection.fetch("SELECT day, attempts FROM failed_logins ORDER BY day")
    assert [(str(row["day"]), row["attempts"]) for row in rows] == [
        ("2026-11-17", 3),
        ("2026-11-18", 1),
    ]
    await purge_addresses(connection, midnight)
    assert await connection.fetchval("SELECT count(*) FROM failed_logins") == 1


async def test_filters(connection) -> None:
    shop, other = await make_shop(connection), await make_shop(connection)
    await shops.set_fee(connection, PERSON, shop.merchant.id, 5)
    await shops.set_fee(connection, PERSON, other.merchant.id, 6)

    async def found(**wanted: Any) -> set[str]:
        page = await find(connection, Filter(**wanted), 100)
        return {f"{entry.action} {entry.merchant_id}" for entry in page.rows}

    mine = await found(merchant_id=shop.merchant.id)
    assert {name.split()[1] for name in mine} == {shop.merchant.id}
    assert await found(merchant_id=shop.merchant.id, actor=PERSON.name) == {
        f"merchant.update {shop.merchant.id}"
    }
    assert len(await found(actor=PERSON.name)) == 2
    assert await found(object_id=other.merchant.id, action="merchant.update") == {
        f"merchant.update {other.merchant.id}"
    }
    live = await find(connection, Filter(merchant_id=shop.merchant.id, mode="live"), 100)
    assert {entry.mode for entry in live.rows} == {None, "live"}
    now = datetime.now(UTC)
    assert await found(since=now + timedelta(hours=1)) == set()
    assert await found(before=now - timedelta(hours=1)) == set()


async def test_creates_and_payments_write_no_entry(dsn: str, connection) -> None:
    """The hot path has no additional statement, and its batch no work with the journal."""
    shop = await make_shop(connection)
    tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
    before = await connection.fetchval("SELECT count(*) FROM journal")
    runner = BatchRunner(dsn, "http://laari.test")
    [payment] = await runner.run([CreatePayment(tenant, PaymentDraft("a", 100))], 1.0)
    assert not isinstance(payment, tuple)
    await runner.run([PayPayment(tenant, payment.id, sandbox_customer(tenant))], 1.0)
    await runner.close()
    assert await connection.fetchval("SELECT status FROM payments") == "paid"
    assert await connection.fetchval("SELECT count(*) FROM journal") == before
    world = World(datetime.now(UTC), "", os.urandom)
    CreatePayment(tenant, PaymentDraft("b", 100)).decide(world)
    [statement, *_] = writing(world)
    assert "journal" not in statement
