"""What a seal digests stays as it was: what an earlier version sealed must not be accused later."""

import hashlib
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise

import asyncpg
import pytest

from laari.store.ledger import sealed_rows
from laari.store.ledger.copy_digest import divider
from laari.store.ledger.sealed_rows import SealedPlace
from laari.store.ledger.seals import Seal, insert, mac_of, next_seal
from laari.store.postgres.pool import connection_to
from tests.audit.books import KEY, look, pay, seal_all, write_books, write_more

pytestmark = pytest.mark.ci

FIRST = {
    "transfers": (
        "id",
        "r.id, r.kind, r.debit_account, r.credit_account, r.amount, r.payment_id, r.tid, "
        "r.created_at, r.xid",
    ),
    "transactions": (
        "tid",
        "r.tid, r.account, r.recorded, r.time, r.type, r.name, r.details, r.amount, "
        "r.status, r.failure, r.unpaid_id, r.xid, "
        "CASE r.type WHEN 'topup' THEN (SELECT s.slip FROM topup_slips s WHERE s.tid = r.tid) "
        "END, CASE WHEN r.type IN ('topup', 'adjustment') THEN "
        "(SELECT w.customer_id FROM wallets w WHERE w.account = r.account) END",
    ),
    "events": (
        "id",
        "r.id, r.tenant_id, r.type, r.object_id, r.created_at, r.body, r.xid, CASE r.type "
        "WHEN 'payment_request.created' THEN "
        "(SELECT q.account FROM payment_requests q WHERE q.id = r.object_id) "
        "WHEN 'authorization.approved' THEN "
        "(SELECT a.account FROM authorizations a WHERE a.id = r.object_id) END, "
        "CASE WHEN r.type IN ('payment.created', 'payment_request.created', "
        "'authorization.created') THEN "
        "(SELECT t.merchant_id FROM tenants t WHERE t.id = r.tenant_id) END",
    ),
    "journal": (
        "id",
        "r.id, r.time, r.actor_kind, r.actor_name, r.actor_role, r.action, r.object_type, "
        "r.object_id, r.merchant_id, r.mode, r.before, r.after, r.reason, r.xid",
    ),
    "refunds": (
        "id",
        "r.id, r.tenant_id, r.payment_id, r.amount, r.reason, r.note, r.actor_kind, "
        "r.actor_name, r.tid, r.created_at, r.xid",
    ),
}


LIVE = {
    # Of the service's own accounts, those of the live mode have odd numbers.
    "transfers": "(r.debit_account < 11 AND r.debit_account % 2 = 1) "
    "OR (r.credit_account < 11 AND r.credit_account % 2 = 1) "
    "OR EXISTS (SELECT FROM tenants t WHERE t.mode = 'live' "
    "AND 1000000000 + t.id IN (r.debit_account, r.credit_account))",
    "transactions": "r.account IN (SELECT account FROM wallets WHERE mode = 'live')",
    "events": "r.tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')",
    "journal": "r.mode IS NULL OR r.mode = 'live'",
    "refunds": "r.tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')",
}


@pytest.mark.parametrize("table", FIRST)
async def test_a_seal_digests_what_it_always_did(dsn: str, table: str) -> None:
    await write_books(dsn)
    await write_more(dsn)
    key, sealed = FIRST[table]
    own = [seal for seal in await seal_all(dsn, 10_000) if seal.subject == table]
    assert own
    async with connection_to(dsn) as connection:
        for seal in own:
            assert (seal.from_key, seal.upto_key) == (None, None)
            rows = (
                f"FROM {table} r WHERE r.xid > {seal.from_xid} AND r.xid <= {seal.upto_xid} "
                f"AND ({LIVE[table]})"
            )
            assert await digest_of_copy(connection, sealed, rows, key) == seal.content


async def digest_of_copy(connection: asyncpg.Connection, sealed: str, rows: str, key: str) -> bytes:
    file = BytesIO()
    query = f"SELECT {sealed} {rows} ORDER BY r.{key}"
    await connection.copy_from_query(query, output=file, format="binary")
    header, end = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
    copied = file.getvalue()
    assert (copied[:19], copied[-2:]) == (header, end)
    return hashlib.sha256(copied[19:-2]).digest()


