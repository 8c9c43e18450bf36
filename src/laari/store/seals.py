"""The chain over the ledger: rows that never change, sealed by keyed digests that continue.

A seal covers the rows of one table that a range of transactions wrote. Its MAC is made with a key
derived from the master key and takes in the seal before it, so whoever can write to the database
but does not hold the key can neither change what is sealed nor make a seal.

Transactions become visible in another order than they began in. A seal therefore goes up to the
oldest transaction that still runs: everything below it has ended, whatever its rows' ids or times
say. docs/audit.md says what this proves and what it does not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import NamedTuple

import asyncpg
from msgspec import Struct, json
from msgspec.structs import astuple, replace

from laari.errors import LaariError
from laari.store.secrets import derive

ADVISORY_LOCK = 0x6C61617269_7365  # "laari" "se": one sealer at a time
CHUNK = 20_000  # rows of a seal at most; a transaction with more rows is sealed in pieces
# How the body of an event is digested, by the form of a seal; all else is the same in every form.
# Seals that exist stay in theirs. SHA-256 is several times faster here than in PostgreSQL.
BODY = {1: "sha256(r.body)", 2: "r.body"}
FORM = 2  # of new seals
# For a while seals were digested in the second form and said the first: one that does not agree in
# its own is looked at in this one. Each covers every row, so nothing that was changed agrees.
ALSO = {1: 2}
WORK_MEMORY = "64MB"  # for a seal's rows in the order of their keys
FETCHED = 1_000  # rows held at a time while they are digested


class MovedError(LaariError):
    """Transactions count from lower numbers than those that are sealed: new rows cannot be."""


class Subject(NamedTuple):
    """A table whose rows are sealed: its key, what of a row `r` is digested, and where that is."""

    table: str
    key: str
    key_type: str
    sealed: str
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
            "r.id, r.kind, r.debit_account, r.credit_account, r.amount, r.payment_id, r.tid, "
            "r.created_at",
        ),
        Subject(
            "transactions",
            "tid",
            "text",
            "r.tid, r.account, r.recorded, r.time, r.type, r.name, r.details, r.amount, r.status, "
            "CASE r.type WHEN 'topup' THEN (SELECT s.slip FROM topup_slips s WHERE s.tid = r.tid) "
            "END, CASE WHEN r.type IN ('topup', 'adjustment') THEN "
            "(SELECT w.customer_id FROM wallets w WHERE w.account = r.account) END",
        ),
        Subject(
            "events",
            "id",
            "uuid",
            "r.id, r.tenant_id, r.type, r.object_id, r.created_at, {body}, CASE r.type "
            "WHEN 'payment_request.created' THEN "
            "(SELECT q.account FROM payment_requests q WHERE q.id = r.object_id) "
            "WHEN 'authorization.approved' THEN "
            "(SELECT a.account FROM authorizations a WHERE a.id = r.object_id) END, "
            "CASE WHEN r.type IN ('payment.created', 'payment_request.created', "
            "'authorization.created') THEN t.merchant_id END",
            "LEFT JOIN tenants t ON t.id = r.tenant_id",
        ),
    )
}


class Place(NamedTuple):
    """How far a table is sealed: up to this transaction, or this row of it."""

    xid: int
    key: str | None = None


class Seal(Struct, frozen=True):
    """The fields are the columns of `seals`, in order."""

    number: int
    subject: str
    from_xid: int
    from_key: str | None
    upto_xid: int
    upto_key: str | None
    row_count: int
    deliveries: int
    content: bytes
    sealed_at: datetime
    mac: bytes
    form: int

    @property
    def after(self) -> Place:
        return Place(self.from_xid, self.from_key)

    @property
    def upto(self) -> Place:
        return Place(self.upto_xid, self.upto_key)


COLUMNS = ", ".join(Seal.__struct_fields__)


def sealing_key(master_key: bytes) -> bytes:
    return derive(master_key, "ledger seals", "")


def mac_of(key: bytes, seal: Seal, previous: bytes) -> bytes:
    """What the seal's MAC has to be, after the one before it (empty before the first)."""
    covered = (
        seal.form,
        seal.number,
        seal.subject,
        seal.from_xid,
        seal.from_key,
        seal.upto_xid,
        seal.upto_key,
        seal.row_count,
        seal.deliveries,
        seal.content.hex(),
        int(seal.sealed_at.timestamp() * 1_000_000),
        previous.hex(),
    )
    return hmac.digest(key, json.encode(covered), "sha256")


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


