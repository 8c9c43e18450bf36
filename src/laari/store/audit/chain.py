"""Verifies the chain: every seal against its key, its rows and the seal before it."""

import hmac
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from asyncpg import Connection

from laari.rules.ids import first_id
from laari.store.audit.difference import Difference
from laari.store.counters.purge import DELIVERIES_KEPT
from laari.store.ledger.copy_digest import CopyDigest, divider
from laari.store.ledger.last_seal_file import KnownSeal
from laari.store.ledger.sealed_rows import (
    SUBJECTS,
    Content,
    SealedPlace,
    Subject,
    columns,
    content_of,
    copy,
    is_range,
    rows_of,
    source,
)
from laari.store.ledger.seals import COLUMNS, Seal, mac_of, sealed_places
from laari.store.postgres.connect import local_settings

PAGE = 2_000  # seals held at a time
STEP_ROWS = 20_000  # sealed rows that one statement reads

CLOCKS_DIFFER = timedelta(hours=1)  # at most: servers' and ours

_PLACE = "width_bucket(r.xid, $3::bigint[]) - 1"  # of a row's seal in the step

_FORGED = "The seal was not made with this installation's master key, or was moved or changed."
_GAP = "A seal of the chain is missing, or does not continue the one before it."
_CHANGED = "Rows that are sealed were changed, removed or added."
_DELIVERIES = "Deliveries of sealed events were removed."
_NUMBER = "The row names a transaction that cannot have written it."


async def verify_links(
    connection: Connection, key: bytes, after: KnownSeal | None = None
) -> list[Difference]:
    """Compares each seal, or each that follows `after`, with the key and the seal before it."""
    found: list[Difference] = []
    number, mac = after or (0, b"")
    places = await sealed_places(connection, number)
    async for seals in _pages(connection, number, tuple(SUBJECTS)):
        for seal in seals:
            name, place = f"seal {seal.number}", places[seal.subject]
            if seal.number != number + 1:
                found.append(Difference("seal_chain", name, f"seal {number + 1}", name, _GAP))
            elif not hmac.compare_digest(mac_of(key, seal, mac), seal.mac):
                found.append(Difference("seal_mac", name, "a seal of this key", "another", _FORGED))
            if seal.after != place:
                expected, shown = _shown(seal.subject, place), _shown(seal.subject, seal.after)
                found.append(Difference("seal_chain", name, expected, shown, _GAP))
            number, mac, places[seal.subject] = seal.number, seal.mac, seal.upto
    return found


def _shown(table: str, place: SealedPlace) -> str:
    row = "" if place.key is None else f" row {place.key}"
    return f"{table} after transaction {place.xid}{row}"


async def verify_rows(connection: Connection, table: str, after: int = 0) -> list[Difference]:
    """Compares each seal of this table after this number with the rows that it covers."""
    found: list[Difference] = []
    subject = SUBJECTS[table]
    async for page in _pages(connection, after, (table,)):
        # Bounds that no seal has were changed, and the links show it.
        seals = [seal for seal in page if is_range(seal.after, seal.upto)]
        for step in steps(seals, STEP_ROWS):
            contents = await _read_together(connection, subject, step) if len(step) > 1 else {}
            for seal in step:
                content = contents.get(seal.number)
                if content is None:
                    content = await content_of(connection, subject, seal.after, seal.upto)
                found += await _compare(connection, seal, content)
    return found


async def _pages(
    connection: Connection, number: int, subjects: Sequence[str]
) -> AsyncIterator[list[Seal]]:
    while rows := await connection.fetch(
        f"SELECT {COLUMNS} FROM seals WHERE number > $1 AND subject = ANY($2) "
        f"ORDER BY number LIMIT {PAGE}",
        number,
        subjects,
    ):
        seals = [Seal(**row) for row in rows]
        yield seals
        number = seals[-1].number


def steps(seals: list[Seal], most: int) -> Iterator[list[Seal]]:
    """Groups seals that follow each other and cover whole transactions, up to `most` rows."""
    step: list[Seal] = []
    rows = 0
    for seal in seals:
        whole = seal.from_key is None and seal.upto_key is None
        follows = bool(step) and step[-1].upto == seal.after
        if step and not (whole and follows and rows + seal.row_count <= most):
            yield step
            step, rows = [], 0
        step.append(seal)
        rows += seal.row_count
        if not whole:
            yield step
            step, rows = [], 0
    if step:
        yield step


