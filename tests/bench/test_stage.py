"""The bench on a small database: filled, kept, driven, and what it left behind."""

import asyncio
import time
from pathlib import Path

import pytest

import bench.stage
from bench import footprint, marks
from bench.fill import Size
from bench.openloop import Ended, Plan, Report, open_loop
from bench.settle import catch_up
from bench.stage import KEPT, stage
from laari.store.postgres.pool import connection_to

pytestmark = pytest.mark.ci

SIZE = Size(300, 50, 20)
RATE, SECONDS = 50, 2


async def sample(dsn: str) -> marks.Sample:
    async with connection_to(dsn) as connection:
        return await marks.take(connection)


def test_a_small_database_is_filled_driven_and_kept(tmp_path: Path) -> None:
    data, told = tmp_path / "data", list[str]()
    with stage(data, SIZE, keep=True, tell=told.append) as ready:
        assert ready.query("SELECT count(*) FROM payments") == SIZE.payments
        ready.service.laari("audit")  # which fails where anything differs
        before = footprint.relations(ready)
        assert {"payments", "payments.payments_pkey", "events.events_once"} <= before.keys()
        with footprint.log_reader(ready) as log:
            log.begin()
            position = ready.log_position()
            _drive(Plan(ready.target, RATE, SECONDS, "small", connections=4))
            catch_up(ready.dsn, data, told.append)
            written = ready.log_position() - position
            log.end()
            logged = footprint.total(log.read())
        assert ready.query("SELECT count(*) FROM pg_replication_slots") == 0
        # The log has headers of its own between the records.
        assert 0.8 * written < logged.both <= 1.05 * written
        grown = footprint.growth(before, footprint.relations(ready))
        assert grown["events"] > RATE * SECONDS * 500
        first = asyncio.run(sample(ready.dsn))
        ready.query("CHECKPOINT")
        then = first
        deadline = time.monotonic() + 20
        # The checkpointer counts a checkpoint after it has answered the command.
        while then.done == first.done and time.monotonic() < deadline:
            then = asyncio.run(sample(ready.dsn))
        assert (then.begun - first.begun, then.done - first.done) == (1, 1)
        key = ready.target.secret_key
    with stage(data, SIZE, keep=True) as again:
        assert again.target.secret_key == key
        made = again.query("SELECT count(*) FROM payments")
        assert made == SIZE.payments + RATE * SECONDS


def test_a_filling_that_was_interrupted_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its indexes may be missing: nothing of it can be used."""
    left, used = tmp_path / "postgres", list[bool]()

    def look(data_dir: Path) -> None:
        used.append(left.exists())
        raise RuntimeError("far enough")

    monkeypatch.setattr(bench.stage, "load_master_key", look)
    for is_kept in (False, True):
        left.mkdir(exist_ok=True)
        if is_kept:
            (tmp_path / KEPT).write_text("{}")
        with pytest.raises(RuntimeError, match="far enough"), stage(tmp_path, SIZE, keep=True):
            pass
    assert used == [False, True]


def _drive(plan: Plan) -> None:
    reports: list[Report] = []
    with open_loop(plan) as pipe:
        pipe.recv()
        while not isinstance(told := pipe.recv(), Ended):
            reports.append(told)
    assert not told.reasons
    assert sum(len(report.milliseconds) // 4 for report in reports) == plan.rate * plan.seconds