def test_a_mac_covers_what_it_always_did() -> None:
    """The value was computed by the version that made the first seals."""
    seal = Seal(
        number=7,
        subject="events",
        from_xid=10,
        from_key=None,
        upto_xid=20,
        upto_key="k",
        row_count=3,
        deliveries=1,
        content=bytes(range(32)),
        sealed_at=datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC),
        mac=b"",
    )
    known = "6c7976e5e385e23c94f8e20c91015b7e67a6511db05162375777dceb38e18697"
    assert mac_of(b"k" * 32, seal, b"p" * 32).hex() == known


async def change_a_body(dsn: str, number: int) -> None:
    """Of an event that this seal covers."""
    async with connection_to(dsn) as connection:
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "UPDATE events SET body = body || '\\x20' WHERE id = (SELECT r.id FROM events r "
            "JOIN seals s ON r.xid > s.from_xid AND r.xid <= s.upto_xid "
            "WHERE s.number = $1 ORDER BY r.id LIMIT 1)",
            number,
        )


@pytest.mark.parametrize("chunk", [10, 10_000])  # seals are read together, or each by itself
async def test_a_body_that_is_changed_is_named(dsn: str, chunk: int) -> None:
    await write_books(dsn)
    made = await seal_all(dsn, chunk)
    number = next(seal.number for seal in made if seal.subject == "events")
    await change_a_body(dsn, number)
    found = [each for each in (await look(dsn)).differences if each.kind == "sealed_rows"]
    assert [each.id for each in found] == [f"seal {number}"]
    assert found[0].found.split(",")[0] == found[0].expected.split(" ")[0]  # as many rows


async def test_a_row_that_is_moved_to_the_next_seal_is_named(dsn: str) -> None:
    """Also where all rows of both, in their order, are the same as before."""
    await write_books(dsn)
    await pay(dsn, "more")
    first, second = [s for s in await seal_all(dsn, 10) if s.subject == "transfers"][:2]
    async with connection_to(dsn) as connection:
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "UPDATE transfers SET xid = $1 WHERE id = (SELECT id FROM transfers WHERE xid > $2 "
            "AND xid <= $3 ORDER BY id DESC LIMIT 1)",
            second.from_xid + 1,
            first.from_xid,
            first.upto_xid,
        )
    found = {each.id: each for each in (await look(dsn)).differences if each.kind == "sealed_rows"}
    assert set(found) == {f"seal {first.number}", f"seal {second.number}"}
    assert found[f"seal {first.number}"].found.startswith(f"{first.row_count - 1}, ")
    assert found[f"seal {second.number}"].found.startswith(f"{second.row_count + 1}, ")


async def test_bytes_that_look_like_the_end_of_a_seal_hide_nothing(dsn: str) -> None:
    """A body that was written before it was sealed holds the rows of the next seal, after bytes
    that look like the end of its own. Then the next seal's rows are changed."""
    await write_books(dsn)
    await pay(dsn, "more")
    events = sealed_rows.SUBJECTS["events"]
    async with connection_to(dsn) as connection:
        await connection.execute("SET session_replication_role = replica")
        xids = await connection.fetchval("SELECT array_agg(DISTINCT xid ORDER BY xid) FROM events")
        ends = [SealedPlace(0), SealedPlace(xids[0]), SealedPlace(xids[-1])]
        file = BytesIO()
        await connection.copy_from_query(
            f"SELECT {sealed_rows.columns(events)} FROM {sealed_rows.source(events)} "
            "WHERE r.xid > $1 ORDER BY r.id",
            xids[0],
            output=file,
            format="binary",
        )
        end = divider(len(events.sealed))
        hostile = b"{}" + end + file.getvalue()[19:-2] + end
        await connection.execute("UPDATE events SET body = $1 WHERE xid = $2", hostile, xids[0])
        async with connection.transaction():
            previous = None
            for after, upto in pairwise(ends):
                content = await sealed_rows.content_of(connection, events, after, upto)
                previous = next_seal(KEY, previous, "events", after, upto, content=content)
                await insert(connection, previous)
    before = {each.id for each in (await look(dsn)).differences if each.kind == "sealed_rows"}
    await change_a_body(dsn, 2)
    after = {each.id for each in (await look(dsn)).differences if each.kind == "sealed_rows"}
    assert (before, after) == (set(), {"seal 2"})
