"""One batch of commands as one transaction: load, decide, save, commit."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import asyncpg

from laari.errors import UnavailableError
from laari.rules.command import Command
from laari.rules.master_key import NO_KEYS, Keys
from laari.rules.needs import Needs
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.spine.batches import (
    Away,
    LockTimeout,
    LostRace,
    OutcomeUnknown,
    Rerun,
    SlowCommit,
    TooSlow,
)
from laari.store.batch.load import load
from laari.store.batch.save import writing
from laari.store.postgres.connect import COMMIT_NOTHING, STALE_SECONDS, close, connect, is_lost
from laari.store.postgres.deadlines import Watch

T = TypeVar("T")

STATEMENT_SECONDS = 2.0  # the server's own limit
# A process that is stopped during a batch must not keep its locks. Every row is found by a key, so
# one plan fits all.
_SESSION = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",  # PostgreSQL 15 would scan a table instead
    "statement_timeout": f"{int(STATEMENT_SECONDS * 1000)}ms",
    "idle_in_transaction_session_timeout": "10s",
}
# A connection that is silent for longer is dropped.
LOAD_SECONDS = 2.5  # for all statements before the last one
COMMIT_SECONDS = 4.0  # for the last one, which may wait for a standby; then its outcome is unknown
# A plan made for a few rows scans them, and must not be kept when the table has grown.
PLAN_SECONDS = 5.0
# After a wrong presumption references are looked up: retries must not fail every batch.
LOOK_UP_SECONDS = 10.0

COMMIT = ["COMMIT"]
# A row whose commit was interrupted is visible before a synchronous standby has it. A retry that
# finds this row must wait for the standby too. So a batch that writes nothing commits a message,
# which follows the row in the log; without a standby, it commits nothing.
WAIT_FOR_STANDBY = [f"{COMMIT_NOTHING} WHERE current_setting('synchronous_standby_names') <> ''"]
WAIT_AND_COMMIT = [f"{WAIT_FOR_STANDBY[0]}; COMMIT"]

# Whether a transaction of this service waits for the log to be written or to reach a standby.
_SLOW_COMMIT = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE usename = current_user AND datname = current_database()
        AND state = 'active' AND backend_type = 'client backend'
        AND (wait_event = 'SyncRep' OR wait_event ILIKE 'wal%')
        AND query_start < clock_timestamp() - interval '0.5 seconds'
)
"""