def sent(subject: Subject, form: int) -> str:
    """What is digested of a row, in PostgreSQL's binary form: no setting of a session changes it.

    None of it changes in a form that seals have (tests/audit/test_form.py). A form that is not
    known is of no seal of ours, as its MAC says.
    """
    body = BODY.get(form, BODY[FORM])
    return f"record_send(ROW({subject.sealed.format(body=body)}))"


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


class Sealed(NamedTuple):
    """The seals that were made, and whether complete rows are left for the next ones."""

    seals: list[Seal]
    more: bool


class Content(NamedTuple):
    row_count: int
    content: bytes
    deliveries: int


async def content_of(
    connection: asyncpg.Connection, subject: Subject, after: Place, upto: Place, form: int
) -> Content:
    """What is between two places, and its digest in this form."""
    where = rows_of(subject, after, upto)
    bounds = (after.xid, after.key, upto.xid, upto.key)
    query = (
        f"SELECT {sent(subject, form)} FROM {source(subject)} WHERE {where} "
        f"ORDER BY r.{subject.key}"
    )
    count, digest = 0, hashlib.sha256()
    # PostgreSQL expects next to no rows at the end of a table, and looks up what is beside each.
    plan = _ALONG_THE_KEY if is_piece(after, upto) else ("enable_nestloop",)
    async with _without(connection, plan):
        async for rows in batches(connection, query, *bounds):
            count += len(rows)
            for row in rows:
                digest.update(row[0])
    deliveries = 0
    if subject.table == "events":
        deliveries = await connection.fetchval(
            f"SELECT count(*) FROM events r JOIN deliveries d ON d.event_id = r.id WHERE {where}",
            *bounds,
        )
    return Content(count, digest.digest(), deliveries)


# Within one large transaction rows are found by their key, whatever the planner believes.
_ALONG_THE_KEY = ("enable_seqscan", "enable_bitmapscan", "enable_sort")


@asynccontextmanager
async def _without(connection: asyncpg.Connection, plans: Sequence[str]) -> AsyncIterator[None]:
    """Statements are not planned in these ways."""
    off = "; ".join(f"SET LOCAL {name} = off" for name in plans)
    await connection.execute(f"SAVEPOINT planned; {off}")
    yield
    await connection.execute("ROLLBACK TO SAVEPOINT planned; RELEASE SAVEPOINT planned")


async def horizon(connection: asyncpg.Connection) -> int:
    """The last transaction before the oldest that still runs: no row up to it can appear later."""
    last: int = await connection.fetchval(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1"
    )
    return last


async def last_seal(connection: asyncpg.Connection) -> Seal | None:
    row = await connection.fetchrow(f"SELECT {COLUMNS} FROM seals ORDER BY number DESC LIMIT 1")
    return None if row is None else Seal(*row)


class Range(NamedTuple):
    """What a seal is to cover: rows of its subject between two places."""

    subject: str
    after: Place
    upto: Place


def next_seal(key: bytes, previous: Seal | None, covered: Range, content: Content) -> Seal:
    """The seal that follows the last one in the chain."""
    bare = Seal(
        number=1 if previous is None else previous.number + 1,
        subject=covered.subject,
        from_xid=covered.after.xid,
        from_key=covered.after.key,
        upto_xid=covered.upto.xid,
        upto_key=covered.upto.key,
        row_count=content.row_count,
        deliveries=content.deliveries,
        content=content.content,
        sealed_at=datetime.now(UTC),
        mac=b"",
        form=FORM,
    )
    return replace(bare, mac=mac_of(key, bare, b"" if previous is None else previous.mac))


async def insert(connection: asyncpg.Connection, seal: Seal) -> None:
    values = ", ".join(f"${n}" for n, _ in enumerate(Seal.__struct_fields__, 1))
    await connection.execute(f"INSERT INTO seals ({COLUMNS}) VALUES ({values})", *astuple(seal))


async def sealed_places(connection: asyncpg.Connection) -> dict[str, Place]:
    """How far each table is sealed; one without a seal is at the beginning."""
    places = dict.fromkeys(SUBJECTS, Place(0))
    for table in SUBJECTS:
        row = await connection.fetchrow(
            "SELECT upto_xid, upto_key FROM seals WHERE subject = $1 ORDER BY number DESC LIMIT 1",
            table,
        )
        if row is not None:
            places[table] = Place(*row)
    return places


