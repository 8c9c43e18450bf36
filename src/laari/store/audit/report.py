"""One audit: every check over one snapshot, so that it can run while payments are made."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import asyncpg
import msgspec
from asyncpg import Connection
from msgspec import Struct

from laari.store.audit import (
    authorizations,
    bodies,
    deliveries,
    events,
    history,
    money,
    moves,
    parties,
    periods,
    times,
)
from laari.store.audit.chain import (
    Unsealed,
    count_unsealed,
    verify_links,
    verify_numbers,
    verify_rows,
)
from laari.store.audit.difference import MEMORY, Check, Difference, shown_event
from laari.store.audit.schema import verify_schema
from laari.store.audit.scope import EVERYTHING, Scope, since
from laari.store.ledger.last_seal_file import KnownSeal, is_in_chain
from laari.store.ledger.sealed_rows import SUBJECTS
from laari.store.ledger.seals import Seal, last_seal, sealed_places
from laari.store.postgres.local_settings import local_settings

SHOWN = 100  # differences of each kind; how many there are in all is counted

CHECKS: list[Check] = [
    check
    for part in (
        bodies,  # what takes longest comes first: the others fit in beside it
        money,
        moves,
        history,
        periods,
        times,
        events,
        parties,
        authorizations,
        deliveries,
    )
    for check in part.CHECKS
]

_UNREADABLE = "An event's body is not the JSON that the service writes."
_LOST = "A seal that was kept is no longer in the chain: seals were removed, or an older copy of "
_LOST += "the database was put in place."

Tell: TypeAlias = Callable[[str, int, int], None]
Step: TypeAlias = Callable[[Connection], Awaitable["CheckResult"]]


class CheckResult(NamedTuple):
    differences: Sequence[Difference]
    counts: Counter[str]


class LastSeal(Struct, frozen=True):
    """The end of the chain, for keeping elsewhere."""

    number: int
    mac: str
    sealed_at: str


class Report(Struct, frozen=True):
    """What the audit found; `counts` is how many differences of each kind there are in all.

    `last_seal` and `unsealed` are null where the audit had no key to look at the chain.
    `kept_seals` are those from outside the database that the chain was compared with.
    """

    ok: bool
    payments: int
    transfers: int
    differences: list[Difference]
    counts: dict[str, int]
    last_seal: LastSeal | None = None
    unsealed: Unsealed | None = None
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
    """Every check over one snapshot, shared by the connections `beside` this one.

    `key` is the one that seals were made with. `since_seal` looks only at what was written after
    the last seal and at that seal itself.
    """
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await look(
            connection, key, beside=beside, known=known, since_seal=since_seal, tell=tell
        )


async def look(
    connection: Connection,
    key: bytes | None = None,
    *,
    beside: Iterable[Connection] = (),
    known: Iterable[KnownSeal] = (),
    since_seal: bool = False,
    tell: Tell = lambda _what, _done, _total: None,
) -> Report:
    """The audit as the caller's transaction sees the database."""
    await settle(connection, since_seal)
    places, last = await sealed_places(connection), await last_seal(connection)
    scope = await since(connection, places) if since_seal else EVERYTHING
    payments, transfers = await connection.fetchrow(
        scope.apply("SELECT (SELECT count(*) FROM payments), (SELECT count(*) FROM transfers)"),
        *scope.parameters,
    )
    kept = tuple(known)
    steps = _steps(scope, _Chain(key, last, kept), since_seal)
    found = await _run(connection, beside, steps, since_seal, tell)
    unsealed = None if key is None else await count_unsealed(connection, places)
    differences = [difference for each in found for difference in each.differences]
    counts: Counter[str] = sum((each.counts for each in found), Counter())
    ends = None
    if key is not None and last is not None:
        ends = LastSeal(last.number, last.mac.hex(), last.sealed_at.isoformat())
    return Report(
        not differences,
        payments,
        transfers,
        differences,
        dict(counts),
        ends,
        unsealed,
        kept_seals=tuple(map(str, kept)),
    )


async def settle(connection: Connection, since_seal: bool) -> None:
    """How the statements of this transaction are planned and read."""
    # The few new rows are found along an index, and whole tables are joined as wholes, whatever the
    # planner believes: if it expects few rows and there are many, it compares each with each.
    avoided = "enable_seqscan" if since_seal else "enable_nestloop"
    await connection.execute(f"SET LOCAL {avoided} = off")
    # The connections share the processors already. What is unqualified is PostgreSQL's own or a
    # table of ours, whatever somebody has set for this role.
    await connection.execute(
        f"SET LOCAL work_mem = '{MEMORY}'; SET LOCAL jit = off; "
        "SET LOCAL max_parallel_workers_per_gather = 0; "
        "SET LOCAL search_path = pg_catalog, public; SET LOCAL row_security = off; "
        "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL datestyle = 'ISO, YMD'"
    )


class _Chain(NamedTuple):
    """What the chain is looked at with."""

    key: bytes | None
    last: Seal | None
    known: tuple[KnownSeal, ...]


