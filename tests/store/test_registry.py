"""The one registry of tables: all of it can be loaded, locked and written, in its order."""

import asyncio
import os
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.command import Command
from laari.rules.needs import Needs
from laari.rules.payments.payments import CancelPayment, CreatePayment, PaymentDraft
from laari.rules.records.bank import EarnedFees
from laari.rules.records.payments import Payment
from laari.rules.records.people import KeyCounts
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.tables import Additions, Lookup, Table, UnlockedRowError
from laari.rules.world import REGISTRY, World
from laari.store.batch.load import load
from laari.store.batch.runner import BatchRunner
from laari.store.batch.save import writing
from laari.store.postgres.pool import connection_to
from laari.store.tables import KeyedStatements, Statements
from tests.actors import OPERATOR
from tests.making import make_merchant
from tests.sampling import some_of

NOW = datetime(2026, 2, 27, 12, 0, tzinfo=UTC)
TENANT = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)
TABLES = [each for each in REGISTRY if isinstance(each, Table)]
LOOKUPS = [each for each in REGISTRY if isinstance(each, Lookup)]
JOURNALS = [each for each in REGISTRY if isinstance(each, Additions)]
SAMPLES: dict[str, Any] = {
    "bigint": 7,
    "numeric": 7,
    "text": "x",
    "text[]": ("x",),
    "uuid": UUID(int=7),
    "date": date(2026, 2, 27),
    "bytea": b"x",
    "boolean": True,
    "timestamptz": NOW,
}
LOOKUP_KEYS: dict[str, Any] = {
    "helps": None,
    "open_contact_changes": (UUID(int=7), "mobile"),
    "contact_holders": ("live", "mobile", "7771234"),
    "recipients": ("email", "a@laari.test"),
    "topups": ("live", "slip"),
    "waiting_references": "slip",
    "authorization_ids": (1, "reference"),
    "balances": 1,
    "refund_counts": UUID(int=7),
    "open_tills": (1, "1"),
    "held": 1,
    "dues": (1, NOW),
    "bank_accounts": 1,
    "paid_accounts": 1,
    "account_owners": 1,
    "approved_runs": "live",
    "importers": date(2026, 2, 27),
    "imported_sums": UUID(int=7),
    "last_withdrawals": 1,
    "answers": "LP000001R0001",
    "bank_movements": ("sent_back", "FT1"),
    "run_numbers": "live",
    "earned_fees": "live",
    "tenants": 1,
    "live_tenants": "merchant",
    "new_tenants": ("merchant", "live"),
    "new_accounts": "customer",
    "merchants_held": 5,
    "open_applications": "merchant",
    "client_owners": "client",
    "pairing_codes": b"digest",
    "till_names": 1,
    "link_counts": 1,
    "devices_of_till": UUID(int=7),
    "client_counts": "merchant",
    "order_payouts": "LP000001R0001",
    "run_payouts": UUID(int=7),
    "payout_orders": UUID(int=7),
    "signoffs": date(2026, 2, 27),
    "invitation_links": b"digest",
    "members": "merchant",
    "invited": "merchant",
    "person_ids": "a@laari.test",
    "link_owners": bytes(32),
    "sandbox_shops": UUID(int=7),
    "wallet_key_counts": 1,
    "places": UUID(int=7),
    "log_ins_of": UUID(int=7),
    "passkeys_of": UUID(int=7),
    "wallet_keys_of": UUID(int=7),
    "passkey_ids": b"credential",
    "devices_of": UUID(int=7),
    "device_days": UUID(int=7),
    "factor_required": UUID(int=7),
    "invitation_mails": "a@laari.test",
    "line_cases": "0123456789ABCDEF",
    "open_cases": UUID(int=7),
    "receipts_sent": UUID(int=7),
    "lines": "0123456789ABCDEF",
}
# The other look-ups find nothing. A merchant without any movement has a balance too.
FOUND: dict[str, Any] = {
    "helps": {None: ()},
    "balances": {1: 0},
    "bank_accounts": {1: ()},
    "paid_accounts": {1: frozenset()},
    "approved_runs": {"live": (), "sandbox": ()},
    "importers": {date(2026, 2, 27): frozenset()},
    "imported_sums": {UUID(int=7): 0},
    "last_withdrawals": {1: 0},
    "earned_fees": {"live": EarnedFees(0, 0, 0)},
    "run_payouts": {UUID(int=7): ()},
    "payout_orders": {UUID(int=7): ()},
    "wallet_key_counts": {1: KeyCounts(0, 0)},
    "members": {"merchant": {}},
    "invited": {"merchant": set()},
    "places": {UUID(int=7): {}},
    "new_tenants": {("merchant", "live"): 1},
    "new_accounts": {"customer": 7_700_000_000_001},
    "merchants_held": {5: 0},
    "client_counts": {"merchant": 0},
    "till_names": {1: ()},
    "link_counts": {1: 0},
    "devices_of_till": {UUID(int=7): ()},
    "log_ins_of": {UUID(int=7): frozenset()},
    "passkeys_of": {UUID(int=7): frozenset()},
    "wallet_keys_of": {UUID(int=7): frozenset()},
    "devices_of": {UUID(int=7): frozenset()},
    "factor_required": {UUID(int=7): False},
    "invitation_mails": {"a@laari.test": ()},
    "open_cases": {UUID(int=7): 0},
    "receipts_sent": {UUID(int=7): 0},
}


