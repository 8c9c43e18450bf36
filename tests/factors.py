"""Second factors in tests: set up, turned on, and checked."""

from datetime import datetime, timedelta

import pyotp
from asyncpg import Connection

from laari.rules.people.second_factors import BeginFactor, CheckFactor, ConfirmFactor
from laari.rules.records.people import PersonId
from laari.store.reads.people import second_factors
from tests.actors import MASTER, OPERATOR
from tests.people import RefusedError, decided


async def begin(
    connection: Connection,
    whose: PersonId,
    now: datetime,
    session: bytes = b"",
    master: bytes = MASTER,
) -> str:
    """The seed that the person sees in the session that begins the set-up."""
    await decided(connection, BeginFactor(OPERATOR, whose, session), now, master)
    seed = await second_factors.pending_seed(connection, master, whose, now, session)
    assert seed is not None
    return seed


async def confirm(
    connection: Connection,
    whose: PersonId,
    code: str,
    now: datetime,
    session: bytes = b"",
    master: bytes = MASTER,
) -> list[str]:
    command = ConfirmFactor(OPERATOR, whose, session, code)
    return await decided(connection, command, now, master)


async def turned_on(
    connection: Connection, whose: PersonId, now: datetime, master: bytes = MASTER
) -> tuple[str, list[str]]:
    """The seed and the recovery codes of a new factor."""
    seed = await begin(connection, whose, now, master=master)
    code = pyotp.TOTP(seed).at(now)
    return seed, await confirm(connection, whose, code, now, master=master)


async def check(
    connection: Connection, whose: PersonId, code: str, now: datetime
) -> timedelta | None:
    """None if the code is accepted, or else how long the next one has to wait."""
    try:
        await decided(connection, CheckFactor(whose, code), now)
    except RefusedError as error:
        return timedelta(seconds=error.refusal.retry_after or 0)
    return None
