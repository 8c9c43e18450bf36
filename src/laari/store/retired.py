"""What was removed for its age, as the chain of seals records it.

Every removal covers whole seals and adds a record to the chain: a seal again, of the rows that the
removal has left. From then on the record stands for the seals that it covers, so that the rows that
stay are as well sealed as before, and nobody without the key can pass off a deletion as one. The
records of one kind of removal follow each other from the beginning of the table without a gap, so
that the last of them says how far it has come.
"""

from __future__ import annotations

import hmac
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
from msgspec import Struct

from laari.store.sealed_rows import Place
from laari.store.seals import COLUMNS, Seal, mac_of

DELIVERIES = "old deliveries"
SANDBOX_EVENTS = "sandbox events"
OLD_EVENTS = "old events"
SANDBOX_FAILED = "sandbox failed lines"
OLD_FAILED = "old failed lines"

# What covers the rows of a table: its seals, and over them the records of removals. Each kind of
# record covers whole ones of the kind before it, and stands for them.
LAYERS = {
    "transfers": ("transfers",),
    "transactions": ("transactions", SANDBOX_FAILED, OLD_FAILED),
    "events": ("events", SANDBOX_EVENTS, OLD_EVENTS),
}
TABLES = {layer: table for table, layers in LAYERS.items() for layer in layers}
# Deliveries are counted in seals and not digested, so their records stand for nothing.
RECORDS = (SANDBOX_FAILED, OLD_FAILED, SANDBOX_EVENTS, OLD_EVENTS, DELIVERIES)

# Servers' clocks differ: a row may seem to be so much newer than the seal over it.
SKEW = timedelta(minutes=10)


def order(place: Place) -> tuple[int, bool, str]:
    """For comparing places: without a key a transaction is passed whole."""
    return place.xid, place.key is None, place.key or ""


class Frontier(Struct, frozen=True):
    """How far a kind of removal has come, and when the newest rows up to there were sealed."""

    place: Place
    sealed_at: datetime


class Retired(Struct, frozen=True):
    """How far each kind of removal has come; records that are not of our key count for nothing."""

    frontiers: dict[str, Frontier] = {}
    forged: list[Seal] = []

    def is_replaced(self, seal: Seal) -> bool:
        """Whether a record stands for this seal, or for this record."""
        layers = LAYERS.get(TABLES.get(seal.subject, ""), ())
        above = layers[layers.index(seal.subject) + 1 :][:1] if layers else ()
        return any(order(seal.upto) <= self._reached(name) for name in above)

    def has_lost_deliveries(self, seal: Seal) -> bool:
        """Whether deliveries of this seal's events were removed, or some of them."""
        return order(seal.after) < self._reached(DELIVERIES)

    def _reached(self, name: str) -> tuple[int, bool, str]:
        frontier = self.frontiers.get(name)
        return order(Place(0) if frontier is None else frontier.place)

    def before(self, name: str) -> UUID:
        """An id: only what is older can have lost an event to this kind of removal."""
        frontier = self.frontiers.get(name)
        if frontier is None:
            return UUID(int=0)
        return UUID(int=int((frontier.sealed_at + SKEW).timestamp() * 1000) << 80)


async def read_retired(connection: asyncpg.Connection, key: bytes | None) -> Retired:
    """The last record of each kind; without a key, whoever made it."""
    frontiers: dict[str, Frontier] = {}
    forged: list[Seal] = []
    for name in RECORDS:
        last = await last_record(connection, name)
        if last is None:
            continue
        over = await seal_over(connection, TABLES.get(name, "events"), last.upto)
        pair = [last] if over is None else [last, over]
        if key is not None:
            forged += [seal for seal in pair if not await are_ours(connection, key, [seal])]
        if over is not None and not {last, over} & set(forged):
            frontiers[name] = Frontier(last.upto, over.sealed_at)
    return Retired(frontiers, forged)


async def last_record(connection: asyncpg.Connection, name: str) -> Seal | None:
    row = await connection.fetchrow(
        f"SELECT {COLUMNS} FROM seals WHERE subject = $1 ORDER BY number DESC LIMIT 1", name
    )
    return None if row is None else Seal(*row)


async def are_ours(connection: asyncpg.Connection, key: bytes, seals: list[Seal]) -> bool:
    """Whether each was made with our key, after the one that is before it now."""
    rows = await connection.fetch(
        "SELECT number + 1, mac FROM seals WHERE number = ANY($1)",
        [seal.number - 1 for seal in seals],
    )
    before = dict(rows)
    return all(
        hmac.compare_digest(mac_of(key, seal, before.get(seal.number, b"")), seal.mac)
        for seal in seals
    )


async def seal_over(connection: asyncpg.Connection, table: str, place: Place) -> Seal | None:
    """The table's own seal that this place is in or at the end of."""
    row = await connection.fetchrow(
        f"SELECT {COLUMNS} FROM seals WHERE subject = $1 AND upto_xid >= $2 AND "
        "(upto_xid > $2 OR upto_key IS NULL OR $3::text IS NOT NULL AND upto_key >= $3) "
        "ORDER BY upto_xid, upto_key LIMIT 1",
        table,
        place.xid,
        place.key,
    )
    return None if row is None else Seal(*row)
