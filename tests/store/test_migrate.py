import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from laari.store.audit.schema import FILE as CATALOG
from laari.store.postgres.connect import DatabaseUnreachableError
from laari.store.postgres.migrate import (
    FOLDER,
    MigrationError,
    check,
    known_migrations,
    migrate,
    schema_version,
)
from tests.audit.books import look, write_books
from tools.audit_schema import dump_catalog

LATEST = len(known_migrations())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The real migrations, and room for more."""
    return Path(shutil.copytree(FOLDER, tmp_path / "migrations"))


async def run_sql(dsn: str, statement: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetch(statement)
    finally:
        await connection.close()


async def test_migrates_an_empty_database_and_then_has_nothing_to_do(empty_dsn: str) -> None:
    assert await schema_version(empty_dsn) == 0
    with pytest.raises(MigrationError, match="run `laari migrate`"):
        await check(empty_dsn)
    assert await migrate(empty_dsn) == (0, LATEST)
    assert await migrate(empty_dsn) == (LATEST, LATEST)
    await check(empty_dsn)


async def test_processes_that_migrate_at_once_do_it_once(empty_dsn: str) -> None:
    results = await asyncio.gather(*(migrate(empty_dsn) for _ in range(4)))
    assert sorted(results) == [(0, LATEST), *[(LATEST, LATEST)] * 3]
    rows = await run_sql(empty_dsn, "SELECT version FROM schema_migrations ORDER BY 1")
    assert [row["version"] for row in rows] == list(range(1, LATEST + 1))


async def test_a_newer_schema_is_refused_in_one_line(dsn: str) -> None:
    newer = f"INSERT INTO schema_migrations VALUES ({LATEST + 1}, 'future', '')"
    await run_sql(dsn, newer)
    for attempt in (migrate, check):
        with pytest.raises(MigrationError, match=f"at version {LATEST + 1}, newer") as refused:
            await attempt(dsn)
        assert "\n" not in str(refused.value)


async def test_a_schema_with_another_migration_of_the_same_number_is_refused(dsn: str) -> None:
    await run_sql(dsn, f"UPDATE schema_migrations SET name = 'other' WHERE version = {LATEST}")
    for attempt in (migrate, check):
        with pytest.raises(MigrationError, match=f"unreleased .* {LATEST} is other, not"):
            await attempt(dsn)


async def test_a_schema_of_an_edited_file_with_the_same_name_is_refused(
    empty_dsn: str, folder: Path
) -> None:
    first = known_migrations()[0]
    edited = folder / f"0001_{first.name}.sql"
    edited.write_text(edited.read_text() + "-- more\n")
    await migrate(empty_dsn, folder)
    for attempt in (migrate, check):
        with pytest.raises(MigrationError, match=f"unreleased .* 1 is another {first.name}$"):
            await attempt(empty_dsn)
    assert await schema_version(empty_dsn) == LATEST  # for a backup


async def test_a_database_of_0_1_without_digests_is_refused(dsn: str) -> None:
    await run_sql(dsn, "ALTER TABLE schema_migrations DROP COLUMN digest")
    for attempt in (migrate, check):
        with pytest.raises(MigrationError, match="made by an unreleased version") as refused:
            await attempt(dsn)
        assert "\n" not in str(refused.value)
    assert await schema_version(dsn) == LATEST


async def test_a_migration_that_fails_leaves_nothing_behind(dsn: str, folder: Path) -> None:
    (folder / f"{LATEST + 1:04}_good.sql").write_text("CREATE TABLE good (n bigint)")
    bad = folder / f"{LATEST + 2:04}_bad.sql"
    bad.write_text("CREATE TABLE half (n bigint); SELECT 1 / 0")
    with pytest.raises(MigrationError, match=f"{LATEST + 2:04}_bad failed and was undone"):
        await migrate(dsn, folder)
    assert await schema_version(dsn) == LATEST + 1
    tables = await run_sql(dsn, "SELECT to_regclass('good') AS good, to_regclass('half') AS half")
    assert (tables[0]["good"], tables[0]["half"]) == ("good", None)

    bad.write_text("CREATE TABLE half (n bigint)")
    assert await migrate(dsn, folder) == (LATEST + 1, LATEST + 2)


async def test_a_filled_database_is_upgraded_with_its_books_whole(dsn: str, folder: Path) -> None:
    await write_books(dsn)
    later = folder / f"{LATEST + 1:04}_later.sql"
    later.write_text("ALTER TABLE payments ADD COLUMN later bigint NOT NULL DEFAULT 7")
    assert await migrate(dsn, folder) == (LATEST, LATEST + 1)
    report = await look(dsn)
    assert [each.id for each in report.differences] == ["column payments.later"]
    assert report.payments > 10
    (row,) = await run_sql(dsn, "SELECT bool_and(later = 7) AS filled FROM payments")
    assert row["filled"]


@pytest.mark.parametrize("name", ["0009_gap.sql", "1_short.sql", "0002 blank.sql"])
def test_misnumbered_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "0001_first.sql").write_text("")
    (tmp_path / name).write_text("")
    with pytest.raises(MigrationError):
        known_migrations(tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://laari:hush@127.0.0.1:1/laari",
        "postgresql://laari:hush@nowhere.invalid/laari",
        "postgresql://laari:hu/sh@db/laari",
    ],
)
async def test_an_unreachable_database_is_one_line_without_the_password(url: str) -> None:
    with pytest.raises(DatabaseUnreachableError) as refused:
        await check(url)
    assert "\n" not in str(refused.value)
    assert "hu" not in str(refused.value)


async def test_an_unknown_database_is_one_line(dsn: str) -> None:
    with pytest.raises(DatabaseUnreachableError, match="does not exist"):
        await check(dsn.replace("/test_", "/other_"))


async def test_the_audit_knows_the_schema_on_every_version_of_postgresql(dsn: str) -> None:
    assert CATALOG.read_bytes() == await dump_catalog(dsn), "run `python -m tools.audit_schema`"


async def test_a_check_of_several_columns_has_a_name_of_its_own(dsn: str) -> None:
    """A generated name counts the checks before it, so a later one would change it."""
    rows = await run_sql(
        dsn,
        "SELECT conrelid::regclass || '.' || conname AS name FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace AND contype = 'c' "
        "AND conname ~ '_check[0-9]*$' AND cardinality(conkey) <> 1",
    )
    assert [row["name"] for row in rows] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = ''",
        "TRUNCATE events",
        "UPDATE late_transfers SET tenant_id = 1",
        "DELETE FROM late_transfers",
        "DELETE FROM payouts",
        "DELETE FROM payout_runs",
        "DELETE FROM bank_orders",
        "DELETE FROM bank_lines",
    ],
)
async def test_rows_of_the_past_are_kept(dsn: str, statement: str) -> None:
    with pytest.raises(asyncpg.RestrictViolationError, match="is insert-only"):
        await run_sql(dsn, statement)


# Analyzing them costs nothing that a payment could notice, however long the service runs.
SMALL = """
    access_tokens bank_accounts bank_files bank_holidays bank_lines bank_orders bank_statements
    customers
    daily_figures failed_logins fee_sweeps figures_upto float_signoffs fund_movements installation
    invitations message_choices messages_upto person_days
    late_transfers memberships merchant_funds merchant_totals merchants oauth_clients
    passkeys password_links payout_runs payout_terms payouts persons remembered_devices
    reusable_links sandbox_periods
    schema_migrations seals second_factors sessions tenants tiers till_devices tills topup_slips
    wallet_freezes
    wallet_keys
