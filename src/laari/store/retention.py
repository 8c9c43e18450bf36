"""Removes what has reached its age, in steps that each are one short transaction.

A step takes the next seals of a table that are old enough, proves that their rows are still the
ones that were sealed, removes those that may go, and adds a record of what is left to the chain
(`retired.py`). A crash leaves the whole of a step or nothing of it. What the ledger stands on is
never removed: transfers, lines of history that moved money, payments that were paid, and the events
of what is still open or of what a live customer agreed to.

The age of a row is that of the seal over it, which is made a few seconds after the row and cannot
be changed without the key. Rows that are not sealed have no age yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

import asyncpg

from laari.errors import LaariError
from laari.store import expunge
from laari.store.audit.chain import steps, verify_contents
from laari.store.expunge import Stretch
from laari.store.retired import (
    DELIVERIES,
    OLD_EVENTS,
    OLD_FAILED,
    SANDBOX_EVENTS,
    SANDBOX_FAILED,
    are_ours,
    last_record,
    order,
    read_retired,
    seal_over,
)
from laari.store.sealed_rows import FORM, SUBJECTS, Content, Place, content_of
from laari.store.sealing import ADVISORY_LOCK, end_of
from laari.store.seals import COLUMNS, Range, Seal, insert, last_seal, next_seal

LOCK = 0x6C61617269_7265  # "laari" "re": one process removes at a time
STEP_ROWS = 2_000  # of a step, unless a single seal has more and has to be taken whole
STEP_SEALS = 200


class TamperedError(LaariError):
    """What is old enough to go is not what was sealed: it stays, for the audit to name."""


class Removal(NamedTuple):
    """One kind of removal: whose records it makes, and the seals or records it takes for that."""

    name: str
    table: str
    over: str
    remove: Callable[[asyncpg.Connection, Stretch], Awaitable[int]]


REMOVALS = {
    removal.name: removal
    for removal in (
        Removal(DELIVERIES, "events", "events", expunge.remove_deliveries),
        Removal(SANDBOX_EVENTS, "events", "events", expunge.remove_sandbox_events),
        Removal(OLD_EVENTS, "events", SANDBOX_EVENTS, expunge.remove_events),
        Removal(
            SANDBOX_FAILED, "transactions", "transactions", expunge.remove_sandbox_failed_lines
        ),
        Removal(OLD_FAILED, "transactions", SANDBOX_FAILED, expunge.remove_failed_lines),
    )
}

_FOLLOWING = f"""
SELECT {COLUMNS} FROM seals WHERE subject = $1 AND upto_xid >= $2
    AND (upto_xid > $2 OR $3::text IS NOT NULL AND (upto_key IS NULL OR upto_key > $3))
ORDER BY upto_xid, upto_key LIMIT $4
"""


class Removed(NamedTuple):
    """How many rows a step has removed, and whether it moved on: then there may be more."""

    rows: int
    more: bool


_NOTHING = Removed(0, more=False)


async def remove_next(
    connection: asyncpg.Connection,
    key: bytes,
    name: str,
    sealed_by: datetime,
    most: int = STEP_ROWS,
) -> Removed:
    """The next step of this kind, in a transaction of the caller's: what was sealed by then goes.

    Does nothing where another process is removing.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", LOCK):
        return _NOTHING
    # Rows are found by their transaction or their key, whatever the planner believes.
    await connection.execute(
        "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = off"
    )
    removal = REMOVALS[name]
    last = await last_record(connection, name)
    units = await _old_enough(connection, removal, last, sealed_by)
    if not units:
        return _NOTHING
    step = next(steps([unit.seal for unit in units], most))
    await _prove(connection, key, removal, last, units[: len(step)])
    if name == DELIVERIES:
        stretch = await _beginning(connection, last, step, most)
        rows = await removal.remove(connection, stretch)
        left = Content(rows, hashlib.sha256().digest(), 0, FORM)
    else:
        stretch = Stretch(removal.table, step[0].after, step[-1].upto)
        rows = await removal.remove(connection, stretch)
        subject = SUBJECTS[removal.table]
        left = await content_of(connection, subject, stretch.after, stretch.upto, FORM)
    # Only now the lock on the chain, which the sealer wants too.
    await connection.execute("SELECT pg_advisory_xact_lock($1)", ADVISORY_LOCK)
    covered = Range(name, stretch.after, stretch.upto)
    await insert(connection, next_seal(key, await last_seal(connection), covered, left))
    return Removed(rows, more=True)


async def _beginning(
    connection: asyncpg.Connection, last: Seal | None, step: list[Seal], most: int
) -> Stretch:
    """So many of the events whose deliveries go next: a seal does not have to be taken whole.

    Deliveries are counted in seals and not digested.
    """
    place, end = _reached(last), step[-1].upto
    cut = await end_of(connection, SUBJECTS["events"], place, end.xid, most)
    return Stretch("events", place, end if cut is None else min(cut, end, key=order))


def _reached(last: Seal | None) -> Place:
    return Place(0) if last is None else last.upto


class _Unit(NamedTuple):
    """A seal or a record that a removal takes, and the seal that says how old its rows are."""

    seal: Seal
    aged: Seal


async def _old_enough(
    connection: asyncpg.Connection, removal: Removal, last: Seal | None, sealed_by: datetime
) -> list[_Unit]:
    """The seals or records that follow the last removal, as far as they were sealed by then."""
    place = _reached(last)
    rows = await connection.fetch(_FOLLOWING, removal.over, place.xid, place.key, STEP_SEALS)
    found: list[_Unit] = []
    for seal in (Seal(*row) for row in rows):
        aged: Seal | None = seal
        if removal.over != removal.table:
            aged = await seal_over(connection, removal.table, seal.upto)
        if aged is None or aged.sealed_at > sealed_by:
            break
        found.append(_Unit(seal, aged))
    return found


async def _prove(
    connection: asyncpg.Connection,
    key: bytes,
    removal: Removal,
    last: Seal | None,
    units: list[_Unit],
) -> None:
    """That these are seals of ours, and their rows the ones that were sealed."""
    place, step = _reached(last), [unit.seal for unit in units]
    begun = removal.name == DELIVERIES and order(step[0].after) < order(place)
    seals = [*(() if last is None else (last,)), *step, *(unit.aged for unit in units)]
    if (step[0].after != place and not begun) or not await are_ours(connection, key, seals):
        raise TamperedError(f"{removal.name}: seals near {step[0].number} are not ours")
    retired = await read_retired(connection, key)
    # A seal that is begun was proven when it was.
    unproven = [seal for seal in step[begun:] if not retired.is_replaced(seal)]
    found = await verify_contents(connection, SUBJECTS[removal.table], unproven, retired)
    if found:
        raise TamperedError(f"{removal.name}: {found[0].id} does not agree with its rows")