async def _read_together(
    connection: Connection, subject: Subject, step: list[Seal]
) -> dict[int, Content]:
    """What each of these seals covers, by its number, if it agrees; the caller reads the others.

    A row in which every column is null comes after the rows of each seal.
    """
    assert all(a.upto == b.after for a, b in pairwise(step))
    # The transaction before the step, its last one, and the first transaction of each seal.
    bounds = step[0].from_xid, step[-1].upto_xid, [seal.from_xid + 1 for seal in step]
    rows = f"FROM {source(subject)} WHERE r.xid > $1 AND r.xid <= $2 AND {subject.live}"
    width = len(subject.sealed)
    names = ", ".join(f"c{n}" for n in range(width))
    nothing = ", ".join(["NULL"] * width)
    collation = ' COLLATE "C"' if subject.key_type == "text" else ""
    by_seal = CopyDigest(divider(width))
    await copy(
        connection,
        by_seal,
        f"SELECT {names} FROM (SELECT {_PLACE}, r.{subject.key}, {columns(subject)} {rows} "
        f"UNION ALL SELECT place, NULL, {nothing} FROM generate_series(0, {len(step) - 1}) "
        f"AS ends (place)) AS rows (place, key, {names}) ORDER BY place, key{collation}",
        *bounds,
    )
    *digests, _ = by_seal.end()
    if len(digests) != len(step):  # some bytes look like an end
        return {}
    deliveries = [0] * len(step)
    if subject.table == "events" and any(seal.deliveries for seal in step):
        for place, count in await connection.fetch(
            f"SELECT {_PLACE}, count(d.event_id) FROM {source(subject)} "
            "JOIN deliveries d ON d.event_id = r.id "
            f"WHERE r.xid > $1 AND r.xid <= $2 AND {subject.live} GROUP BY 1",
            *bounds,
        ):
            deliveries[place] = count
    return {
        seal.number: Content(seal.row_count, digest, count)
        for seal, digest, count in zip(step, digests, deliveries, strict=True)
        if digest == seal.content
    }


async def _compare(connection: Connection, seal: Seal, content: Content) -> list[Difference]:
    found = []
    name = f"seal {seal.number}"
    covered = (
        f"{seal.subject} of transactions {seal.from_xid + (seal.from_key is None)} to "
        f"{seal.upto_xid}, sealed {seal.sealed_at:%Y-%m-%d %H:%M:%S}Z"
    )
    if (seal.row_count, seal.content) != (content.row_count, content.content):
        sealed = f"{seal.row_count} {covered}, digest {seal.content.hex()[:16]}"
        present = f"{content.row_count}, digest {content.content.hex()[:16]}"
        found.append(Difference("sealed_rows", name, sealed, present, _CHANGED))
    # There may be more: an event that is sent again may have had no delivery before.
    if content.deliveries < seal.deliveries and await _are_kept(connection, seal):
        sealed = f"{seal.deliveries} of {covered}"
        present = str(content.deliveries)
        found.append(Difference("sealed_deliveries", name, sealed, present, _DELIVERIES))
    return found


async def _are_kept(connection: Connection, seal: Seal) -> bool:
    """Whether all events of the seal are too young for a purge of their deliveries."""
    subject = SUBJECTS["events"]
    oldest = first_id(datetime.now(UTC) - DELIVERIES_KEPT + CLOCKS_DIFFER)
    old = await connection.fetchval(
        f"SELECT EXISTS (SELECT FROM {source(subject)} "
        f"WHERE r.id < $5 AND {rows_of(subject, seal.after, seal.upto)})",
        seal.from_xid,
        seal.from_key,
        seal.upto_xid,
        seal.upto_key,
        oldest,
    )
    return not old


async def verify_numbers(connection: Connection) -> list[Difference]:
    """Finds rows of transactions before the first or after the last: no seal would cover them."""
    found: list[Difference] = []
    async with local_settings(connection, enable_seqscan="off"):
        for table, subject in SUBJECTS.items():
            rows = await connection.fetch(
                f"SELECT {subject.key}::text, xid FROM {table} WHERE xid < 1 OR xid > "
                "pg_snapshot_xmax(pg_current_snapshot())::text::bigint LIMIT 100"
            )
            found += [
                Difference(
                    "row_transaction", f"{table} {key}", "a past transaction", str(xid), _NUMBER
                )
                for key, xid in rows
            ]
    return found


async def count_unsealed(connection: Connection, places: dict[str, SealedPlace]) -> dict[str, int]:
    counts = {}
    for table, place in places.items():
        subject = SUBJECTS[table]
        counts[table] = await connection.fetchval(
            f"SELECT count(*) FROM {source(subject)} WHERE (r.xid > $1 OR r.xid = $1 "
            f"AND r.{subject.key} > $2::text::{subject.key_type}) AND {subject.live}",
            *place,
        )
    return counts