""".split()
SMALL += """
    applications cases contact_changes customer_identities customer_notes customer_signups
    fee_history pending_movements record_changes scheduled_fees till_closings
    trusted_people
""".split()


async def test_analyzing_a_table_that_grows_with_payments_reads_few_pages(dsn: str) -> None:
    """One column, or one expression of an index, with the default target makes it read them all."""
    rows = await run_sql(
        dsn,
        "SELECT relation.relname || '.' || attname AS name, attstattarget AS target "
        "FROM pg_attribute JOIN pg_class AS relation ON relation.oid = attrelid "
        "LEFT JOIN pg_index ON indexrelid = attrelid "
        "JOIN pg_class AS owner ON owner.oid = coalesce(indrelid, attrelid) "
        "WHERE relation.relnamespace = 'public'::regnamespace AND attnum > 0 "
        "AND NOT attisdropped AND owner.relname <> ALL (string_to_array('"
        + " ".join(SMALL)
        + "', ' ')) AND (relation.relkind = 'r' OR indkey[attnum - 1] = 0)",
    )
    assert {row["name"]: row["target"] for row in rows if row["target"] != 10} == {}
    assert len(rows) > 100


@pytest.mark.parametrize("text", ["[]", "1", "null", '"a"', "{", ""])
async def test_metadata_is_an_object_in_json(dsn: str, text: str) -> None:
    (row,) = await run_sql(
        dsn,
        "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint "
        "WHERE conname = 'payments_metadata_check'",
    )
    assert await run_sql(dsn, f"SELECT FROM (VALUES ('{{}}')) AS v (metadata) WHERE {row[0]}")
    with suppress(asyncpg.InvalidTextRepresentationError):  # no JSON at all
        assert not await run_sql(
            dsn, f"SELECT FROM (VALUES ('{text}')) AS v (metadata) WHERE {row[0]}"
        )
