"""The sealed tables, and the digest of a range of their rows (docs/audit.md)."""

import asyncio
from typing import NamedTuple

from asyncpg import Connection

from laari.store.ledger.copy_digest import CopyDigest
from laari.store.postgres.connect import local_settings

PIECE = 64 * 1024
PAUSE_SECONDS = 0.001


class Subject(NamedTuple):
    """A sealed table: its key, the digested columns of a row `r`, and tables beside it.

    `live` leaves out rows of sandboxes; rows whose mode is not known are sealed.
    """

    table: str
    key: str
    key_type: str
    live: str
    sealed: tuple[str, ...]
    beside: str = ""


# One account of every transfer shows its mode: the service's, or a merchant's.
_SANDBOX_ACCOUNTS = (
    "SELECT unnest(ARRAY[2, 4, 6, 8, 10]::bigint[]) UNION ALL "
    "SELECT 1000000000 + id FROM tenants WHERE mode = 'sandbox'"
)

# Columns are named, so that a new column leaves old seals valid. Values beside the row are included
# if they never change and are sealed nowhere else: the bank slip and the customer of a top-up, the
# merchant of a tenant, and the wallets of requests and authorizations.
SUBJECTS = {
    subject.table: subject
    for subject in (
        Subject(
            table="transfers",
            key="id",
            key_type="uuid",
            live=f"r.debit_account NOT IN ({_SANDBOX_ACCOUNTS}) "
            f"AND r.credit_account NOT IN ({_SANDBOX_ACCOUNTS})",
            sealed=(
                "r.id",
                "r.kind",
                "r.debit_account",
                "r.credit_account",
                "r.amount",
                "r.payment_id",
                "r.tid",
                "r.created_at",
                "r.xid",
            ),
        ),
        Subject(
            table="transactions",
            key="tid",
            key_type="text",
            live="(SELECT w.mode FROM wallets w WHERE w.account = r.account) "
            "IS DISTINCT FROM 'sandbox'",
            sealed=(
                "r.tid",
                "r.account",
                "r.recorded",
                "r.time",
                "r.type",
                "r.name",
                "r.details",
                "r.amount",
                "r.status",
                "r.failure",
                "r.unpaid_id",
                "r.xid",
                "CASE r.type WHEN 'topup' THEN "
                "(SELECT s.slip FROM topup_slips s WHERE s.tid = r.tid) END",
                "CASE WHEN r.type IN ('topup', 'adjustment') THEN "
                "(SELECT w.customer_id FROM wallets w WHERE w.account = r.account) END",
            ),
        ),
        Subject(
            table="events",
            key="id",
            key_type="uuid",
            live="t.mode IS DISTINCT FROM 'sandbox'",
            sealed=(
                "r.id",
                "r.tenant_id",
                "r.type",
                "r.object_id",
                "r.created_at",
                "r.body",
                "r.xid",
                "CASE r.type WHEN 'payment_request.created' THEN "
                "(SELECT q.account FROM payment_requests q WHERE q.id = r.object_id) "
                "WHEN 'authorization.approved' THEN "
                "(SELECT a.account FROM authorizations a WHERE a.id = r.object_id) END",
                "CASE WHEN r.type IN ('payment.created', 'payment_request.created', "
                "'authorization.created') THEN t.merchant_id END",
            ),
            beside="LEFT JOIN tenants t ON t.id = r.tenant_id",
        ),
        # Without the address, which is removed after a while.
        Subject(
            table="journal",
            key="id",
            key_type="bigint",
            live="r.mode IS DISTINCT FROM 'sandbox'",
            sealed=(
                "r.id",
                "r.time",
                "r.actor_kind",
                "r.actor_name",
                "r.actor_role",
                "r.action",
                "r.object_type",
                "r.object_id",
                "r.merchant_id",
                "r.mode",
                "r.before",
                "r.after",
                "r.reason",
                "r.xid",
            ),
        ),
        Subject(
            table="refunds",
            key="id",
            key_type="uuid",
            live="t.mode IS DISTINCT FROM 'sandbox'",
            sealed=(
                "r.id",
                "r.tenant_id",
                "r.payment_id",
                "r.amount",
                "r.reason",
                "r.note",
                "r.actor_kind",
                "r.actor_name",
                "r.tid",
                "r.created_at",
                "r.xid",
            ),
            beside="LEFT JOIN tenants t ON t.id = r.tenant_id",
        ),
        Subject(
            table="payouts",
            key="id",
            key_type="uuid",
            live="t.mode IS DISTINCT FROM 'sandbox'",
            sealed=(
                "r.id",
                "r.tenant_id",
                "r.account",
                "r.number",
                "r.amount",
                "r.fee",
                "r.cut_off",
                "r.snapshot",
                "r.transfer_id",
                "r.created_at",
                "r.actor_kind",
                "r.actor_name",
                "r.xid",
            ),
            beside="LEFT JOIN tenants t ON t.id = r.tenant_id",
        ),
        Subject(
            table="bank_accounts",
            key="id",
            key_type="uuid",
            live="t.mode IS DISTINCT FROM 'sandbox'",
            sealed=(
                "r.id",
                "r.tenant_id",
                "r.account",
                "r.holder",
                "r.bank",
                "r.account_number",
                "r.created_at",
                "r.effective_at",
                "r.actor_kind",
                "r.actor_name",
                "r.xid",
            ),
            beside="LEFT JOIN tenants t ON t.id = r.tenant_id",
        ),
        # Those of sandboxes too: they are never purged.
        Subject(
            table="record_changes",
            key="id",
            key_type="bigint",
            live="true",
            sealed=("r.id", "r.record", "r.key", "r.before", "r.after", "r.xid"),
        ),
        Subject(
            table="wallet_freezes",
            key="recorded",
            key_type="bigint",
            live="true",
            sealed=(
                "r.recorded",
                "r.account",
                "r.time",
                "r.action",
                "r.reason",
                "r.silent",
                "r.xid",
            ),
        ),
        Subject(
            table="customer_notes",
            key="id",
            key_type="bigint",
            live="true",
            sealed=("r.id", "r.customer_id", "r.time", "r.author", "r.text", "r.xid"),
        ),
        Subject(
            table="fee_history",
            key="recorded",
            key_type="bigint",
            live="true",
            sealed=("r.recorded", "r.merchant_id", "r.since", "r.fee_bps", "r.fee_fixed", "r.xid"),
        ),
    )
}


