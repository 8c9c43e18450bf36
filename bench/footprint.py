"""What payments leave behind: room on the disk by table and index, and write-ahead log.

The log is read with pg_waldump, which tells records from full-page images: PostgreSQL writes such
an image of each page that is changed for the first time after a checkpoint, so they depend on the
time between checkpoints and on the size of the indexes, and records do not.
"""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench.stage import Stage
from laari.engine.programs import program

SLOT = "bench"  # keeps the log until it was read
# Without what is made once for each customer, merchant or authorization.
PAYMENT_TABLES = (
    "payments",
    "payment_requests",
    "reference_claims",
    "events",
    "transfers",
    "transactions",
    "deliveries",
    "delivery_attempts",
    "saved_responses",
    "seals",
    "daily_figures",
)
_RELATIONS = """
SELECT c.relname, pg_table_size(c.oid) FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT t.relname || '.' || i.relname, pg_relation_size(i.oid)
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
WHERE i.relkind = 'i' AND t.relnamespace = 'public'::regnamespace
"""
_KIND = re.compile(
    r"(?P<kind>\S+)\s+(?P<count>\d+)\s+\(\s*[\d.]+\)\s+(?P<records>\d+)\s+\(\s*[\d.]+\)"
    r"\s+(?P<images>\d+)\s+\(\s*[\d.]+\)"
)


class Logged(NamedTuple):
    """Bytes of the log: of records, and of full-page images in them."""

    records: int
    images: int

    @property
    def both(self) -> int:
        return self.records + self.images


def relations(ready: Stage) -> dict[str, int]:
    """The bytes of every table (`name`) and every index (`table.name`)."""
    return {name: size for name, size in ready.rows(_RELATIONS) if size}


def of_payments(sizes: dict[str, int]) -> int:
    """The bytes of the tables, with their indexes, that payments make rows in."""
    return sum(size for name, size in sizes.items() if name.split(".")[0] in PAYMENT_TABLES)


def growth(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """By how much each table and index has grown, most first."""
    grown = {name: size - before.get(name, 0) for name, size in after.items()}
    changed = {name: size for name, size in grown.items() if size}
    return dict(sorted(changed.items(), key=lambda item: -item[1]))


class LogReader:
    """What was written to the log from one moment to another."""

    def __init__(self, ready: Stage) -> None:
        self._ready = ready
        self._begin = self._end = ""

    def begin(self) -> None:
        """After a checkpoint, so that a run has the images that any run has after one."""
        self._ready.query("CHECKPOINT")
        self._begin = self._position()

    def end(self) -> None:
        self._end = self._position()
        self._ready.query("CHECKPOINT")  # the log goes on beyond the end, so it is whole up to it

    def _position(self) -> str:
        return str(self._ready.query("SELECT pg_current_wal_insert_lsn()::text"))

    def read(self) -> dict[str, Logged]:
        """By the kind of record."""
        result = subprocess.run(
            [
                program("pg_waldump"),
                "--stats",
                "--path",
                str(self._ready.data_dir / "postgres" / "pg_wal"),
                "--start",
                self._begin,
                "--end",
                self._end,
            ],
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        return parse(result.stdout)


@contextmanager
def log_reader(ready: Stage) -> Iterator[LogReader]:
    """The log is kept as long as the block lasts."""
    ready.query("SELECT pg_create_physical_replication_slot($1, true)", SLOT)
    try:
        yield LogReader(ready)
    finally:
        ready.query("SELECT pg_drop_replication_slot($1)", SLOT)


def parse(output: str) -> dict[str, Logged]:
    """What `pg_waldump --stats` prints; kinds of which there was nothing are left out."""
    found = {
        match["kind"]: Logged(int(match["records"]), int(match["images"]))
        for line in output.splitlines()
        if (match := _KIND.match(line)) is not None and int(match["count"])
    }
    if not found:
        raise RuntimeError(f"pg_waldump printed no figures: {output[:200]!r}")
    return found


def total(logged: dict[str, Logged]) -> Logged:
    return Logged(*(sum(part) for part in zip(*logged.values(), strict=True)))


def per_payment(values: dict[str, Any], payments: int) -> dict[str, float]:
    return {name: round(value / payments, 1) for name, value in values.items()}
