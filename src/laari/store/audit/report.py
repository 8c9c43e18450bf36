"""One audit: every check over one snapshot, so that payments can be made at the same time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

import asyncpg
import msgspec
from asyncpg import Connection
from msgspec import Struct

from laari.store.audit import (
    added_rows,
    balances,
    bodies,
    changed_records,
    events,
    parties,
    payouts,
    periods,
    refunds,
    tills,
    transfers,
)
from laari.store.audit.chain import count_unsealed, verify_links, verify_numbers, verify_rows
from laari.store.audit.difference import MEMORY, Check, Difference, shown
from laari.store.audit.schema import verify_schema
from laari.store.audit.scope import EVERYTHING, Scope, since
from laari.store.ledger.last_seal_file import KnownSeal, is_in_chain
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.ledger.seals import last_seal, sealed_places
from laari.store.postgres.connect import local_settings

SHOWN = 100  # differences of each kind; the report counts all of them

# The longest checks come first: the others fit in beside them.
_PARTS = (
    bodies,
    transfers,
    balances,
    periods,
    changed_records,
    added_rows,
    events,
    parties,
    refunds,
    payouts,
    tills,
)
CHECKS = [check for part in _PARTS for check in part.CHECKS]

_UNREADABLE = "An event's body is not the JSON that the service writes."
_UNREADABLE_VALUE = "A value cannot be read, so this was not compared."
_LOST = "A seal that was kept is no longer in the chain: seals were removed, or an older copy of "
_LOST += "the database was put in place."

Tell: TypeAlias = Callable[[str, int, int], None]
Step: TypeAlias = Callable[[Connection], Awaitable[list[Difference]]]


class LastSeal(Struct, frozen=True):
    number: int
    mac: str
    sealed_at: str


class Report(Struct, frozen=True):
    """The differences, and in `counts` the number of all differences of each kind.

    Without a key `last_seal` and `unsealed` are null. `kept_seals` are from outside the database.
    """

    ok: bool
    payments: int
    transfers: int
    differences: list[Difference]
    counts: dict[str, int]
    last_seal: LastSeal | None = None
    unsealed: dict[str, int] | None = None  # live rows of each table that no seal covers yet
    kept_seals: tuple[str, ...] = ()


async def audit(
    connection: Connection,
    key: bytes | None = None,
    *,
    beside: Iterable[Connection] = (),
    known: Iterable[KnownSeal] = (),
    since_seal: bool = False,
    tell: Tell = lambda _what, _done, _total: None,
) -> Report:
    """Runs every check over one snapshot, which the connections `beside` this one share."""
    async with one_snapshot(connection):
        await settle(connection, since_seal)
        places, known = await sealed_places(connection), list(known)
        scope = await since(connection, places) if since_seal else EVERYTHING
        payments, transfers = await connection.fetchrow(
            scope.apply("SELECT (SELECT count(*) FROM payments), (SELECT count(*) FROM transfers)"),
            *scope.parameters,
        )
        totals: Counter[str] = Counter()
        steps = _steps(scope, key, known, since_seal, totals)
        found = await _run(connection, beside, steps, since_seal, tell)
        unsealed = ends = None
        if key is not None:
            unsealed = await count_unsealed(connection, places)
            if last := await last_seal(connection):
                ends = LastSeal(last.number, last.mac.hex(), last.sealed_at.isoformat())
    counts = Counter(each.kind for each in found) | totals
    differences = [
        each for kind in counts for each in [other for other in found if other.kind == kind][:SHOWN]
    ]
    kept = tuple(map(str, known))
    return Report(
        ok=not found,
        payments=payments,
        transfers=transfers,
        differences=differences,
        counts=dict(counts),
        last_seal=ends,
        unsealed=unsealed,
        kept_seals=kept,
    )


@asynccontextmanager
async def one_snapshot(connection: Connection) -> AsyncIterator[None]:
    """One moment for all statements. A check that was cancelled may have closed the connection: its
    end must not hide the error that cancelled it."""
    transaction = connection.transaction(isolation="repeatable_read", readonly=True)
    await transaction.start()
    try:
        yield
    finally:
        if not connection.is_closed():
            await transaction.rollback()


async def settle(connection: Connection, since_seal: bool) -> None:
    """How the statements of this transaction are planned and read."""
    # New rows are few and found along an index; whole tables are joined as wholes. The planner
    # compares each row with each if it expects few rows and there are many.
    avoided = "enable_seqscan" if since_seal else "enable_nestloop"
    await connection.execute(f"SET LOCAL {avoided} = off")
    # The connections already share the processors. The search path keeps unqualified names
    # PostgreSQL's own or our tables, whatever somebody has set for this role.
    await connection.execute(
        f"SET LOCAL work_mem = '{MEMORY}'; "
        "SET LOCAL max_parallel_workers_per_gather = 0; "
        "SET LOCAL search_path = pg_catalog, public; SET LOCAL row_security = off; "
        "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL datestyle = 'ISO, YMD'; "
        "SET LOCAL timezone = 'UTC'; SET LOCAL bytea_output = 'hex'"
    )


def _steps(
    scope: Scope, key: bytes | None, known: list[KnownSeal], since_seal: bool, totals: Counter[str]
) -> list[tuple[str, Step]]:
    steps: list[tuple[str, Step]] = [("schema", verify_schema)]
    if key is not None:
        if since_seal:
            steps.append(("chain", partial(_newest_seal, key)))
        else:
            steps.append(("chain", partial(verify_links, key=key)))
            steps += [
                (f"sealed {table}", partial(verify_rows, table=table))
                for table in reversed(SUBJECTS)  # the longest first
            ]
        steps.append(("transactions of rows", verify_numbers))
        steps.append(("kept seals", partial(_known, known)))
    wanted = ("rows", "part") if since_seal else ("rows", "all")
    together: dict[str, list[Check]] = {}
    for check in CHECKS:
        if check.scope in wanted:
            together.setdefault(check.queries or check.sql, []).append(check)
    return steps + [
        (checks[0].kind, partial(_check, checks, scope, totals)) for checks in together.values()
    ]


async def _newest_seal(key: bytes, connection: Connection) -> list[Difference]:
    before = await connection.fetchrow(
        "SELECT number, mac FROM seals ORDER BY number DESC OFFSET 1 LIMIT 1"
    )
    after = KnownSeal(0, b"") if before is None else KnownSeal(**before)
    found = await verify_links(connection, key, after)
    for table in SUBJECTS:
        found += await verify_rows(connection, table, after.number)
    return found


async def _known(known: list[KnownSeal], connection: Connection) -> list[Difference]:
    return [
        Difference("seal_lost", f"seal {seal.number}", str(seal), "not in the chain", _LOST)
        for seal in known
        if not await is_in_chain(connection, seal)
    ]


async def _run(
    connection: Connection,
    beside: Iterable[Connection],
    steps: list[tuple[str, Step]],
    since_seal: bool,
    tell: Tell,
) -> list[Difference]:
    """Runs every step once, on the next connection that is free."""
    beside = list(beside)
    snapshot = await connection.fetchval("SELECT pg_export_snapshot()") if beside else ""
    waiting = list(enumerate(steps))[::-1]
    found: dict[int, list[Difference]] = {}

    async def work(own: Connection) -> None:
        while waiting:
            number, (name, step) = waiting.pop()
            tell(name, len(found), len(steps))
            found[number] = await step(own)

    async def work_beside(own: Connection) -> None:
        async with one_snapshot(own):
            await own.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            await settle(own, since_seal)
            await work(own)

    try:
        # Ends all of them if one fails: a transaction cannot end while its statement runs.
        async with asyncio.TaskGroup() as group:
            for each in (work(connection), *map(work_beside, beside)):
                group.create_task(each)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [difference for number in sorted(found) for difference in found[number]]


def statement(checks: list[Check]) -> str:
    """One statement for checks that share their queries: the first differences of each kind."""
    found = " UNION ALL ".join(
        f"SELECT '{check.kind}' AS kind, id, expected, found FROM ({check.sql}) AS checked"
        for check in checks
    )
    queries = checks[0].queries
    return (
        f"{f'WITH {queries}' if queries else ''} "
        "SELECT * FROM (SELECT kind, id, expected, found, "
        "count(*) OVER (PARTITION BY kind) AS total, "
        "row_number() OVER (PARTITION BY kind ORDER BY id, expected) AS place "
        f"FROM ({found}) AS d) AS numbered WHERE place <= {SHOWN} ORDER BY kind, place"
    )


async def _check(
    checks: list[Check], scope: Scope, totals: Counter[str], connection: Connection
) -> list[Difference]:
    """Adds the number of all differences to `totals`."""
    try:
        async with local_settings(connection, work_mem=checks[0].memory):
            rows = await connection.fetch(scope.apply(statement(checks)), *scope.parameters)
    except asyncpg.DataError as error:
        # Somebody wrote a value that the service never writes: it must not end the audit.
        if checks[0] in bodies.CHECKS:
            return await _unreadable(checks[0].kind, scope, totals, connection, error)
        return [
            Difference(each.kind, "-", "values of the service", str(error), _UNREADABLE_VALUE)
            for each in checks
        ]
    totals.update({row["kind"]: row["total"] for row in rows})
    messages = {check.kind: check.message for check in checks}
    return [
        Difference(row["kind"], row["id"], row["expected"], row["found"], messages[row["kind"]])
        for row in rows
    ]


class _Body(Struct):
    data: dict[str, object]


async def _unreadable(
    kind: str, scope: Scope, totals: Counter[str], connection: Connection, error: Exception
) -> list[Difference]:
    """Reads the bodies one by one: one that is not JSON has stopped the statement."""
    differences: list[Difference] = []
    every = scope.apply(f"SELECT {shown('evt', 'id')} AS id, body FROM events")
    async for row in connection.cursor(every, *scope.parameters, prefetch=1000):
        try:
            msgspec.json.decode(row["body"], type=_Body)
        except msgspec.DecodeError as problem:
            totals[kind] += 1
            if len(differences) < SHOWN:
                differences.append(Difference(kind, row["id"], "JSON", str(problem), _UNREADABLE))
    return differences or [Difference(kind, "-", "JSON", str(error), _UNREADABLE)]
