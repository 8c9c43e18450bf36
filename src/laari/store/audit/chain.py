"""The chain over the ledger, verified: every seal against its key, its rows and its neighbours."""

import hmac
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from asyncpg import Connection
from msgspec import Struct

from laari.store.audit.difference import Difference
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
    rows_of,
    source,
)
from laari.store.ledger.seals import COLUMNS, Seal, mac_of
from laari.store.postgres.local_settings import local_settings
from laari.store.purge import DELIVERIES_KEPT, first_id

PAGE = 2_000  # seals held at a time
STEP_ROWS = 20_000  # sealed rows that one statement reads

CLOCKS_DIFFER = timedelta(hours=1)  # at most: servers' and ours

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
    places: dict[str, SealedPlace] = {}


def _first_places() -> dict[str, SealedPlace]:
    return dict.fromkeys(SUBJECTS, SealedPlace(0))


async def verify_links(
    connection: Connection, key: bytes, after: KnownSeal | None = None
) -> list[Difference]:
    """Every seal against the key and the one before it; with `after`, those that follow this."""
    found: list[Difference] = []
    chain = Chain(places=_first_places())
    if after is not None:
        chain = Chain(after.number, after.mac, await _places_at(connection, after.number))
    async for seals in _pages(connection, chain.number, tuple(SUBJECTS)):
        for seal in seals:
            found += _linked(key, chain, seal)
    return found


async def verify_rows(
    connection: Connection, table: str, after: KnownSeal | None = None
) -> list[Difference]:
    """Every seal of this table against the rows it covers; with `after`, those that follow this."""
    found: list[Difference] = []
    number = 0 if after is None else after.number
    async for seals in _pages(connection, number, (table,)):
        found += await _verify_contents(connection, SUBJECTS[table], seals)
    return found


async def _pages(
    connection: Connection, number: int, subjects: Sequence[str]
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


def _linked(key: bytes, chain: Chain, seal: Seal) -> Iterator[Difference]:
    """The seal against the one before it; `chain` goes on to it."""
    name = f"seal {seal.number}"
    if seal.number != chain.number + 1:
        yield Difference("seal_chain", name, f"seal {chain.number + 1}", name, _GAP)
    elif not hmac.compare_digest(mac_of(key, seal, chain.mac), seal.mac):
        yield Difference("seal_mac", name, "a seal of this key", "another", _FORGED)
    place = chain.places[seal.subject]
    if seal.after != place:
        expected = f"{seal.subject} after {_shown(place)}"
        yield Difference(
            "seal_chain", name, expected, f"{seal.subject} after {_shown(seal.after)}", _GAP
        )
    chain.number, chain.mac = seal.number, seal.mac
    chain.places[seal.subject] = seal.upto


def _shown(place: SealedPlace) -> str:
    return f"transaction {place.xid}" + ("" if place.key is None else f" row {place.key}")


async def _places_at(connection: Connection, number: int) -> dict[str, SealedPlace]:
    places = _first_places()
    for table in places:
        row = await connection.fetchrow(
            "SELECT upto_xid, upto_key FROM seals WHERE subject = $1 AND number <= $2 "
            "ORDER BY number DESC LIMIT 1",
            table,
            number,
        )
        if row is not None:
            places[table] = SealedPlace(*row)
    return places


async def _verify_contents(
    connection: Connection, subject: Subject, seals: list[Seal]
) -> list[Difference]:
    """What the seals cover, in as few statements as is good for the memory."""
    found: list[Difference] = []
    for step in steps(seals, STEP_ROWS):
        contents = await _read_together(connection, subject, step) if len(step) > 1 else {}
        for seal in step:
            content = contents.get(seal.number)
            if content is None:
                content = await content_of(connection, subject, seal.after, seal.upto)
            found += _compared(seal, content)
            # One that is sent again may have had none before.
            if content.deliveries < seal.deliveries and await _are_kept(connection, seal):
                found.append(_fewer_deliveries(seal, content))
    return found


def _is_of(seal: Seal, content: Content) -> bool:
    return (seal.row_count, seal.content) == (content.row_count, content.content)


def steps(seals: list[Seal], most: int) -> Iterator[list[Seal]]:
    """Seals that follow each other and cover whole transactions, up to so many rows."""
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
    """What seals cover that follow each other, by their numbers, of those that agree.

    The others are read alone, also to count their rows. After the rows of each seal comes one in
    which everything is null.
    """
    assert all(a.upto == b.after for a, b in pairwise(step))
    # The transaction before the step, its last one, and the first of each of its seals.
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
    if len(digests) != len(step):  # somebody's bytes look like an end: what follows is not in place
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


def _compared(seal: Seal, content: Content) -> Iterator[Difference]:
    if not _is_of(seal, content):
        yield Difference(
            "sealed_rows",
            f"seal {seal.number}",
            f"{seal.row_count} {_covered(seal)}, digest {seal.content.hex()[:16]}",
            f"{content.row_count}, digest {content.content.hex()[:16]}",
            _CHANGED,
        )


def _covered(seal: Seal) -> str:
    first = seal.from_xid + (seal.from_key is None)
    return (
        f"{seal.subject} of transactions {first} to {seal.upto_xid}, "
        f"sealed {seal.sealed_at:%Y-%m-%d %H:%M:%S}Z"
    )


async def _are_kept(connection: Connection, seal: Seal) -> bool:
    """Whether all events of the seal are too young for their deliveries to be purged."""
    subject = SUBJECTS["events"]
    oldest = first_id(datetime.now(UTC) - DELIVERIES_KEPT + CLOCKS_DIFFER)
    are_young: bool = await connection.fetchval(
        f"SELECT NOT EXISTS (SELECT FROM {source(subject)} "
        f"WHERE r.id < $5 AND {rows_of(subject, seal.after, seal.upto)})",
        *(seal.from_xid, seal.from_key, seal.upto_xid, seal.upto_key, oldest),
    )
    return are_young


def _fewer_deliveries(seal: Seal, content: Content) -> Difference:
    return Difference(
        "sealed_deliveries",
        f"seal {seal.number}",
        f"{seal.deliveries} of {_covered(seal)}",
        str(content.deliveries),
        _DELIVERIES,
    )


async def verify_numbers(connection: Connection) -> list[Difference]:
    """No row may name a transaction before the first or after the last: no seal would cover it."""
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


class Unsealed(Struct, frozen=True):
    """Live rows that no seal covers yet."""

    transfers: int
    transactions: int
    events: int


async def count_unsealed(connection: Connection, places: dict[str, SealedPlace]) -> Unsealed:
    counts = {}
    for table, place in places.items():
        subject = SUBJECTS[table]
        key = subject.key
        rest = "" if place.key is None else f' OR r.xid = $1 AND r.{key}::text > $2 COLLATE "C"'
        counts[table] = await connection.fetchval(
            f"SELECT count(*) FROM {source(subject)} WHERE (r.xid > $1{rest}) AND {subject.live}",
            *((place.xid,) if place.key is None else (place.xid, place.key)),
        )
    return Unsealed(**counts)
