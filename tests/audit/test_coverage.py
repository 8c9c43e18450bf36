"""Every column is covered as its declaration says: a change of it is named, or declared as open."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from typing import Any, NamedTuple, get_type_hints

import asyncpg
import pytest
import pytest_asyncio

from laari.rules.world import REGISTRY, World
from laari.store.audit import CHECKS
from laari.store.audit.chain import verify_links, verify_rows
from laari.store.audit.coverage import Column, Covered, checks_of_added, columns_of
from laari.store.audit.covered import TABLES
from laari.store.audit.difference import Check
from laari.store.audit.report import settle, statement
from laari.store.audit.scope import EVERYTHING
from laari.store.ledger import sealed_rows
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.postgres.pool import connection_to
from tests.audit.books import KEY
from tests.audit.whole_books import write_whole

pytestmark = pytest.mark.ci

# Checks that are no statements. Seals also cover values beside their rows.
CHAIN = {
    "sealed_rows",
    "sealed_deliveries",
    "seal_mac",
    "seal_chain",
}
KINDS = {check.kind for check in CHECKS} | CHAIN

# Other values of a column, and a value instead of null.
VALUES: dict[str, tuple[tuple[str, ...], str]] = {
    "bigint": (("{} + 1", "{} + 100003"), "1"),
    "integer": (("{} + 1",), "1"),
    "numeric": (("{} + 1",), "1"),
    "text": (("{} || 'x'",), "'x'"),
    "boolean": (("NOT {}",), "true"),
    "uuid": (("gen_random_uuid()",), "gen_random_uuid()"),
    "timestamp with time zone": (("{} + interval '1 second'",), "now()"),
    "date": (("{} + 1", "{} + 1000"), "date '2027-01-01'"),
    "bytea": (("set_byte({0}, 0, 255 - get_byte({0}, 0))",), "'\\x00'::bytea"),
}
# The next value is as good: no transfer lies between the two.
FURTHER = {("figures_upto", "xid"): "1"}


# A value that only the constraints keep out: the check of the schema finds that they are gone.
KEPT_OUT = {
    "payments": {
        "authorization_id",
        "cancelled_at",
        "paid_at",
        "payer_account",
        "payment_reference",
        "refunded_at",
        "request_id",
        "status",
    },
    "payment_requests": {"cancelled_at", "fee", "paid_at", "payment_reference", "rejected_at"},
    "authorizations": {
        "account",
        "status",
        "approved_at",
        "rejected_at",
        "revoked_at",
        "cancelled_at",
    },
    "deliveries": {"status"},
}


class Tables(NamedTuple):
    dsn: str
    columns: dict[str, dict[str, str]]  # with their types


@pytest.fixture(scope="module")
def tables(engine: Any) -> Tables:
    dsn = engine.migrated("covered")

    async def make() -> Tables:
        await write_whole(dsn)
        columns: dict[str, dict[str, str]] = defaultdict(dict)
        async with connection_to(dsn) as connection:
            for table, name, kind in await connection.fetch(
                "SELECT table_name, column_name, data_type FROM information_schema.columns "
                "JOIN information_schema.tables USING (table_schema, table_name) "
                "WHERE table_schema = 'public' AND table_type = 'BASE TABLE' "
                "ORDER BY table_name, ordinal_position"
            ):
                columns[table][name] = kind
        return Tables(dsn, dict(columns))

    return asyncio.run(make())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def connection(tables: Tables) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(tables.dsn, seconds=3600) as own:
        yield own


def test_every_column_is_declared_once(tables: Tables) -> None:
    schema = {name: sorted(columns) for name, columns in tables.columns.items()}
    schema.pop("schema_migrations", None)
    declared = {name: sorted(c.name for c in columns_of(t)) for name, t in TABLES.items()}
    assert declared == schema


def test_every_check_that_is_declared_runs() -> None:
    named = {
        kind
        for table in TABLES.values()
        for column in columns_of(table)
        if column.kind not in ("open", "keyed")
        for kind in column.by.split()
    }
    for table in TABLES.values():
        named |= checks_of_added(table)
    assert named <= KINDS


def test_every_reason_is_a_sentence() -> None:
    reasons = {
        reason
        for table in TABLES.values()
        for reason in (*table.open, table.deleted, table.added)
        if reason
    }
    assert [reason for reason in reasons if not re.fullmatch(r"[A-Z].*\.", reason)] == []


def test_seals_have_the_columns_that_are_declared() -> None:
    digested = {
        name: sorted(each[2:] for each in subject.sealed if re.fullmatch(r"r\.\w+", each))
        for name, subject in SUBJECTS.items()
    }
    declared = {name: sorted(t.sealed.split()) for name, t in TABLES.items() if t.sealed}
    assert declared == digested


def test_kept_records_are_those_of_the_registry() -> None:
    """Commands keep the changes of all their fields; bytes have their digest."""
    kept = {
        each.table: (
            " ".join(each.kept),
            {name for name, hint in get_type_hints(each.record).items() if hint is not bytes},
        )
        for each in REGISTRY
        if getattr(each, "kept", ())
    }
    assert {name for name, table in TABLES.items() if table.kept} == kept.keys()
    for name, (key, fields) in kept.items():
        declared = TABLES[name].kept
        assert declared is not None
        assert declared.key == key
        assert {*declared.columns.split(), *TABLES[name].sealed.split()} >= fields, name
        assert {*declared.columns.split()} <= fields, name
    assert World.bank_lines.kept == ("reference",)


async def test_triggers_write_what_is_declared(tables: Tables) -> None:
    async with connection_to(tables.dsn) as own:
        rows = await own.fetch(
            "SELECT tgrelid::regclass::text, tgargs FROM pg_trigger "
            "WHERE tgfoid = 'journal_change'::regproc"
        )
    written = {table: args.decode().split("\0")[:-1] for table, args in rows}
    declared = {
        name: [table.journal.object_type, *table.journal.columns.split()]
        for name, table in TABLES.items()
        if table.journal is not None
    }
    assert {name: sorted(each) for name, each in declared.items()} == {
        name: sorted(each) for name, each in written.items()
    }


def checked(table: Covered) -> list[Column]:
    return [each for each in columns_of(table) if each.kind not in ("open", "keyed")]


async def named_by(connection: asyncpg.Connection, table: str, kinds: set[str]) -> set[str]:
    """Those of these kinds that name a difference; only their own checks run."""
    found = Counter[str]()
    for each in SUBJECTS if kinds & {"sealed_rows", "sealed_deliveries"} else ():
        if table == each or table not in SUBJECTS:
            found.update(one.kind for one in await verify_rows(connection, each))
    if kinds & {"seal_mac", "seal_chain"}:
        found.update(one.kind for one in await verify_links(connection, KEY))
    for check in CHECKS:
        kept_elsewhere = check.kind == "kept_record" and f"'{table}'" not in check.sql
        if check.kind in kinds and not kept_elsewhere and not kinds & found.keys():
            found.update(await found_by(connection, check))
    return kinds & found.keys()


async def found_by(connection: asyncpg.Connection, check: Check) -> set[str]:
    try:
        async with connection.transaction():
            rows = await connection.fetch(EVERYTHING.apply(statement([check])))
    except asyncpg.DataError:
        return {check.kind}  # a value that cannot be read is reported
    return {row["kind"] for row in rows}


async def rows_to_try(
    connection: asyncpg.Connection, table: str, columns: dict[str, str], name: str
) -> list[str]:
    """A row in each state, of the live mode if there is one, with a value if there is one."""
    source, live = f"{table} r", "true"
    if table in SUBJECTS:
        source, live = sealed_rows.source(SUBJECTS[table]), SUBJECTS[table].live
    elif "mode" in columns:
        live = "r.mode = 'live'"
    elif "tenant_id" in columns:
        live = "r.tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')"
    state = "r.status" if "status" in columns and table != "saved_responses" else "r.ctid IS NULL"
    rows = await connection.fetch(
        f"SELECT DISTINCT ON ({state}) r.ctid::text FROM {source} "
        f"ORDER BY {state}, ({live}) IS NOT TRUE, r.{name} IS NULL, r.ctid"
    )
    return [row[0] for row in rows]


class Tried(NamedTuple):
    """Statements that change one value of one row."""

    sql: str
    before: Any
    after: Any
    loosened: bool  # only without the constraints of the table


async def changes(
    connection: asyncpg.Connection, table: str, columns: dict[str, str], name: str
) -> AsyncIterator[Tried]:
    """A change of each row to try: one that the constraints allow, if there is one."""
    others, instead = VALUES[columns[name]]
    loosen = await loosening(connection, table)
    for ctid in await rows_to_try(connection, table, columns, name):
        before = await connection.fetchval(f"SELECT {name} FROM {table} WHERE ctid = '{ctid}'")
        values = [instead] if before is None else [each.format(name) for each in others]
        if (table, name) in FURTHER:
            values = [FURTHER[table, name]]
        if columns[name] == "text":
            values += [
                "$other$" + row[0] + "$other$"
                for row in await connection.fetch(
                    f"SELECT DISTINCT {name} FROM {table} WHERE {name} IS NOT NULL "
                    f"AND {name} IS DISTINCT FROM $1 LIMIT 9",
                    before,
                )
            ]
        change = f"UPDATE {table} SET {name} = {{}} WHERE ctid = '{ctid}'"
        for loosened, value in [*((False, v) for v in values), *((True, v) for v in values)]:
            sql = (loosen if loosened else "") + change.format(value)
            try:
                async with connection.transaction():
                    await connection.execute(sql)
                    found = f"SELECT {name} FROM {table} ORDER BY ctid DESC LIMIT 1"
                    after = await connection.fetchval(found)
                    raise Undone
            except Undone:
                yield Tried(sql, before, after, loosened)
                break
            except (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError):
                continue
            except asyncpg.GeneratedAlwaysError:
                continue


async def loosening(connection: asyncpg.Connection, table: str) -> str:
    """Statements that drop the table's own constraints."""
    names = await connection.fetch(
        "SELECT conname FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype = 'c'",
        table,
    )
    identities = await connection.fetch(
        "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass "
        "AND attidentity <> ''",
        table,
    )
    return "".join(
        [
            *(f'ALTER TABLE {table} DROP CONSTRAINT "{row[0]}"; ' for row in names),
            *(f"ALTER TABLE {table} ALTER {row[0]} DROP IDENTITY; " for row in identities),
        ]
    )


