"""What PostgreSQL did beside the load: checkpoints, vacuums and analyzes, as stretches of time."""

from typing import NamedTuple

import asyncpg

_CHECKPOINTS = "SELECT num_timed + num_requested, num_done FROM pg_stat_checkpointer"
_RUNNING = """
SELECT 'vacuum', relid::regclass::text FROM pg_stat_progress_vacuum
UNION ALL
SELECT 'analyze', relid::regclass::text FROM pg_stat_progress_analyze
"""
_COUNTS = """
SELECT kind, relname, count FROM pg_stat_user_tables,
    LATERAL (VALUES ('vacuum', autovacuum_count), ('analyze', autoanalyze_count)) AS c (kind, count)
WHERE count > 0
"""


class Sample(NamedTuple):
    begun: int  # checkpoints since the server started
    done: int
    running: frozenset[tuple[str, str]]  # what is done, and to which table
    counts: dict[tuple[str, str], int]  # how often it has been done


class Span(NamedTuple):
    kind: str  # checkpoint, vacuum, analyze
    what: str  # the table; empty for a checkpoint
    begin: float  # seconds since the beginning of the load
    end: float


async def take(connection: asyncpg.Connection) -> Sample:
    begun, done = await connection.fetchrow(_CHECKPOINTS)
    running = {(kind, table) for kind, table in await connection.fetch(_RUNNING)}
    counts = {(kind, table): count for kind, table, count in await connection.fetch(_COUNTS)}
    return Sample(begun, done, frozenset(running), counts)


class Marks:
    """Stretches of time, out of samples that are taken one after another.

    The first one is taken while no checkpoint is under way. What began and ended between two
    samples is known by its count alone and has no length.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._first: Sample | None = None
        self._last: Sample | None = None
        self._since: dict[tuple[str, str], float] = {}  # what is under way

    def see(self, at: float, sample: Sample) -> None:
        if self._first is None or self._last is None:
            self._first = self._last = sample
        last, self._last = self._last, sample
        under_way = set(sample.running)
        # Those that an idle server skipped have been counted as begun and never as done.
        if sample.begun - self._first.begun > sample.done - self._first.done:
            under_way.add(("checkpoint", ""))
        ended = {name for name, count in sample.counts.items() if count > last.counts.get(name, 0)}
        if sample.done > last.done:
            ended.add(("checkpoint", ""))
        for name in ended | (set(self._since) - under_way):
            self.spans.append(Span(*name, self._since.pop(name, at), at))
        for name in under_way:
            self._since.setdefault(name, at)

    def end(self, at: float) -> list[Span]:
        """All of them, in order; what is still under way ends here."""
        under_way = [Span(*name, since, at) for name, since in self._since.items()]
        return sorted([*self.spans, *under_way], key=lambda span: span.begin)
