"""Commands as a process of their own would run them, with the master key of tests."""

from typing import TypeVar

from laari.rules.command import Command
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.secrets import keys_of
from tests.actors import MASTER

T = TypeVar("T")
ORIGIN = "https://pay.example.com"


async def decide(
    dsn: str, command: Command[T], channels: frozenset[str] = frozenset()
) -> T | Refusal:
    runner = BatchRunner(dsn, ORIGIN, channels=channels, keys=keys_of(MASTER))
    spine = Spine(runner.run)
    spine.start()
    try:
        return await spine.submit(command)
    finally:
        await spine.close()
        await runner.close()


async def done(dsn: str, command: Command[T], channels: frozenset[str] = frozenset()) -> T:
    """The result of a command that must not be refused."""
    outcome = await decide(dsn, command, channels)
    assert not isinstance(outcome, Refusal), outcome
    return outcome


async def refused(
    dsn: str, command: Command[object], channels: frozenset[str] = frozenset()
) -> str:
    """The message of a command that must be refused."""
    outcome = await decide(dsn, command, channels)
    assert isinstance(outcome, Refusal), outcome
    return outcome.message