class Undone(Exception):  # noqa: N818
    """Rolls a tampering back."""


def is_traceless(table: Covered, tried: Tried) -> bool:
    states = table.traceless.split()
    return tried.before in states and tried.after in states


@pytest_asyncio.fixture(loop_scope="module")
async def tampering(connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """Without triggers, in a transaction that is undone."""
    transaction = connection.transaction(isolation="repeatable_read")
    await transaction.start()
    await connection.execute("SET LOCAL session_replication_role = replica")
    await settle(connection, since_seal=False)
    yield connection
    await transaction.rollback()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if checked(table)])
async def test_a_change_of_any_column_is_named(
    tampering: asyncpg.Connection, tables: Tables, name: str
) -> None:
    """By the check that its declaration names."""
    unnamed, kept_out = [], set()
    assert await tampering.fetchval(f"SELECT count(*) FROM {name}") > 0
    for column in checked(TABLES[name]):
        async for tried in changes(tampering, name, tables.columns[name], column.name):
            transaction = tampering.transaction()
            await transaction.start()
            await tampering.execute(tried.sql)
            named = await named_by(tampering, name, set(column.by.split()))
            if not named and tried.loosened:
                kept_out.add(column.name)
            elif not named and not is_traceless(TABLES[name], tried):
                unnamed.append(tried.sql)
            await transaction.rollback()
    assert unnamed == []
    assert sorted(kept_out) == sorted(KEPT_OUT.get(name, ()))


