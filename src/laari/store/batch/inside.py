"""One command inside the transaction of its caller, who has a connection and no spine."""

from datetime import UTC, datetime
from typing import TypeVar

from asyncpg import Connection

from laari.rules.command import Command
from laari.rules.master_key import NO_KEYS, Keys
from laari.rules.needs import Needs
from laari.rules.refusals import Refusal
from laari.store.batch.load import load
from laari.store.batch.save import save

T = TypeVar("T")


async def decide_inside(
    connection: Connection,
    command: Command[T],
    *,
    channels: frozenset[str] = frozenset(),
    keys: Keys = NO_KEYS,
) -> T | Refusal:
    """The outcome of a command that makes no link; the caller's transaction commits it."""
    needs = Needs()
    command.needs(needs)
    world = await load(
        connection,
        needs,
        "",
        lambda: datetime.now(UTC),
        channels,
        keys=keys,
    )
    outcome = command.decide(world)
    await save(connection, world)
    return outcome
