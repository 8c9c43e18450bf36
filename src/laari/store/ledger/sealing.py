"""Makes the next seals, of complete rows."""

from contextlib import suppress
from typing import NamedTuple

import asyncpg
from asyncpg import Connection

from laari.store.ledger.sealed_rows import (
    ALONG_THE_KEY,
    SUBJECTS,
    SealedPlace,
    Subject,
    content_of,
    source,
)
from laari.store.ledger.seals import (
    Seal,
    insert,
    last_seal,
    next_seal,
    require_not_moved,
    sealed_places,
    xid_horizon,
)
from laari.store.postgres.connect import local_settings

ADVISORY_LOCK = 0x6C61617269_7365  # "laari" "se": one sealer at a time
# The most rows of a seal, more than ten seconds write. A larger transaction is sealed in pieces.
CHUNK = 50_000
WORK_MEMORY = "64MB"  # for a seal's rows in the order of their keys


class Sealed(NamedTuple):
    seals: list[Seal]
    more: bool


async def seal_next(connection: Connection, key: bytes, chunk: int = CHUNK) -> Sealed:
    """Seals the next rows of each table, in the caller's transaction.

    Makes no seals if all complete rows are sealed or another process is sealing.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", ADVISORY_LOCK):
        return Sealed([], more=False)
    # The best plan depends on where a range begins, but never reads a whole table for its end.
    await connection.execute(
        "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off; "
        f"SET LOCAL work_mem = '{WORK_MEMORY}'"
    )
    upto = await xid_horizon(connection)
    previous = await last_seal(connection)
    made: list[Seal] = []
    for table, place in (await sealed_places(connection)).items():
        require_not_moved(f"{table} are sealed", place.xid, upto)
        subject = SUBJECTS[table]
        end = await end_of(connection, subject, place, upto, chunk)
        if end is None:
            continue
        content = await content_of(connection, subject, place, end)
        previous = next_seal(key, previous, table, place, end, content=content)
        made.append(previous)
    for seal in made:
        await insert(connection, seal)
    return Sealed(made, more=any(seal.upto != SealedPlace(upto) for seal in made))


async def end_of(
    connection: Connection, subject: Subject, place: SealedPlace, upto: int, chunk: int
) -> SealedPlace | None:
    """Where the next `chunk` rows of this table end; None if there are none up to `upto`."""
    if place.key is not None:  # in the middle of a large transaction
        return SealedPlace(place.xid, await _nth_key(connection, subject, place, chunk))
    if upto <= place.xid:
        return None
    count, guess = await _count(connection, subject, place.xid, upto, chunk)
    if count <= chunk:
        return SealedPlace(upto) if count else None
    # Too many for one seal: searches for a place that fills at least half a seal. Rows mostly have
    # the order in which they were written, so the first guess is usually right.
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
        return SealedPlace(fits)
    return SealedPlace(too_far, await _nth_key(connection, subject, SealedPlace(too_far), chunk))


async def _nth_key(
    connection: Connection, subject: Subject, place: SealedPlace, count: int
) -> str | None:
    async with local_settings(connection, **ALONG_THE_KEY):
        key: str | None = await connection.fetchval(
            nth_key_query(subject, place), place.xid, place.key, count - 1
        )
    return key


def nth_key_query(subject: Subject, place: SealedPlace) -> str:
    # The key without its table would mean the returned text, which is not in the key's index.
    key = f"r.{subject.key}"
    after = "true" if place.key is None else f"{key} > $2::text::{subject.key_type}"
    return (
        f"SELECT {key}::text FROM {subject.table} r WHERE r.xid = $1 AND {after} "
        f"AND ($2::text IS NULL OR true) ORDER BY {key} OFFSET $3 LIMIT 1"
    )


async def _count(
    connection: Connection, subject: Subject, after: int, upto: int, most: int
) -> tuple[int, int]:
    """The number of live rows of these transactions, counted to `most` + 1.

    Also the transaction at three quarters of the counted rows, if all transactions wrote alike.
    """
    count, guess = await connection.fetchrow(
        "SELECT count(*), coalesce(min(xid) + (max(xid) - min(xid)) * 3 / 4, 0) "
        f"FROM (SELECT r.xid FROM {source(subject)} "
        f"WHERE r.xid > $1 AND r.xid <= $2 AND {subject.live} LIMIT {most + 1}) AS counted",
        after,
        upto,
    )
    return count, guess


async def summarize(connection: Connection) -> None:
    """Updates the indexes that find rows by their transaction.

    Skips a table that is being vacuumed, and all tables while another process seals.
    """
    for table in SUBJECTS:
        with suppress(asyncpg.LockNotAvailableError):
            async with connection.transaction():
                await connection.execute("SET LOCAL lock_timeout = '500ms'")
                await connection.execute(
                    "SELECT brin_summarize_new_values($1::text::regclass) "
                    "WHERE pg_try_advisory_xact_lock($2)",
                    f"{table}_by_xid",
                    ADVISORY_LOCK,
                )