MISSED = [name for name, table in TABLES.items() if checked(table) and not table.deleted]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", MISSED)
async def test_a_row_that_is_deleted_is_named(
    tampering: asyncpg.Connection, tables: Tables, name: str
) -> None:
    columns = tables.columns[name]
    kinds = {kind for column in checked(TABLES[name]) for kind in column.by.split()}
    for ctid in await rows_to_try(tampering, name, columns, next(iter(columns))):
        transaction = tampering.transaction()
        await transaction.start()
        await tampering.execute(f"DELETE FROM {name} WHERE ctid = '{ctid}'")
        assert await named_by(tampering, name, kinds), ctid
        await transaction.rollback()


# What says which checks name an added row.
STATES = {
    "transfers": "kind",
    "transactions": "status",
    "events": "type",
    "record_changes": "record",
    "journal": "object_type",
}


async def add_another(
    connection: asyncpg.Connection, tables: Tables, table: str, ctid: str, tid: str
) -> str | None:
    """Adds a row like this one, of this transaction: the next seal would cover it.

    It differs only as far as the unique indexes need, first in their last column. None if there
    can be one row only.
    """
    columns = tables.columns[table]
    values = {name: f"r.{name}" for name in columns}
    if table in SUBJECTS:
        values["xid"] = "pg_current_xact_id()::text::bigint"
    if "tid" in columns:
        values["tid"] = tid
    loosen, changed = "", set[str]()
    while True:
        sql = (
            f"{loosen}INSERT INTO {table} ({', '.join(values)}) OVERRIDING SYSTEM VALUE "
            f"SELECT {', '.join(values.values())} FROM {table} r WHERE ctid = '{ctid}'"
        )
        try:
            async with connection.transaction():
                await connection.execute(sql)
            return sql
        except asyncpg.UniqueViolationError as error:
            indexed = await connection.fetch(
                "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass "
                "AND attnum > 0 ORDER BY attnum DESC",
                error.constraint_name,
            )
            left = [each[0] for each in indexed if each[0] not in changed]
            if not left or left[0] not in columns:  # an expression: there is one row only
                return None
            changed.add(left[0])
            values[left[0]] = VALUES[columns[left[0]]][0][-1].format(f"r.{left[0]}")
        except asyncpg.CheckViolationError:
            loosen = await loosening(connection, table)


ADDED = [name for name, table in TABLES.items() if checked(table) and checks_of_added(table)]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ADDED)
async def test_a_row_that_is_added_is_named(
    tampering: asyncpg.Connection, tables: Tables, name: str
) -> None:
    """One of each state, with the same reference of a transaction and with another."""
    columns, table = tables.columns[name], TABLES[name]
    state = STATES.get(name) or ("status" if "status" in columns else "ctid IS NULL")
    named, unnamed = [], []
    for (ctid,) in await tampering.fetch(
        f"SELECT DISTINCT ON ({state}) ctid::text FROM {name} ORDER BY {state}, ctid DESC"
    ):
        for tid in ("r.tid", "r.tid || 'x'") if "tid" in columns else ("",):
            transaction = tampering.transaction()
            await transaction.start()
            sql = await add_another(tampering, tables, name, ctid, tid)
            if sql is not None:
                found = await named_by(tampering, name, checks_of_added(table))
                (named if found else unnamed).append(sql)
            await transaction.rollback()
    if table.added:
        assert named if table.added_named else not named
    else:
        assert unnamed == []