def key_of(table: Table[Any, Any]) -> Any:
    types = Statements(table).types
    key = tuple(SAMPLES[types[field]] for field in table.key)
    return key if len(key) > 1 else key[0]


def sample(stored: Table[Any, Any] | Additions[Any]) -> Any:
    return stored.record(*(SAMPLES[kind] for kind in Statements(stored).types.values()))


class Spy:
    """A connection that remembers what it was asked, and finds nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        self.asked.append(statement)
        return []


def test_everything_on_the_world_is_registered_once() -> None:
    names = [each.name for each in REGISTRY]
    assert len(set(names)) == len(names)
    assert len(TABLES) + len(LOOKUPS) + len(JOURNALS) == len(REGISTRY)
    assert {each.name for each in LOOKUPS} == LOOKUP_KEYS.keys()


def test_references_come_after_everything_that_is_locked() -> None:
    """A charge that waited for its twin finds it, and not a limit that the twin has used up."""
    names = [each.name for each in REGISTRY]
    for name in ("saved_responses", "tenant_settings", "merchants", "payments", "requests"):
        assert names.index(name) < names.index("authorizations")
    # What a payment or an authorization names is locked after it.
    assert names.index("payments") < names.index("requests")
    for name in ("payments", "requests", "authorizations"):
        assert names.index(name) < names.index("wallets")
    assert names.index("wallets") < names.index("references")
    assert names.index("wallets") < names.index("authorization_ids")


def test_rows_that_name_others_come_before_them() -> None:
    """A batch follows them once, in the order of the registry."""
    names = [each.name for each in REGISTRY]
    for first, then in (
        ("movements", "order_payouts"),
        ("movements", "topups"),
        ("movements", "bank_lines"),
        ("order_payouts", "payouts"),
        ("runs", "run_payouts"),
        ("run_payouts", "payouts"),
        ("payouts", "payout_orders"),
        ("payout_orders", "orders"),
        ("payouts", "tenants"),
        ("orders", "answers"),
        ("tenants", "merchants"),
        ("payouts", "wallets"),
        ("invitation_links", "merchant_settings"),
        ("person_ids", "persons"),
        ("persons", "log_ins_of"),
        ("link_owners", "persons"),
        ("link_owners", "customers"),
        ("customers", "log_ins_of"),
        ("customer_signups", "new_accounts"),
        ("customer_signups", "contact_holders"),
        ("contact_changes", "contact_holders"),
        ("new_accounts", "wallets"),
        ("wallets", "sandbox_shops"),
        ("wallets", "wallet_key_counts"),
        ("customers", "wallet_keys_of"),
        ("wallet_keys_of", "wallet_keys"),
        ("log_ins_of", "log_ins"),
        ("open_applications", "applications"),
        ("person_days", "funds"),
    ):
        assert names.index(first) < names.index(then), (first, then)


async def test_a_batch_loads_and_locks_in_the_order_of_the_registry() -> None:
    needs = Needs()
    for table in reversed(TABLES):
        needs.lock(table, key_of(table))
    spy = Spy()
    await load(spy, needs, "http://laari.test", lambda: NOW)  # type: ignore[arg-type]
    locking = [text for text in spy.asked if "advisory" in text or " FOR " in text]
    expected = [each.table for each in TABLES]
    assert expected[0] == "saved_responses"  # by an advisory lock
    assert "advisory" in locking[0]
    assert [re.findall(r"FROM (\w+) WHERE", text)[0] for text in locking[1:]] == expected[1:]


def test_a_batch_writes_in_the_order_of_the_registry() -> None:
    world = World(NOW, "http://laari.test", os.urandom)
    stored = [each for each in REGISTRY if isinstance(each, Table | Additions)]
    for each in reversed(stored):
        if isinstance(each, Additions):
            each.__get__(world, World).append(sample(each))
        else:
            each.of(world).add(key_of(each), sample(each))
    statement, *values = writing(world)
    kept = [each for each in stored if each.kept]
    written = re.findall(r"INSERT INTO (\w+)", statement)
    changes = [table for table in written if table == "record_changes"]
    others = [table for table in written if table != "record_changes"]
    assert others[: len(stored)] == [each.table for each in stored]
    assert len(changes) == len(kept) > 0
    assert len(values) == len(stored) + len(kept)
    assert stored[-1] is World.events  # with what is to be delivered of them


@pytest.mark.parametrize("table", some_of(TABLES, 4), ids=lambda table: table.name)
async def test_every_table_has_its_statements_and_the_schemas_columns(
    dsn: str, table: Table[Any, Any]
) -> None:
    statements = KeyedStatements(table)
    async with connection_to(dsn) as connection:
        await _has_columns(connection, table)
        await _is_unique(connection, table.table, table.key)
        for text in (statements.read_by_key, statements.lock_by_key):
            await connection.prepare(text)
        if table.changes_from:
            await connection.prepare(statements.update(1))
        if table.replaced_from:
            await connection.prepare(statements.upsert(1))


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda journal: journal.name)
async def test_every_journal_has_its_statement_and_the_schemas_columns(
    dsn: str, journal: Additions[Any]
) -> None:
    async with connection_to(dsn) as connection:
        await _has_columns(connection, journal)
        await connection.prepare(Statements(journal).insert(1))


async def _has_columns(
    connection: asyncpg.Connection, stored: Table[Any, Any] | Additions[Any]
) -> None:
    found = await connection.fetch(
        "SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute "
        "WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped",
        stored.table,
    )
    columns = {row["attname"]: row["type"] for row in found}
    short = {"timestamp with time zone": "timestamptz", "integer": "bigint", "smallint": "bigint"}
    for field, kind in Statements(stored).types.items():
        assert short.get(columns[field], columns[field]) == kind, field
    if stored.contested:
        await _is_unique(connection, stored.table, stored.contested)


async def _is_unique(connection: asyncpg.Connection, table: str, fields: tuple[str, ...]) -> None:
    found = await connection.fetch(
        "SELECT array_agg(a.attname::text ORDER BY a.attname) AS fields FROM pg_index i "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
        "WHERE i.indrelid = $1::regclass AND i.indisunique AND i.indpred IS NULL "
        "GROUP BY i.indexrelid",
        table,
    )
    assert sorted(fields) in [row["fields"] for row in found]


@pytest.mark.parametrize("table", some_of(TABLES, 4), ids=lambda table: table.name)
async def test_every_table_can_be_locked_and_read(dsn: str, table: Table[Any, Any]) -> None:
    locks, reads = Needs(), Needs()
    locks.lock(table, key_of(table))
    reads.read(table, key_of(table))
    assert (locks.takes_locks, reads.takes_locks) == (True, False)
    async with connection_to(dsn) as connection:
        for needs in (locks, reads):
            async with connection.transaction():
                world = await load(connection, needs, "http://laari.test", lambda: NOW)
            assert table.of(world).get(key_of(table)) is None


@pytest.mark.parametrize("lookup", some_of(LOOKUPS, 4), ids=lambda lookup: lookup.name)
async def test_every_lookup_is_loaded(dsn: str, lookup: Lookup[Any, Any]) -> None:
    needs = Needs()
    needs.read(lookup, LOOKUP_KEYS[lookup.name])
    async with connection_to(dsn) as connection:
        world = await load(connection, needs, "http://laari.test", lambda: NOW)
    found = getattr(world, lookup.name)
    if lookup is World.dues:
        assert (found[1, NOW].balance, found[1, NOW].cut_off) == (0, NOW)
    else:
        assert found == FOUND.get(lookup.name, {})


@dataclass(frozen=True)
class Look(Command[Payment]):
    """Reads a payment; a careless one writes it as well."""

    payment_id: UUID
    writes: bool = False

    def needs(self, needs: Needs) -> None:
        needs.read(World.payments, self.payment_id)

    def decide(self, world: World) -> Payment:
        payment = world.payments.get(self.payment_id)
        assert payment is not None
        if self.writes:
            world.payments.change(payment.id, replace(payment, status="expired"))
        return payment


@pytest.mark.parametrize("reader_first", [True, False])
async def test_a_row_that_one_command_reads_and_another_locks_is_locked(
    dsn: str, reader_first: bool
) -> None:
    """It is read once, under the lock: the reader does not bring back an older one."""
    runner = BatchRunner(dsn, "http://laari.test")
    [payment] = await runner.run([CreatePayment(TENANT, PaymentDraft("a", 100))], 1.0)
    assert isinstance(payment, Payment)
    commands: list[Command[Payment]] = [
        Look(payment.id),
        CancelPayment(TENANT, payment.id, OPERATOR),
    ]
    needs = Needs()
    for command in commands if reader_first else reversed(commands):
        command.needs(needs)
    assert needs.locked(World.payments) == {payment.id}
    assert needs.only_read(World.payments) == set()
    async with connection_to(dsn) as other:
        transaction = other.transaction()
        await transaction.start()
        await other.execute("UPDATE payments SET title = 'newer' WHERE id = $1", payment.id)
        order = commands if reader_first else commands[::-1]
        running = asyncio.create_task(runner.run(order, 10.0))
        _, waits = await asyncio.wait([running], timeout=0.3)
        assert waits  # the reader too: what it sees must be what the other command changes
        await transaction.commit()
        outcomes = await running
    await runner.close()
    assert [row.title for row in outcomes if not isinstance(row, Refusal)] == ["newer", "newer"]
    assert {row.status for row in outcomes if not isinstance(row, Refusal)} >= {"cancelled"}


async def test_a_command_that_was_decided_without_its_lock_fails(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    [payment] = await runner.run([CreatePayment(TENANT, PaymentDraft("a", 100))], 1.0)
    assert isinstance(payment, Payment)
    with pytest.raises(UnlockedRowError):
        await runner.run([Look(payment.id, writes=True)], 1.0)
    [found] = await runner.run([Look(payment.id)], 1.0)
    assert isinstance(found, Payment)
    assert found.status == "pending"
    await runner.close()


async def test_a_shared_row_cannot_be_changed(dsn: str) -> None:
    """Many hold it together: what one wrote would be hidden from the others."""
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        merchant_id = shop.merchant.id
        needs = Needs()
        needs.lock(World.merchants, merchant_id)
        async with connection.transaction():
            world = await load(connection, needs, "http://laari.test", lambda: NOW)
    merchant = world.merchants.get(merchant_id)
    assert merchant is not None
    with pytest.raises(UnlockedRowError):
        world.merchants.change(merchant_id, replace(merchant, active=False))


async def test_worlds_do_not_share_their_rows() -> None:
    one, other = (
        World(NOW, "http://laari.test", os.urandom),
        World(NOW, "http://laari.test", os.urandom),
    )
    one.transfers.append(sample(World.transfers))
    one.wallets.lock(1, sample(World.wallets))
    assert (other.transfers, other.wallets.get(1)) == ([], None)
    assert one.wallets.get(1) is not None
