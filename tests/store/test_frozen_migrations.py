"""A migration that was released never changes, and what it made can be upgraded.

A database of each release is kept as the rows it held (`released/`). The migrations up to then make
its tables, and those that came later have to bring it here with its books whole.
"""

import hashlib
import shutil
from pathlib import Path

import asyncpg
import pytest

from laari.store.audit.schema import FILE as CATALOG
from laari.store.postgres.migrate import FOLDER, check, known_migrations, migrate
from laari.store.postgres.pool import connection_to
from tests.audit.books import look
from tools.audit_schema import dump_catalog

# Add a line for a new migration when it is released, and a file of rows to RELEASED.
DIGESTS = {
    "0001_schema.sql": "737df23d2fcca74a88bc660505ba18f824bdf8a5edc60bd2682da0e24eb56edb",
    "0002_messages.sql": "2fab260d18d6e7904d809a306082d791fba4662de572b8db134a57c091f46787",
    "0003_keys.sql": "c05e8aa9372f7336b5862e511bcc17b6443b750ffe387deceef9ee94f7c68715",
    "0004_people.sql": "1eee7cea918e07b6e8b01a3e7874b43ee24442e40a81872db2f701d3868ff6be",
    "0005_journal.sql": "bdb44eff8be706fc3415d2f98aacbd215c81386d92fd750d41529afaa607e825",
    "0006_refunds.sql": "ca7da7b918e5bb40cb1257dfb748ce276d6a89597b5b38cfca736a658b05bdfe",
    "0007_payouts.sql": "2c97202a96375e50592d94cfadcd387bfe0102ae5b862b2d144e27ea24d65576",
    "0008_desk.sql": "d480b78041520eeca016d637cfb95c31df32397a89dc26752d06c828c7ed4a87",
    "0009_till_closings.sql": "3cf9a27044f9150a655e100b50b6cfa3a9e97a48dd7c8a40b6f605867d7cea97",
    "0010_contact_changes.sql": "f8838f924471818b847b5a414a67a3e2932c49e8a31bcafe48410467794777b7",
    "0011_customers.sql": "0cb0c030fff66d31546d2bfe8afbe1c77efb981ee85834bcc49ebcf609265b30",
    "0012_bank_matches.sql": "933f0702747e3bacdea47d5dde9343c18fb1fa5d23cba7070510e01c9154c90a",
}
RELEASED = {"0.1.0": 1}  # the last migration of each release
FILES = Path(__file__).parent / "released"


def test_no_migration_has_changed() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.sql")
    }
    assert found == DIGESTS, "write another migration instead"


@pytest.mark.parametrize("release", RELEASED)
async def test_a_filled_database_of_a_release_is_upgraded(
    empty_dsn: str, release: str, tmp_path: Path
) -> None:
    for migration in known_migrations()[: RELEASED[release]]:
        name = f"{migration.version:04}_{migration.name}.sql"
        shutil.copy(FOLDER / name, tmp_path / name)
    await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    try:
        await connection.execute((FILES / f"{release}.sql").read_text())
        await connection.execute(
            "INSERT INTO merchant_users (email, merchant_id, password_hash) "
            "SELECT 'old@shop.mv', id, 'hash' FROM merchants ORDER BY id LIMIT 1"
        )
        await connection.execute(
            "INSERT INTO sessions (digest, email, created_at, authenticated_at, seen_at) "
            "VALUES (sha256('token'), 'old@shop.mv', now(), now(), now())"
        )
        # Its rows name transactions that this server has to have passed.
        last = await connection.fetchval(
            "SELECT greatest(max(upto_xid), (SELECT xid FROM figures_upto)) FROM seals"
        )
        while await connection.fetchval("SELECT pg_current_xact_id()::text::bigint") <= last:
            pass
    finally:
        await connection.close()

    await migrate(empty_dsn)

    await check(empty_dsn)
    assert await dump_catalog(empty_dsn) == CATALOG.read_bytes()
    report = await look(empty_dsn)
    assert report.differences == []
    assert report.last_seal is not None
    assert report.payments > 10
    async with connection_to(empty_dsn) as connection:
        for table in ("events", "deliveries", "saved_responses", "authorizations", "topup_slips"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") > 0
        # 0002: customers who were there before read English, and are sent nothing old.
        languages = await connection.fetch("SELECT DISTINCT language FROM customers")
        assert [row["language"] for row in languages] == ["en"]
        assert await connection.fetchval("SELECT count(*) FROM messages") == 0
        # 0004: everybody who logged in to a merchant is one of its owners, and stays logged in.
        rows = await connection.fetch(
            "SELECT p.email, p.password_hash, p.proven, b.role, b.till, length(s.digest) "
            "FROM persons p JOIN memberships b ON b.person_id = p.id "
            "JOIN merchants m ON m.id = b.merchant_id JOIN sessions s ON s.person_id = p.id"
        )
        assert [tuple(row) for row in rows] == [("old@shop.mv", "hash", True, "owner", None, 32)]
