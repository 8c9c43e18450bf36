"""One batch of commands as one transaction: load, decide, save, commit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import asyncpg

from laari.errors import UnavailableError
from laari.rules import limits, wallets
from laari.rules.command import Command
from laari.rules.periods import PeriodKey, others
from laari.rules.refusals import Refusal
from laari.rules.world import Needs, Rows, World
from laari.spine.engine import (
    Away,
    LockTimeout,
    LostRace,
    OutcomeUnknown,
    Rerun,
    TooSlow,
)
from laari.store import periods, tenants
from laari.store.connect import STALE_SECONDS, close, connect, is_lost
from laari.store.recipients import accounts_of
from laari.store.tables import (
    AUTHORIZATIONS,
    CLAIMS,
    CLOCKS,
    PAYMENTS,
    REQUESTS,
    SAVED_RESPONSES,
    WALLETS,
    Table,
)
from laari.store.tiers import all_tiers
from laari.store.wallets import modes_of, topups_by_slip
from laari.store.watch import Watch
from laari.store.writes import writing

T = TypeVar("T")

# A process that is stopped in the middle of a batch must not keep its locks for ever. Every row is
# found by a key, so one plan fits all.
_SESSION = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",  # PostgreSQL 15 would rather walk through a table once and keep it
    "statement_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
}
# A connection that is silent for longer is dropped; the server's own limit comes first.
LOAD_SECONDS = 2.5  # all that is read and written before the last statement
COMMIT_SECONDS = 4.0  # the last statement, which may wait for a standby; then nobody knows
# A plan made for a handful of rows walks through them, and must not be kept when they are many.
PLAN_SECONDS = 5.0

_SAVED_RESPONSES = SAVED_RESPONSES.select_by("tenant_id", "operation", "key")
_CLAIMS = CLAIMS.select_by("tenant_id", "reference")
_AUTHORIZATIONS = AUTHORIZATIONS.select_by("tenant_id", "reference")


class BatchRunner:
    """Runs batches on a connection of its own, opened anew where it was lost."""

    def __init__(
        self, dsn: str, origin: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._dsn = dsn
        self._origin = origin
        self._clock = clock
        self._connection: asyncpg.Connection | None = None
        self._watch = Watch()
        self._warned = False
        self._lock_seconds: float | None = None
        self._planned_at = 0.0
        self._used_at = 0.0

    async def close(self) -> None:
        if self._connection is not None:
            await close(self._connection)

    async def run(self, commands: Sequence[Command[T]], lock_seconds: float) -> list[T | Refusal]:
        """One transaction. Where nothing is locked, the one statement that writes is enough."""
        needs = Needs()
        for command in commands:
            command.needs(needs)
        connection = await self._begin(lock_seconds, needs.takes_locks)
        try:
            return await self._decide(connection, commands, needs)
        finally:
            self._watch.done(connection)
            self._used_at = time.monotonic()

    async def _begin(self, lock_seconds: float, locks: bool) -> asyncpg.Connection:
        try:
            connection = await self._ready(lock_seconds)
            self._watch.expect(connection, LOAD_SECONDS)
            if locks:
                await connection.execute("BEGIN")
            elif time.monotonic() - self._used_at > STALE_SECONDS:
                # Its first statement may be its last: a dead connection is better found before.
                await connection.execute("SELECT")
        except UnavailableError as error:
            raise Away(str(error)) from error
        except Exception as error:
            self._forget()
            raise Away from error
        return connection

    async def _decide(
        self, connection: asyncpg.Connection, commands: Sequence[Command[T]], needs: Needs
    ) -> list[T | Refusal]:
        locks = needs.takes_locks
        try:
            world = await load(connection, needs, self._origin, self._clock)
            outcomes = [command.decide(world) for command in commands]
            last = writing(world)
            if locks:
                if last:
                    await connection.execute(*last)
                last = ["COMMIT"]
        except BaseException as error:
            if _is_unusable(error):
                self._forget()
            elif locks:
                await self._roll_back(connection)
            raise _translated(error) from error
        if last:
            await self._finish(connection, last)
        return outcomes

    async def _finish(self, connection: asyncpg.Connection, statement: list[str]) -> None:
        """The statement after which the work is done; where its answer is lost, nobody knows."""
        self._watch.expect(connection, COMMIT_SECONDS)
        self._warned = False
        try:
            done = await connection.execute(*statement)
        except BaseException as error:
            if isinstance(error, asyncpg.PostgresError) and not is_lost(error):
                if _is_unusable(error):
                    self._forget()
                raise _translated(error) from error
            self._forget()
            if isinstance(error, Exception):
                raise OutcomeUnknown from error
            raise
        if self._warned:
            raise OutcomeUnknown("the server warned of this commit")
        if done == "ROLLBACK":  # what a transaction that has failed is answered to its COMMIT
            self._forget()
            raise Rerun("the transaction had failed before its commit")

    async def _ready(self, lock_seconds: float) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._dsn, _SESSION, writing=True)
            self._connection.add_log_listener(self._hear)
            self._lock_seconds = None
        connection = self._connection
        if self._lock_seconds != lock_seconds:
            with self._watch.bound(connection, LOAD_SECONDS):
                await connection.execute(f"SET lock_timeout = '{int(lock_seconds * 1000)}ms'")
            self._lock_seconds = lock_seconds
        now = time.monotonic()
        if now - self._planned_at > PLAN_SECONDS:
            with self._watch.bound(connection, LOAD_SECONDS):
                await connection.execute("DISCARD PLANS")
            self._planned_at = now
        return connection

    def _hear(self, connection: asyncpg.Connection, message: asyncpg.PostgresLogMessage) -> None:
        """A commit that somebody stops from waiting for its standby is done with a warning."""
        self._warned = self._warned or message.severity_en == "WARNING"

    async def _roll_back(self, connection: asyncpg.Connection) -> None:
        try:
            await connection.execute("ROLLBACK")
        except Exception:
            self._forget()

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._watch.done(self._connection)
            self._connection = None


def _translated(error: BaseException) -> BaseException:
    """What the error means for the batch, in the spine's terms."""
    match error:
        case asyncpg.UniqueViolationError():
            return LostRace()
        case asyncpg.LockNotAvailableError():
            return LockTimeout()
        case asyncpg.DeadlockDetectedError() | asyncpg.SerializationError():
            return Rerun()
        case asyncpg.QueryCanceledError():
            return TooSlow()
    return Away() if _is_unusable(error) else error