def _steps(scope: Scope, chain: _Chain, since_seal: bool) -> list[tuple[str, Step]]:
    steps: list[tuple[str, Step]] = [("schema", _whole(verify_schema))]
    if chain.key is not None:
        if since_seal:
            steps.append(("chain", partial(_newest_seal, chain.key, chain)))
        else:
            steps.append(("chain", _whole(partial(verify_links, key=chain.key))))
            steps += [
                (f"sealed {table}", _whole(partial(verify_rows, table=table)))
                for table in reversed(SUBJECTS)  # what takes longest first
            ]
        steps.append(("transactions of rows", _whole(verify_numbers)))
        steps.append(("kept seals", partial(_known, chain.known)))
    wanted = ("rows", "part") if since_seal else ("rows", "all")
    together: dict[str, list[Check]] = {}
    for check in CHECKS:
        if check.scope in wanted:
            together.setdefault(check.queries or check.sql, []).append(check)
    steps += [(checks[0].kind, partial(_check, checks, scope)) for checks in together.values()]
    return steps


def _whole(verify: Callable[[Connection], Awaitable[list[Difference]]]) -> Step:
    async def step(connection: Connection) -> CheckResult:
        return _counted(await verify(connection))

    return step


def _counted(differences: list[Difference]) -> CheckResult:
    counts = Counter(difference.kind for difference in differences)
    shown = [
        difference
        for kind in counts
        for difference in [each for each in differences if each.kind == kind][:SHOWN]
    ]
    return CheckResult(shown, counts)


async def _newest_seal(key: bytes, chain: _Chain, connection: Connection) -> CheckResult:
    last = chain.last
    before = await connection.fetchrow(
        "SELECT number, mac FROM seals WHERE number < $1 ORDER BY number DESC LIMIT 1",
        0 if last is None else last.number,
    )
    after = KnownSeal(*(before or (0, b"")))
    found = await verify_links(connection, key, after)
    for table in SUBJECTS:
        found += await verify_rows(connection, table, after)
    return _counted(found)


async def _known(known: tuple[KnownSeal, ...], connection: Connection) -> CheckResult:
    lost = [seal for seal in known if not await is_in_chain(connection, seal)]
    return _counted(
        [
            Difference("seal_lost", f"seal {seal.number}", str(seal), "not in the chain", _LOST)
            for seal in lost
        ]
    )


async def _run(
    connection: Connection,
    beside: Iterable[Connection],
    steps: list[tuple[str, Step]],
    since_seal: bool,
    tell: Tell,
) -> list[CheckResult]:
    """Every step once, on whichever connection is free."""
    beside = list(beside)
    snapshot = await connection.fetchval("SELECT pg_export_snapshot()") if beside else ""
    waiting = list(enumerate(steps))[::-1]
    found: dict[int, CheckResult] = {}

    async def work(own: Connection) -> None:
        while waiting:
            number, (name, step) = waiting.pop()
            tell(name, len(found), len(steps))
            found[number] = await step(own)

    async def work_beside(own: Connection) -> None:
        async with own.transaction(isolation="repeatable_read", readonly=True):
            await own.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            await settle(own, since_seal)
            await work(own)

    await asyncio.gather(work(connection), *map(work_beside, beside))
    return [found[number] for number in sorted(found)]


def statement(checks: list[Check]) -> str:
    """Checks that stand on the same queries, as one statement: the first differences of each."""
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


async def _check(checks: list[Check], scope: Scope, connection: Connection) -> CheckResult:
    try:
        async with local_settings(connection, work_mem=checks[0].memory):
            rows = await connection.fetch(scope.apply(statement(checks)), *scope.parameters)
    except asyncpg.DataError as error:
        if checks[0].kind not in bodies.READS_EVENTS:
            raise
        return await _unreadable(checks[0], scope, connection, error)
    messages = {check.kind: check.message for check in checks}
    differences = [
        Difference(row["kind"], row["id"], row["expected"], row["found"], messages[row["kind"]])
        for row in rows
    ]
    return CheckResult(differences, Counter({row["kind"]: row["total"] for row in rows}))


class _Body(Struct):
    data: dict[str, object]


async def _unreadable(
    check: Check, scope: Scope, connection: Connection, error: Exception
) -> CheckResult:
    """A body that is no JSON stops the statement that reads it: looks for it one by one."""
    differences: list[Difference] = []
    count = 0
    every = scope.apply(f"SELECT {shown_event('id')} AS id, body FROM events")
    async for row in connection.cursor(every, *scope.parameters, prefetch=1000):
        try:
            msgspec.json.decode(row["body"], type=_Body)
        except msgspec.DecodeError as problem:
            count += 1
            if count <= SHOWN:
                differences.append(
                    Difference(check.kind, row["id"], "JSON", str(problem), _UNREADABLE)
                )
    if not differences:
        differences, count = [Difference(check.kind, "-", "JSON", str(error), _UNREADABLE)], 1
    return CheckResult(differences, Counter({check.kind: count}))