async def seal_next(connection: asyncpg.Connection, key: bytes, chunk: int = CHUNK) -> Sealed:
    """Seals the next rows of each table, in a transaction of the caller's.

    Makes nothing where all that is complete is sealed, or another process is sealing. A crash
    leaves either all of these seals or none.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", ADVISORY_LOCK):
        return Sealed([], more=False)
    # Where a range begins decides how its rows are found best, but never by reading a whole table
    # for the few that stand at its end.
    await connection.execute(
        "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off; "
        f"SET LOCAL work_mem = '{WORK_MEMORY}'"
    )
    upto = await horizon(connection)
    previous = await last_seal(connection)
    made: list[Seal] = []
    for table, place in (await sealed_places(connection)).items():
        if place.xid > upto:
            raise MovedError(
                f"{table} are sealed up to transaction {place.xid} and this server is at {upto}: "
                "the database was moved by a dump. Stop the service and raise the server's counter "
                "(pg_resetwal -x; docs/audit.md); until then nothing is sealed"
            )
        subject = SUBJECTS[table]
        end = await end_of(connection, subject, place, upto, chunk)
        if end is None:
            continue
        content = await content_of(connection, subject, place, end, FORM)
        previous = next_seal(key, previous, Range(table, place, end), content)
        made.append(previous)
    for seal in made:
        await insert(connection, seal)
    return Sealed(made, more=any(seal.upto != Place(upto) for seal in made))


async def end_of(
    connection: asyncpg.Connection, subject: Subject, place: Place, upto: int, chunk: int
) -> Place | None:
    """Where the next so many rows of this table end; None where there are none up to `upto`."""
    if place.key is not None:  # in the middle of a large transaction
        return Place(place.xid, await _nth_key(connection, subject, place, chunk))
    if upto <= place.xid:
        return None
    count, guess = await _count(connection, subject, place.xid, upto, chunk)
    if count <= chunk:
        return Place(upto) if count else None
    # Too many for one: looks for a place at which they fill at least half a seal. Rows mostly
    # stand in the order in which they were written, so that the first guess is most often right.
    fits, too_far = place.xid, upto
    while too_far - fits > 1:
        middle = guess if fits < guess < too_far else (fits + too_far) // 2
        guess = 0
        count, _ = await _count(connection, subject, place.xid, middle, chunk)
        if count > chunk:
            too_far = middle
        else:
            fits = middle
            if count >= chunk // 2:
                break
    if fits > place.xid:
        return Place(fits)
    return Place(too_far, await _nth_key(connection, subject, Place(too_far), chunk))


async def _nth_key(
    connection: asyncpg.Connection, subject: Subject, place: Place, count: int
) -> str | None:
    """The key of the row so many rows further in its transaction; None where it ends before."""
    after = "true" if place.key is None else f"{subject.key} > $2::text::{subject.key_type}"
    async with _without(connection, _ALONG_THE_KEY):
        key: str | None = await connection.fetchval(
            f"SELECT {subject.key}::text FROM {subject.table} WHERE xid = $1 AND {after} "
            f"AND ($2::text IS NULL OR true) ORDER BY {subject.key} OFFSET $3 LIMIT 1",
            place.xid,
            place.key,
            count - 1,
        )
    return key


async def _count(
    connection: asyncpg.Connection, subject: Subject, after: int, upto: int, most: int
) -> tuple[int, int]:
    """How many rows these transactions wrote, counted to one more than `most`.

    And the transaction that three quarters of the rows that were counted go up to.
    """
    count, guess = await connection.fetchrow(
        "SELECT count(*), coalesce(percentile_disc(0.75) WITHIN GROUP (ORDER BY xid), 0) "
        f"FROM (SELECT xid FROM {subject.table} "
        f"WHERE xid > $1 AND xid <= $2 LIMIT {most + 1}) AS counted",
        after,
        upto,
    )
    return count, guess


async def summarize(connection: asyncpg.Connection) -> None:
    """Takes the newest pages up into the indexes that find rows by their transaction.

    A table that is being vacuumed is left for the next time.
    """
    for table in SUBJECTS:
        with suppress(asyncpg.LockNotAvailableError):
            async with connection.transaction():
                await connection.execute("SET LOCAL lock_timeout = '500ms'")
                await connection.execute(
                    "SELECT brin_summarize_new_values($1::text::regclass)", f"{table}_by_xid"
                )