class SealedPlace(NamedTuple):
    """How far a table is sealed: up to this transaction, or this row of it."""

    xid: int
    key: str | None = None


def is_piece(after: SealedPlace, upto: SealedPlace) -> bool:
    """Whether the places bound a part of one transaction."""
    return after.key is not None or upto.key is not None


def is_range(after: SealedPlace, upto: SealedPlace) -> bool:
    """Whether the places bound whole transactions, or a part of one."""
    if not is_piece(after, upto):
        return True
    return after.xid == (upto.xid - 1 if after.key is None else upto.xid)


def rows_of(subject: Subject, after: SealedPlace, upto: SealedPlace) -> str:
    """The condition for the live rows between two places, with their four bounds as parameters."""
    if not is_piece(after, upto):
        return (
            "r.xid > $1 AND r.xid <= $3 AND $2::text IS NULL AND $4::text IS NULL "
            f"AND {subject.live}"
        )
    key, kind = f"r.{subject.key}", subject.key_type
    assert is_range(after, upto)
    begins = "$2::text IS NULL" if after.key is None else f"{key} > $2::text::{kind}"
    ends = "$4::text IS NULL" if upto.key is None else f"{key} <= $4::text::{kind}"
    return f"$1::bigint IS NOT NULL AND r.xid = $3 AND {begins} AND {ends} AND {subject.live}"


def columns(subject: Subject) -> str:
    """The digested columns of a row: they never change (tests/audit/test_form.py)."""
    return ", ".join(subject.sealed)


def source(subject: Subject) -> str:
    return f"{subject.table} r {subject.beside}"


class Content(NamedTuple):
    row_count: int
    content: bytes
    deliveries: int


async def content_of(
    connection: Connection, subject: Subject, after: SealedPlace, upto: SealedPlace
) -> Content:
    where = rows_of(subject, after, upto)
    bounds = (after.xid, after.key, upto.xid, upto.key)
    # PostgreSQL expects few rows at the end of a table and would look up the rest for each.
    plan = ALONG_THE_KEY if is_piece(after, upto) else {"enable_nestloop": "off"}
    rows = CopyDigest()
    async with local_settings(connection, **plan):
        count = await copy(
            connection,
            rows,
            f"SELECT {columns(subject)} FROM {source(subject)} WHERE {where} "
            f"ORDER BY r.{subject.key}",
            *bounds,
        )
    (digest,) = rows.end()
    deliveries = 0
    if subject.table == "events":
        async with local_settings(connection, **(plan if is_piece(after, upto) else {})):
            deliveries = await connection.fetchval(
                f"SELECT count(*) FROM {source(subject)} JOIN deliveries d ON d.event_id = r.id "
                f"WHERE {where}",
                *bounds,
            )
    return Content(count, digest, deliveries)


async def copy(connection: Connection, rows: CopyDigest, query: str, *parameters: object) -> int:
    """Digests the rows of the query; returns their number."""

    async def take(data: bytes) -> None:
        rows.take(data)
        # PostgreSQL sends as little as eight kilobytes at once: waits for more, since each piece
        # has a cost here and there.
        if len(data) < PIECE:
            await asyncio.sleep(PAUSE_SECONDS)

    try:
        status = await connection.copy_from_query(query, *parameters, output=take, format="binary")
    except asyncio.CancelledError:
        # asyncpg would ask PostgreSQL to cancel a copy that may have ended, and wait for an answer
        # that never comes.
        connection.terminate()
        raise
    return int(status.removeprefix("COPY "))


# Rows of one large transaction are found by their key, against the estimate of the planner.
ALONG_THE_KEY = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}
