"""What is sealed: the tables, what of a row is digested, and the digest of the rows of a range.

docs/audit.md says why these columns.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import NamedTuple

import asyncpg

from laari.store.copied import Copied
from laari.store.settled import settled

# How rows are digested, by the form of a seal. Seals that exist stay in theirs. In the first form a
# digest made by PostgreSQL stands for the body of an event: SHA-256 is several times faster here.
BODY = {1: "sha256(r.body)", 2: "r.body", 3: "r.body"}
# Up to the second form each row was made a record and sent as such. From the third on rows are
# digested as they are copied out: nobody takes them apart and puts them together again.
COPIED = 3
FORM = 3  # of new seals
# For a while seals were digested in the second form and said the first: one that does not agree in
# its own is looked at in this one. Each covers every row, so nothing that was changed agrees.
ALSO = {1: 2}
FETCHED = 1_000  # rows held at a time while they are digested
PIECE = 64 * 1024
PAUSE_SECONDS = 0.001


class Subject(NamedTuple):
    """A table whose rows are sealed: its key, what of a row `r` is digested, and where that is."""

    table: str
    key: str
    key_type: str
    sealed: tuple[str, ...]
    beside: str = ""


# The columns are named, so that a column added later leaves old seals valid. With them goes what
# belongs to the row, never changes again, and stands nowhere else in what is sealed: the bank slip
# of a top-up and whose wallet it went to, whose merchant's tenant made something, the wallet that a
# request is for, the wallet that approved an authorization.
SUBJECTS = {
    subject.table: subject
    for subject in (
        Subject(
            "transfers",
            "id",
            "uuid",
            (
                *("r.id", "r.kind", "r.debit_account", "r.credit_account", "r.amount"),
                *("r.payment_id", "r.tid", "r.created_at"),
            ),
        ),
        Subject(
            "transactions",
            "tid",
            "text",
            (
                *("r.tid", "r.account", "r.recorded", "r.time", "r.type", "r.name", "r.details"),
                *("r.amount", "r.status"),
                "CASE r.type WHEN 'topup' THEN "
                "(SELECT s.slip FROM topup_slips s WHERE s.tid = r.tid) END",
                "CASE WHEN r.type IN ('topup', 'adjustment') THEN "
                "(SELECT w.customer_id FROM wallets w WHERE w.account = r.account) END",
            ),
        ),
        Subject(
            "events",
            "id",
            "uuid",
            (
                *("r.id", "r.tenant_id", "r.type", "r.object_id", "r.created_at", "{body}"),
                "CASE r.type WHEN 'payment_request.created' THEN "
                "(SELECT q.account FROM payment_requests q WHERE q.id = r.object_id) "
                "WHEN 'authorization.approved' THEN "
                "(SELECT a.account FROM authorizations a WHERE a.id = r.object_id) END",
                "CASE WHEN r.type IN ('payment.created', 'payment_request.created', "
                "'authorization.created') THEN t.merchant_id END",
            ),
            "LEFT JOIN tenants t ON t.id = r.tenant_id",
        ),
    )
}


class Place(NamedTuple):
    """How far a table is sealed: up to this transaction, or this row of it."""

    xid: int
    key: str | None = None


def is_piece(after: Place, upto: Place) -> bool:
    """Whether these are some rows of a single transaction, and not whole ones."""
    return after.key is not None or upto.key is not None


def rows_of(subject: Subject, after: Place, upto: Place) -> str:
    """The rows between two places, in the order of (xid, key), as a condition.

    Parameters are the four bounds. Before its first piece a transaction's predecessors are sealed.
    """
    if not is_piece(after, upto):
        return "r.xid > $1 AND r.xid <= $3 AND $2::text IS NULL AND $4::text IS NULL"
    key, kind = f"r.{subject.key}", subject.key_type
    assert after.xid == (upto.xid - 1 if after.key is None else upto.xid)
    begins = "$2::text IS NULL" if after.key is None else f"{key} > $2::text::{kind}"
    ends = "$4::text IS NULL" if upto.key is None else f"{key} <= $4::text::{kind}"
    return f"$1::bigint IS NOT NULL AND r.xid = $3 AND {begins} AND {ends}"


def columns(subject: Subject, form: int) -> str:
    """What is digested of a row.

    None of it changes in a form that seals have (tests/audit/test_form.py). A form that is not
    known is of no seal of ours, as its MAC says.
    """
    return ", ".join(subject.sealed).format(body=BODY.get(form, BODY[FORM]))


def sent(subject: Subject, form: int) -> str:
    """The same as one record, in PostgreSQL's binary form: no setting of a session changes it."""
    return f"record_send(ROW({columns(subject, form)}))"


def source(subject: Subject) -> str:
    """Where that is, after FROM."""
    return f"{subject.table} r {subject.beside}"


async def batches(
    connection: asyncpg.Connection, query: str, *parameters: object
) -> AsyncIterator[list[asyncpg.Record]]:
    """The rows of a query, so many at a time."""
    cursor = await connection.cursor(query, *parameters)
    while rows := await cursor.fetch(FETCHED):
        yield rows


class Content(NamedTuple):
    row_count: int
    content: bytes
    deliveries: int
    form: int


async def content_of(
    connection: asyncpg.Connection, subject: Subject, after: Place, upto: Place, form: int
) -> Content:
    """What is between two places, and its digest in this form."""
    where = rows_of(subject, after, upto)
    bounds = (after.xid, after.key, upto.xid, upto.key)
    rows = f"FROM {source(subject)} WHERE {where} ORDER BY r.{subject.key}"
    # PostgreSQL expects next to no rows at the end of a table, and looks up what is beside each.
    plan = ALONG_THE_KEY if is_piece(after, upto) else {"enable_nestloop": "off"}
    async with settled(connection, **plan):
        if form < COPIED:
            query = f"SELECT {sent(subject, form)} {rows}"
            count, digest = await _digest_of_records(connection, query, *bounds)
        else:
            query = f"SELECT {columns(subject, form)} {rows}"
            copied = Copied()
            count = await copy(connection, copied, query, *bounds)
            (digest,) = copied.end()
    deliveries = 0
    if subject.table == "events":
        async with settled(connection, **(plan if is_piece(after, upto) else {})):
            deliveries = await connection.fetchval(
                "SELECT count(*) FROM events r JOIN deliveries d ON d.event_id = r.id "
                f"WHERE {where}",
                *bounds,
            )
    return Content(count, digest, deliveries, form)


async def _digest_of_records(
    connection: asyncpg.Connection, query: str, *parameters: object
) -> tuple[int, bytes]:
    count, digest = 0, hashlib.sha256()
    async for rows in batches(connection, query, *parameters):
        count += len(rows)
        for row in rows:
            digest.update(row[0])
    return count, digest.digest()


async def copy(
    connection: asyncpg.Connection, copied: Copied, query: str, *parameters: object
) -> int:
    """Copies out what the query returns; how many rows that was."""

    async def take(data: bytes) -> None:
        copied.take(data)
        # Each piece has a cost of its own, here and in PostgreSQL, which sends as little as eight
        # kilobytes at once: lets some more come together.
        if len(data) < PIECE:
            await asyncio.sleep(PAUSE_SECONDS)

    status = await connection.copy_from_query(query, *parameters, output=take, format="binary")
    return int(status.removeprefix("COPY "))


# Within one large transaction rows are found by their key, whatever the planner believes.
ALONG_THE_KEY = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}
