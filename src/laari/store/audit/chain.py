"""The chain over the ledger, verified: every seal against its key, its rows and its neighbours."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import asyncpg
from msgspec import Struct

from laari.store.audit.difference import Difference
from laari.store.copied import Copied, divider
from laari.store.last_seal_file import KnownSeal
from laari.store.retired import LAYERS, RECORDS, Retired
from laari.store.sealed_rows import (
    ALSO,
    COPIED,
    SUBJECTS,
    Content,
    Place,
    Subject,
    batches,
    columns,
    content_of,
    copy,
    sent,
    source,
)
from laari.store.seals import COLUMNS, Seal, mac_of
from laari.store.settled import settled

PAGE = 2_000  # seals held at a time
STEP_ROWS = 20_000  # sealed rows that one statement reads

# The transaction before a step, its last one, and the first of each of its seals.
_Bounds: TypeAlias = tuple[int, int, list[int]]
_PLACE = "width_bucket(r.xid, $3::bigint[]) - 1"  # of a row's seal in the step

_FORGED = "The seal was not made with this installation's master key, or was moved or changed."
_GAP = "A seal of the chain is missing, or does not continue the one before it."
_CHANGED = "Rows that are sealed were changed, removed or added."
_DELIVERIES = "Deliveries of sealed events were removed."
_NUMBER = "The row names a transaction that cannot have written it."


class Chain(Struct):
    """What is known of the chain while it is walked."""

    number: int = 0
    mac: bytes = b""
    places: dict[str, Place] = {}


def _first_places() -> dict[str, Place]:
    return dict.fromkeys((*SUBJECTS, *RECORDS), Place(0))


async def verify_links(
    connection: asyncpg.Connection, key: bytes, after: KnownSeal | None = None
) -> list[Difference]:
    """Every seal against the key and the one before it; with `after`, those that follow this."""
    found: list[Difference] = []
    chain = Chain(places=_first_places())
    if after is not None:
        chain = Chain(after.number, after.mac, await _places_at(connection, after.number))
    async for seals in _pages(connection, chain.number, (*SUBJECTS, *RECORDS)):
        for seal in seals:
            found += _linked(key, chain, seal)
    return found


async def verify_rows(
    connection: asyncpg.Connection, table: str, retired: Retired, after: KnownSeal | None = None
) -> list[Difference]:
    """Every seal of this table against the rows it covers; with `after`, those that follow this.

    Rows that were removed for their age are missing with good reason: there the record of the
    removal is held against what it has left.
    """
    found: list[Difference] = []
    number = 0 if after is None else after.number
    async for seals in _pages(connection, number, LAYERS[table]):
        for layer in LAYERS[table]:
            own = [s for s in seals if s.subject == layer and not retired.is_replaced(s)]
            found += await verify_contents(connection, SUBJECTS[table], own, retired)
    return found


async def _pages(
    connection: asyncpg.Connection, number: int, subjects: Sequence[str]
) -> AsyncIterator[list[Seal]]:
    """The seals after this one, so many at a time."""
    while rows := await connection.fetch(
        f"SELECT {COLUMNS} FROM seals WHERE number > $1 AND subject = ANY($2) "
        f"ORDER BY number LIMIT {PAGE}",
        number,
        subjects,
    ):
        seals = [Seal(*row) for row in rows]
        yield seals
        number = seals[-1].number


def forged(seal: Seal) -> Difference:
    return Difference("seal_mac", f"seal {seal.number}", "a seal of this key", "another", _FORGED)


def _linked(key: bytes, chain: Chain, seal: Seal) -> Iterator[Difference]:
    """The seal against the one before it; `chain` goes on to it."""
    name = f"seal {seal.number}"
    if seal.number != chain.number + 1:
        yield Difference("seal_chain", name, f"seal {chain.number + 1}", name, _GAP)
    elif not hmac.compare_digest(mac_of(key, seal, chain.mac), seal.mac):
        yield forged(seal)
    place = chain.places[seal.subject]
    if seal.after != place:
        expected = f"{seal.subject} after {_shown(place)}"
        yield Difference(
            "seal_chain", name, expected, f"{seal.subject} after {_shown(seal.after)}", _GAP
        )
    chain.number, chain.mac = seal.number, seal.mac
    chain.places[seal.subject] = seal.upto


def _shown(place: Place) -> str:
    return f"transaction {place.xid}" + ("" if place.key is None else f" row {place.key}")


async def _places_at(connection: asyncpg.Connection, number: int) -> dict[str, Place]:
    places = _first_places()
    for table in places:
        row = await connection.fetchrow(
            "SELECT upto_xid, upto_key FROM seals WHERE subject = $1 AND number <= $2 "
            "ORDER BY number DESC LIMIT 1",
            table,
            number,
        )
        if row is not None:
            places[table] = Place(*row)
    return places


async def verify_contents(
    connection: asyncpg.Connection, subject: Subject, seals: list[Seal], retired: Retired
) -> list[Difference]:
    """What the seals cover, in as few statements as is good for the memory."""
    found: list[Difference] = []
    for step in steps(seals, STEP_ROWS):
        contents = await _read_together(connection, subject, step) if len(step) > 1 else {}
        for seal in step:
            content = contents.get(seal.number)
            if content is None or not _is_of(seal, content):
                content = await _read_alone(connection, subject, seal)
            found += _compared(seal, content, retired)
    return found


async def _read_alone(connection: asyncpg.Connection, subject: Subject, seal: Seal) -> Content:
    """What the seal covers, in the form in which it agrees, if there is one."""
    content = await content_of(connection, subject, seal.after, seal.upto, seal.form)
    if seal.form in ALSO and not _is_of(seal, content):
        also = ALSO[seal.form]
        content = await content_of(connection, subject, seal.after, seal.upto, also)
    return content


def _is_of(seal: Seal, content: Content) -> bool:
    return (seal.row_count, seal.content) == (content.row_count, content.content)


def steps(seals: list[Seal], most: int) -> Iterator[list[Seal]]:
    """Seals of one form that follow each other and cover whole transactions, up to so many rows."""
    step: list[Seal] = []
    rows = 0
    for seal in seals:
        whole = seal.from_key is None and seal.upto_key is None
        follows = bool(step) and (step[-1].upto, step[-1].form) == (seal.after, seal.form)
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
    connection: asyncpg.Connection, subject: Subject, step: list[Seal]
) -> dict[int, Content]:
    """What seals cover that follow each other, by their numbers; one that is left out differs."""
    assert all(a.upto == b.after for a, b in pairwise(step))
    bounds = step[0].from_xid, step[-1].upto_xid, [seal.from_xid + 1 for seal in step]
    read = _records_of if step[0].form < COPIED else _copies_of
    contents = await read(connection, subject, step, bounds)
    if subject.table == "events" and any(seal.deliveries for seal in step):
        counted = await connection.fetch(
            f"SELECT {_PLACE}, count(*) FROM events r "
            "JOIN deliveries d ON d.event_id = r.id WHERE r.xid > $1 AND r.xid <= $2 GROUP BY 1",
            *bounds,
        )
        for place, count in counted:
            number = step[place].number
            if number in contents:
                contents[number] = contents[number]._replace(deliveries=count)
    return contents


async def _records_of(
    connection: asyncpg.Connection, subject: Subject, step: list[Seal], bounds: _Bounds
) -> dict[int, Content]:
    form = step[0].form
    counts = [0] * len(step)
    digests = [hashlib.sha256() for _ in step]
    query = (
        f"SELECT {_PLACE} AS place, {sent(subject, form)} "
        f"FROM {source(subject)} WHERE r.xid > $1 AND r.xid <= $2 ORDER BY place, r.{subject.key}"
    )
    async for rows in batches(connection, query, *bounds):
        for place, row in rows:
            counts[place] += 1
            digests[place].update(row)
    return {
        seal.number: Content(count, digest.digest(), 0, form)
        for seal, count, digest in zip(step, counts, digests, strict=True)
    }


async def _copies_of(
    connection: asyncpg.Connection, subject: Subject, step: list[Seal], bounds: _Bounds
) -> dict[int, Content]:
    """Of the seals that agree: the others are read alone, also to count their rows.

    After the rows of each seal comes one in which everything is null.
    """
    form, width = step[0].form, len(subject.sealed)
    names = ", ".join(f"c{n}" for n in range(width))
    nothing = ", ".join(["NULL"] * width)
    collation = ' COLLATE "C"' if subject.key_type == "text" else ""
    copied = Copied(divider(width))
    await copy(
        connection,
        copied,
        f"SELECT {names} FROM (SELECT {_PLACE}, r.{subject.key}, {columns(subject, form)} "
        f"FROM {source(subject)} WHERE r.xid > $1 AND r.xid <= $2 "
        f"UNION ALL SELECT place, NULL, {nothing} FROM generate_series(0, {len(step) - 1}) "
        f"AS ends (place)) AS rows (place, key, {names}) ORDER BY place, key{collation}",
        *bounds,
    )
    *digests, _ = copied.end()
    if len(digests) != len(step):  # somebody's bytes look like an end: what follows is not in place
        return {}
    return {
        seal.number: Content(seal.row_count, digest, 0, form)
        for seal, digest in zip(step, digests, strict=True)
        if digest == seal.content
    }


def _compared(seal: Seal, content: Content, retired: Retired) -> Iterator[Difference]:
    place = f"{seal.subject} of transactions {seal.from_xid + (seal.from_key is None)}"
    place += f" to {seal.upto_xid}, sealed {seal.sealed_at:%Y-%m-%d %H:%M:%S}Z"
    name = f"seal {seal.number}"
    if not _is_of(seal, content):
        yield Difference(
            "sealed_rows",
            name,
            f"{seal.row_count} {place}, digest {seal.content.hex()[:16]}",
            f"{content.row_count}, digest {content.content.hex()[:16]}",
            _CHANGED,
        )
    # One that is sent again may have had none before.
    if content.deliveries < seal.deliveries and not retired.has_lost_deliveries(seal):
        yield Difference(
            "sealed_deliveries",
            name,
            f"{seal.deliveries} of {place}",
            str(content.deliveries),
            _DELIVERIES,
        )


async def verify_numbers(connection: asyncpg.Connection) -> list[Difference]:
    """No row may name a transaction before the first or after the last: no seal would cover it."""
    found: list[Difference] = []
    async with settled(connection, enable_seqscan="off"):
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


class Unsealed(Struct, frozen=True):
    """Rows that no seal covers yet."""

    transfers: int
    transactions: int
    events: int


async def count_unsealed(connection: asyncpg.Connection, places: dict[str, Place]) -> Unsealed:
    counts = {}
    for table, place in places.items():
        key = SUBJECTS[table].key
        rest = "" if place.key is None else f' OR xid = $1 AND {key}::text > $2 COLLATE "C"'
        counts[table] = await connection.fetchval(
            f"SELECT count(*) FROM {table} WHERE xid > $1{rest}",
            *((place.xid,) if place.key is None else (place.xid, place.key)),
        )
    return Unsealed(**counts)