def _is_unusable(error: BaseException) -> bool:
    """Whether nothing more can be written on the connection: it is lost, or its server demoted."""
    return is_lost(error) or isinstance(error, asyncpg.ReadOnlySQLTransactionError)


async def load(
    connection: asyncpg.Connection, needs: Needs, origin: str, clock: Callable[[], datetime]
) -> World:
    """Locks and reads what the commands need: one statement per table, always in this order.

    After a wait PostgreSQL re-reads only the locked row itself, so nothing here is joined or
    summed. References are read after the locks: where another process has just made the charge
    that is asked for again, it shows. So is the clock.
    """
    world = World(datetime.min.replace(tzinfo=UTC), origin)
    await _load_keys(connection, needs, world)
    await _load_locked(connection, CLOCKS, "id", needs.clocks, world.clocks)
    world.active = await tenants.activity(connection, needs.merchants)
    await _load_locked(connection, PAYMENTS, "id", needs.payments, world.payments)
    _follow_payments(needs, world)
    await _load_locked(connection, REQUESTS, "id", needs.requests, world.requests)
    await _load_locked(connection, AUTHORIZATIONS, "id", needs.authorizations, world.authorizations)
    _follow_authorizations(needs, world)
    if needs.recipients:
        world.recipients = await accounts_of(connection, needs.recipients)
    if needs.wallets:
        world.tiers = await all_tiers(connection)
        await _load_locked(connection, WALLETS, "account", needs.wallets, world.wallets)
    if needs.accounts:
        world.modes = await modes_of(connection, needs.accounts)
    if needs.slips:
        world.topups = await topups_by_slip(connection, needs.slips)
    await _load_claims(connection, needs, world)
    await _load_authorization_references(connection, needs, world)
    world.now = clock()
    await _load_periods(connection, needs, world)
    return world