class BatchRunner:
    """Runs batches on its own connection, and reconnects if it was lost."""

    def __init__(
        self,
        dsn: str,
        origin: str,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        announce: Callable[[], None] = lambda: None,
        channels: frozenset[str] = frozenset(),
        keys: Keys = NO_KEYS,
        second_operator_above: int | None = None,
        committed: Callable[[World], None] = lambda world: None,
    ) -> None:
        """`announce` is called after a commit that added deliveries, `committed` after each.

        A runner with `channels` also needs the key for the messages by them.
        """
        self._dsn = dsn
        self._origin = origin
        self._clock = clock
        self._announce = announce
        self._channels = channels
        self._keys = keys
        self._second_operator_above = second_operator_above
        self._committed = committed
        self._connection: asyncpg.Connection | None = None
        self._watch = Watch()
        self._warned = False
        self._lock_seconds: float | None = None
        self._planned_at = 0.0
        self._used_at = 0.0
        self._look_up_until = 0.0

    async def close(self) -> None:
        if self._connection is not None:
            await close(self._connection)

    async def run(self, commands: Sequence[Command[T]], lock_seconds: float) -> list[T | Refusal]:
        """Runs one transaction; if nothing is locked, it is the one statement that writes.

        References of new payments are presumed to be free: the unique index refuses the others.
        """
        needs = Needs()
        for command in commands:
            command.needs(needs)
        if needs.only_references and time.monotonic() >= self._look_up_until:
            try:
                return await self._transact(commands, needs, lock_seconds, presume=True)
            except LostRace:
                self._look_up_until = time.monotonic() + LOOK_UP_SECONDS
        return await self._transact(commands, needs, lock_seconds, presume=False)

    async def _transact(
        self, commands: Sequence[Command[T]], needs: Needs, lock_seconds: float, *, presume: bool
    ) -> list[T | Refusal]:
        connection = await self._begin(lock_seconds, needs.takes_locks)
        try:
            return await self._decide(connection, commands, needs, presume=presume)
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
                # The first statement may commit: a dead connection must be found before it.
                await connection.execute("SELECT")
        except UnavailableError as error:
            raise Away(str(error)) from error
        except Exception as error:
            self._drop_connection()
            raise Away from error
        return connection

    async def _decide(
        self,
        connection: asyncpg.Connection,
        commands: Sequence[Command[T]],
        needs: Needs,
        *,
        presume: bool,
    ) -> list[T | Refusal]:
        locks = needs.takes_locks
        try:
            world, outcomes = await self._outcomes(connection, commands, needs, presume=presume)
            last = writing(world)
            to_send = False
            if not last:
                last = WAIT_AND_COMMIT if locks else WAIT_FOR_STANDBY
            elif locks:
                to_send = bool(await connection.fetch(*last))
                last = COMMIT
        except BaseException as error:
            if _is_unusable(error):
                self._drop_connection()
            elif locks:
                await self._roll_back(connection)
            raise await self._explained(error) from error
        if await self._finish(connection, last) or to_send:
            self._announce()
        self._committed(world)
        return outcomes

    async def _outcomes(
        self,
        connection: asyncpg.Connection,
        commands: Sequence[Command[T]],
        needs: Needs,
        *,
        presume: bool,
    ) -> tuple[World, list[T | Refusal]]:
        world = await self._load(connection, Needs() if presume else needs)
        outcomes = [command.decide(world) for command in commands]
        # A command that claims nothing, because it is refused, may be a retry: the index sees
        # nothing of it.
        if presume and not needs.only_read(World.references) <= world.references.added.keys():
            return await self._outcomes(connection, commands, needs, presume=False)
        return world, outcomes

    async def _load(self, connection: asyncpg.Connection, needs: Needs) -> World:
        return await load(
            connection,
            needs,
            self._origin,
            self._clock,
            self._channels,
            keys=self._keys,
            second_operator_above=self._second_operator_above,
        )

    async def _finish(self, connection: asyncpg.Connection, statement: list[str]) -> bool:
        """Runs the last statement, which commits, and returns whether it added deliveries."""
        self._watch.expect(connection, COMMIT_SECONDS)
        self._warned = False
        is_writing = statement not in (COMMIT, WAIT_AND_COMMIT, WAIT_FOR_STANDBY)
        try:
            if is_writing:
                done = await connection.fetch(*statement)
            else:
                done = await connection.execute(*statement)
        except BaseException as error:
            if isinstance(error, asyncpg.PostgresError) and not is_lost(error):
                if _is_unusable(error) or statement == WAIT_AND_COMMIT:  # not rolled back
                    self._drop_connection()
                raise await self._explained(error) from error
            self._drop_connection()
            if isinstance(error, Exception):
                raise OutcomeUnknown from error
            raise
        if self._warned:
            raise OutcomeUnknown("the server warned of this commit")
        if done == "ROLLBACK":  # the response to the COMMIT of a failed transaction
            self._drop_connection()
            raise Rerun("the transaction had failed before its commit")
        return is_writing and bool(done)

    async def _explained(self, error: BaseException) -> BaseException:
        """The error in the spine's terms; a lock timeout may be caused by a slow disk."""
        meaning, connection = _translated(error), self._connection
        if connection is None or not isinstance(meaning, LockTimeout | TooSlow):
            return meaning
        try:
            with self._watch.bound(connection, LOAD_SECONDS):
                is_slow = await connection.fetchval(_SLOW_COMMIT)
        except Exception:
            self._drop_connection()
            return meaning
        return SlowCommit() if is_slow else meaning

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
        """The server warns if a commit was stopped from waiting for its standby."""
        self._warned = self._warned or message.severity_en == "WARNING"

    async def _roll_back(self, connection: asyncpg.Connection) -> None:
        try:
            await connection.execute("ROLLBACK")
        except Exception:
            self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._watch.done(self._connection)
            self._connection = None


def _translated(error: BaseException) -> BaseException:
    """The error in the spine's terms."""
    match error:
        case asyncpg.UniqueViolationError():
            return LostRace()
        case asyncpg.LockNotAvailableError():
            return LockTimeout()
        case asyncpg.DeadlockDetectedError() | asyncpg.SerializationError():
            return Rerun()
        case asyncpg.QueryCanceledError():
            return TooSlow()
        case asyncpg.DiskFullError():  # of the statement that writes: it was undone
            return Away("the database has no room left on its disk")
    return Away() if _is_unusable(error) else error


def _is_unusable(error: BaseException) -> bool:
    """Whether the connection is lost, or its server was demoted and cannot write."""
    return is_lost(error) or isinstance(error, asyncpg.ReadOnlySQLTransactionError)
