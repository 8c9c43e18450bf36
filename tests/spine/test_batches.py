"""The spine's rules: batches, races, bad neighbours, patience, and honest refusals."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from laari.rules.command import Command, Share
from laari.rules.needs import Needs
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World
from laari.spine import batches
from laari.spine.batches import Away, LockTimeout, LostRace, Rerun, SlowCommit, Spine, TooSlow


@dataclass(frozen=True)
class Echo(Command[int]):
    """Returns its own number; a negative one fails to be decided."""

    number: int

    def needs(self, needs: Needs) -> None: ...

    def decide(self, world: World) -> int:
        if self.number < 0:
            raise ZeroDivisionError
        return self.number

    def busy(self) -> Refusal:
        return refuse("payment_in_progress")


class Runner:
    """Stands in for the database: decides at once, or fails as it is told to."""

    def __init__(self, *failures: Exception | None) -> None:
        self.failures = list(failures)
        self.batches: list[list[int]] = []
        self.waits: list[float] = []

    async def __call__(self, commands: Sequence[Command[Any]], lock_seconds: float) -> list[Any]:
        self.waits.append(lock_seconds)
        self.batches.append([command.number for command in commands])  # type: ignore[attr-defined]
        await asyncio.sleep(0.001)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return [command.decide(None) for command in commands]  # type: ignore[arg-type]


async def outcomes(runner: Runner, *numbers: int, **options: int) -> list[Any]:
    spine = Spine(runner, **options)
    spine.start()
    results = await asyncio.gather(
        *(spine.submit(Echo(number)) for number in numbers), return_exceptions=True
    )
    await spine.close()
    return results


async def test_commands_that_wait_share_the_next_batch() -> None:
    runner = Runner()
    spine = Spine(runner)
    spine.start()
    first = asyncio.create_task(spine.submit(Echo(0)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rest = [asyncio.create_task(spine.submit(Echo(n))) for n in (1, 2, 3)]
    assert await asyncio.gather(first, *rest) == [0, 1, 2, 3]
    assert runner.batches == [[0], [1, 2, 3]]
    await spine.close()


async def test_a_batch_is_bounded() -> None:
    runner = Runner()
    assert await outcomes(runner, *range(5), max_batch=2) == [0, 1, 2, 3, 4]
    assert [len(batch) for batch in runner.batches] == [2, 2, 1]


async def test_a_lost_race_reruns_the_batch_once() -> None:
    runner = Runner(LostRace())
    assert await outcomes(runner, 1, 2) == [1, 2]
    assert runner.batches == [[1, 2], [1, 2]]


async def test_a_bad_command_fails_alone() -> None:
    runner = Runner()
    first, bad, last = await outcomes(runner, 1, -1, 2)
    assert (first, last) == (1, 2)
    assert isinstance(bad, ZeroDivisionError)
    assert runner.batches == [[1, -1, 2], [1], [-1], [2]]


async def test_a_lock_not_obtained_splits_the_batch() -> None:
    runner = Runner(LockTimeout(), None, LockTimeout(), None)
    assert await outcomes(runner, 1, 2, 3) == [1, refuse("payment_in_progress"), 3]
    assert runner.batches == [[1, 2, 3], [1], [2], [3]]


async def test_reruns_are_bounded() -> None:
    runner = Runner(*[Rerun()] * 8)
    (outcome,) = await outcomes(runner, 1)
    assert outcome == refuse("service_unavailable")
    assert len(runner.batches) == 8  # four as a batch, four alone


async def test_a_race_that_is_lost_at_the_last_rerun_is_no_defect() -> None:
    failures = [Rerun(), Rerun(), Rerun(), LostRace()]
    (outcome,) = await outcomes(Runner(*failures, *failures), 1)
    assert outcome == refuse("service_unavailable")


async def test_a_database_that_is_away_is_not_asked_for_every_command() -> None:
    runner = Runner(*[Away()] * 100)
    assert await outcomes(runner, *range(50)) == [refuse("service_unavailable")] * 50
    assert len(runner.batches) == 4


async def test_a_database_that_goes_away_between_single_commands() -> None:
    runner = Runner(LockTimeout(), None, *[Away()] * 100)
    results = await outcomes(runner, 1, 2, 3, 4)
    assert results == [1, *[refuse("service_unavailable")] * 3]
    assert len(runner.batches) == 2 + 4


async def test_a_command_that_takes_too_long_fails_alone() -> None:
    runner = Runner(TooSlow(), None, TooSlow(), None)
    assert await outcomes(runner, 1, 2, 3) == [1, refuse("service_unavailable"), 3]
    assert runner.batches == [[1, 2, 3], [1], [2], [3]]


async def test_a_batch_is_not_begun_again_when_it_took_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "RERUN_SECONDS", 0.0)
    runner = Runner(Away())
    assert await outcomes(runner, 1) == [refuse("service_unavailable")]
    assert len(runner.batches) == 1


async def test_a_batch_that_waits_for_a_slow_commit_is_begun_again_and_stays_patient() -> None:
    runner = Runner(*[SlowCommit()] * 6)
    assert await outcomes(runner, 1, 2) == [1, 2]
    assert runner.batches == [[1, 2]] * 7
    assert set(runner.waits) == {batches.PATIENT_LOCK_SECONDS}


async def test_a_slow_commit_is_waited_for_within_the_time_of_the_oldest_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "WAIT_SECONDS", 0.1)
    runner = Runner(*[SlowCommit()] * 1000)
    assert await outcomes(runner, 1, 2) == [refuse("service_unavailable")] * 2
    assert 2 < len(runner.batches) < 1000
    assert set(runner.waits) == {batches.PATIENT_LOCK_SECONDS}  # and not one by one afterwards


async def test_waiting_for_a_slow_commit_takes_no_other_rerun_away() -> None:
    runner = Runner(SlowCommit(), Rerun(), SlowCommit(), Rerun(), SlowCommit(), Rerun())
    assert await outcomes(runner, 1) == [1]


async def test_while_the_database_is_away_nobody_waits_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "RERUN_SECONDS", 0.0)
    monkeypatch.setattr(batches, "AWAY_WAIT_SECONDS", 0.0)
    runner = Runner(Away())
    assert await outcomes(runner, 1, 2, max_batch=1) == [refuse("service_unavailable")] * 2
    assert runner.batches == [[1]]


async def test_single_commands_are_begun_for_so_long_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SINGLY_SECONDS", 0.0)
    runner = Runner(LockTimeout())
    assert await outcomes(runner, 1, 2) == [refuse("service_unavailable")] * 2
    assert runner.batches == [[1, 2]]


async def test_whoever_has_waited_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WAIT_SECONDS", 0.05)
    runner = Runner()
    spine = Spine(runner)
    waiting = [asyncio.create_task(spine.submit(Echo(number))) for number in (1, 2)]
    await asyncio.sleep(0.1)
    late = asyncio.create_task(spine.submit(Echo(3)))
    await asyncio.sleep(0)
    spine.start()
    assert await asyncio.gather(*waiting, late) == [*[refuse("service_unavailable")] * 2, 3]
    assert runner.batches == [[3]]
    await spine.close()


async def test_a_full_queue_refuses_at_once() -> None:
    results = await outcomes(Runner(), *range(5), max_waiting=3)
    assert results.count(refuse("service_unavailable")) == 2


async def test_a_caller_that_goes_away_does_not_stop_the_commit() -> None:
    runner = Runner()
    spine = Spine(runner)
    spine.start()
    gone = asyncio.create_task(spine.submit(Echo(1)))
    await asyncio.sleep(0)
    gone.cancel()
    assert await spine.submit(Echo(2)) == 2
    assert sorted(number for batch in runner.batches for number in batch) == [1, 2]
    await spine.close()


async def test_closing_finishes_what_was_submitted_and_refuses_the_rest() -> None:
    spine = Spine(Runner())
    spine.start()
    waiting = [asyncio.create_task(spine.submit(Echo(n))) for n in range(3)]
    await asyncio.sleep(0)
    await spine.close()
    assert await asyncio.gather(*waiting) == [0, 1, 2]
    async with asyncio.timeout(30):  # and nobody waits for what will never be run
        assert await spine.submit(Echo(9)) == refuse("service_unavailable")


@pytest.mark.parametrize("failures", [(), (LostRace(), LostRace())])
async def test_every_command_gets_its_own_reply(failures: tuple[Exception, ...]) -> None:
    assert await outcomes(Runner(*failures), *range(50)) == list(range(50))


async def test_a_race_that_is_lost_twice_is_not_run_as_a_batch_again() -> None:
    runner = Runner(LostRace(), LostRace())
    assert await outcomes(runner, 1, 2) == [1, 2]
    assert runner.batches == [[1, 2], [1, 2], [1], [2]]


async def test_a_command_that_is_run_alone_does_not_wait_for_locks_again() -> None:
    """Its batch has waited already: were each to wait so long, hundreds would take minutes."""
    runner = Runner(LockTimeout())
    assert await outcomes(runner, 1, 2) == [1, 2]
    assert runner.waits == [batches.PATIENT_LOCK_SECONDS, *[batches.IMPATIENT_LOCK_SECONDS] * 2]
    assert batches.MAX_BATCH * batches.IMPATIENT_LOCK_SECONDS < 15


@dataclass(frozen=True)
class Owned(Echo):
    owner: int = 1

    @property
    def share(self) -> Share:
        return Share(self.owner)


async def test_a_flood_of_one_owner_does_not_delay_another() -> None:
    runner = Runner()
    spine = Spine(runner, max_batch=10)
    flood = [asyncio.create_task(spine.submit(Owned(n, owner=1))) for n in range(100)]
    await asyncio.sleep(0)
    other = asyncio.create_task(spine.submit(Owned(777, owner=2)))
    await asyncio.sleep(0)
    spine.start()
    await asyncio.gather(*flood, other)
    assert 777 in runner.batches[0]
    await spine.close()