async def _load_periods(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """What was put aside for the periods that sandbox rows come to now; mostly there is nothing.

    The lock on a row keeps what it has put aside.
    """
    keys: set[PeriodKey] = set()
    for authorization_id, offset in needs.sandbox_charging:
        authorization = world.authorizations.get(authorization_id)
        if authorization is not None:
            keys |= others(limits.counted(authorization), _moved(world, offset))
            if authorization.account is not None:
                needs.sandbox_spending.add((authorization.account, offset))
    for account, offset in needs.sandbox_spending:
        wallet = world.wallets.get(account)
        if wallet is not None:
            keys |= others(wallets.counted(wallet), _moved(world, offset))
    if keys:
        world.aside = await periods.put_aside(connection, keys)


def _moved(world: World, offset_seconds: int) -> datetime:
    return world.now + timedelta(seconds=offset_seconds)


def _follow_payments(needs: Needs, world: World) -> None:
    """The payer's wallet, and the request that a payment was made from."""
    for payment_id in needs.payers_of:
        payment = world.payments.get(payment_id)
        if payment is not None and payment.payer_account is not None:
            needs.wallets.add(payment.payer_account)
            if payment.request_id is not None:
                needs.requests.add(payment.request_id)


def _follow_authorizations(needs: Needs, world: World) -> None:
    for authorization_id in needs.wallets_of_authorizations:
        authorization = world.authorizations.get(authorization_id)
        if authorization is not None and authorization.account is not None:
            needs.wallets.add(authorization.account)


async def _load_locked(
    connection: asyncpg.Connection,
    table: Table[Any],
    key: str,
    wanted: set[Any],
    rows: Rows[Any, Any],
) -> None:
    if not wanted:
        return
    found = await connection.fetch(
        f"{table.select} WHERE {key} = ANY($1) ORDER BY {key} FOR NO KEY UPDATE", list(wanted)
    )
    for row in found:
        rows.lock(row[key], table.read(row))


async def _load_keys(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """Takes each key's advisory lock, or learns that another process is working under it.

    Two statements: the second one's snapshot is taken after the lock, so it sees what the lock's
    last holder committed.
    """
    if not needs.keys:
        return
    slots = {_lock_number(slot): slot for slot in needs.keys}
    locked = await connection.fetch(
        "SELECT n, pg_try_advisory_xact_lock(n) AS ours FROM unnest($1::bigint[]) AS n",
        sorted(slots),
    )
    world.keys_in_progress = {slots[row["n"]] for row in locked if not row["ours"]}
    tenants, operations, keys = zip(*slots.values(), strict=True)
    found = await connection.fetch(_SAVED_RESPONSES, tenants, operations, keys)
    for row in found:
        saved = SAVED_RESPONSES.read(row)
        slot = (saved.tenant_id, saved.operation, saved.key)
        taken = slot in world.keys_in_progress
        (world.saved_responses.show if taken else world.saved_responses.lock)(slot, saved)


def _lock_number(slot: tuple[int, str, str]) -> int:
    digest = hashlib.blake2b("\0".join(map(str, slot)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


async def _load_claims(connection: asyncpg.Connection, needs: Needs, world: World) -> None:
    """References that are taken, with what took them, unlocked: a retry only shows it."""
    if not needs.claims:
        return
    tenants, references = zip(*needs.claims, strict=True)
    found = await connection.fetch(_CLAIMS, tenants, references)
    claims = [CLAIMS.read(row) for row in found]
    for claim in claims:
        world.claims.show((claim.tenant_id, claim.reference), claim)
    requests = [claim.resource_id for claim in claims if claim.kind == "request"]
    payments = [claim.resource_id for claim in claims if claim.kind != "request"]
    await _load_unlocked(connection, REQUESTS, requests, world.requests)
    await _load_unlocked(connection, PAYMENTS, payments, world.payments)


async def _load_authorization_references(
    connection: asyncpg.Connection, needs: Needs, world: World
) -> None:
    if not needs.authorization_references:
        return
    tenants, references = zip(*needs.authorization_references, strict=True)
    found = await connection.fetch(_AUTHORIZATIONS, tenants, references)
    for authorization in map(AUTHORIZATIONS.read, found):
        world.authorizations.show(authorization.id, authorization)
        slot = (authorization.tenant_id, authorization.reference)
        world.authorization_ids[slot] = authorization.id


async def _load_unlocked(
    connection: asyncpg.Connection, table: Table[Any], ids: list[Any], rows: Rows[Any, Any]
) -> None:
    if ids:
        for row in await connection.fetch(f"{table.select} WHERE id = ANY($1)", ids):
            rows.show(row["id"], table.read(row))
