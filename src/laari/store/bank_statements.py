"""Statements of the bank: kept as they were uploaded, checked, and imported line by line.

The desk and the command line use the same steps. All of them work in slices, so that a long
statement holds nothing up.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta
from typing import Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.banking.bank_balances import DayBalances, Gap, Paths, follow, in_order
from laari.rules.banking.bank_imports import BeginImport, Counting, Totals, matched
from laari.rules.banking.bank_lines import Imported, ImportLine
from laari.rules.banking.bank_statement import SLICE, StatementLine, statement_slices
from laari.rules.banking.line_targets import Expected, match_of
from laari.rules.banking.waiting_movements import Made, MakeMovement
from laari.rules.command import Command
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal, refuse
from laari.store.reads.money import movement_lists
from laari.store.reads.money.bank import expectations
from laari.store.reads.money.float_days import FOLLOWED_DAYS, day_balances
from laari.store.reads.money.movement_lists import confirmed_import

P = ParamSpec("P")
T = TypeVar("T")

UNUSED_DAYS = 7  # after which a statement that nobody waits for is deleted
HASHED_BYTES = 256 * 1024  # at a time, in less than a millisecond
BOOKED_TOGETHER = 20  # lines: a small part of a batch


class Ask(Protocol):
    """Runs a read on any connection."""

    async def __call__(
        self,
        function: Callable[Concatenate[Connection, P], Awaitable[T]],
        *given: P.args,
        **named: P.kwargs,
    ) -> T: ...


def asking(connection: Connection) -> Ask:
    """Reads on this connection."""

    async def ask(
        function: Callable[Concatenate[Connection, P], Awaitable[T]],
        *given: P.args,
        **named: P.kwargs,
    ) -> T:
        return await function(connection, *given, **named)

    return ask


class Submit(Protocol):
    """Decides a command, as the spine does."""

    async def __call__(self, command: Command[T], /) -> T | Refusal: ...


async def digest_of(content: bytes) -> str:
    digest = hashlib.sha256()
    for start in range(0, len(content), HASHED_BYTES):
        digest.update(memoryview(content)[start : start + HASHED_BYTES])
        await asyncio.sleep(0)
    return digest.hexdigest()


async def keep(connection: Connection, digest: str, content: bytes, now: datetime) -> None:
    """Keeps a statement until it is imported, and deletes old ones that nobody waits for."""
    await connection.execute(
        "INSERT INTO bank_statements (digest, content, stored_at) VALUES ($1, $2, $3) "
        "ON CONFLICT (digest) DO UPDATE SET stored_at = excluded.stored_at",
        digest,
        content,
        now,
    )
    await connection.execute(
        "DELETE FROM bank_statements s WHERE stored_at < $1 AND NOT EXISTS "
        "(SELECT FROM pending_movements m WHERE m.reference = s.digest AND m.kind = 'import')",
        now - timedelta(days=UNUSED_DAYS),
    )


async def content_of(connection: Connection, digest: str) -> bytes | None:
    found: bytes | None = await connection.fetchval(
        "SELECT content FROM bank_statements WHERE digest = $1", digest
    )
    return found


class Checked(NamedTuple):
    """The lines, oldest first. With a conflict none may be booked; a gap is only shown."""

    lines: list[Expected]
    gaps: list[Gap]
    totals: Totals

    @property
    def conflicts(self) -> list[Expected]:
        return [each for each in self.lines if each.conflict is not None]


async def read(content: bytes, today: date) -> list[StatementLine]:
    """The lines of a statement, oldest first; raises `StatementError`."""
    lines: list[StatementLine] = []
    for part in statement_slices(content, today):
        lines += part
        await asyncio.sleep(0)
    return in_order(lines)


async def check(ask: Ask, content: bytes, today: date) -> Checked:
    """What would become of each line; raises `StatementError`."""
    lines = await read(content, today)
    paths = Paths(await _stored_balances(ask, lines))
    found, counting = list[Expected](), Counting()
    for start in range(0, len(lines), SLICE):
        part = await ask(expectations, lines[start : start + SLICE])
        paths.add(each.line for each in part if not each.repeated)
        counting.add(part)
        found += part
    return Checked(found, follow(paths.days()).gaps, counting.totals())


async def _stored_balances(ask: Ask, lines: list[StatementLine]) -> list[DayBalances]:
    """Of the days of these lines, and of the days around them."""
    if not lines:
        return []
    first, last = min(line.day for line in lines), max(line.day for line in lines)
    return await ask(day_balances, first, last + timedelta(days=FOLLOWED_DAYS))


class Booked(NamedTuple):
    lines: list[Imported]
    gaps: list[Gap]


async def book(
    ask: Ask, submit: Submit, actor: Actor, digest: str, today: date
) -> Booked | PendingMovement | Refusal:
    """Imports a statement that was kept, or asks a second person for all of it.

    Each line counts once, so this can be repeated after an interruption. A statement with a line
    that is known to conflict is refused before anything is booked. Raises `StatementError`.
    """
    content = await ask(content_of, digest)
    if content is None:
        return refuse("not_found", "There is no such statement. Upload it again.")
    checked = await check(ask, content, today)
    for each in checked.conflicts:
        message = f"Line {each.line.number}: {each.conflict} Nothing was booked."
        return refuse("conflict", message)
    confirmed = await ask(confirmed_import, digest)
    if confirmed is not None and confirmed.matches != await _matches(checked, confirmed.id):
        confirmed = None  # nobody has seen what the lines would become now
    if confirmed is None:
        asked = await submit(
            BeginImport(actor, digest, checked.totals, await _matches(checked, None))
        )
        if asked is not None:
            return asked
    movement_id = None if confirmed is None else confirmed.id
    booked: list[Imported] = []
    for start in range(0, len(checked.lines), BOOKED_TOGETHER):
        part = checked.lines[start : start + BOOKED_TOGETHER]
        outcomes = await asyncio.gather(
            *(
                submit(
                    ImportLine(
                        actor, each.line, movement_id, None if confirmed is None else match_of(each)
                    )
                )
                for each in part
            )
        )
        for each, outcome in zip(part, outcomes, strict=True):
            if isinstance(outcome, Refusal):
                return refuse(outcome.code, f"Line {each.line.number}: {outcome.message}")
            booked.append(outcome)
    return Booked(booked, checked.gaps)


async def _matches(checked: Checked, movement_id: UUID | None) -> str:
    """A digest of what the lines become, whether this import has booked them or not."""
    digest = hashlib.sha256()
    for start in range(0, len(checked.lines), SLICE):
        part = checked.lines[start : start + SLICE]
        digest.update("".join(f"{matched(each, movement_id)}\n" for each in part).encode())
        await asyncio.sleep(0)
    return digest.hexdigest()


async def make(
    ask: Ask, submit: Submit, actor: Actor, movement_id: UUID, today: date
) -> Made | Refusal:
    """The second person makes a movement that waits: of a statement, as it would be booked now."""
    found = await ask(movement_lists.by_id, movement_id)
    matches = None
    if found is not None and found.movement.kind == "import":
        assert found.movement.reference is not None  # by a constraint of the table
        content = await ask(content_of, found.movement.reference)
        assert content is not None  # it is kept as long as somebody waits for it
        matches = await _matches(await check(ask, content, today), movement_id)
    return await submit(MakeMovement(actor, movement_id, matches))
