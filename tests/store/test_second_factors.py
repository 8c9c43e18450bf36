"""Second factors in the database: set up, confirmed, checked once, blocked, and turned off."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import uuid4

import asyncpg
import pyotp
import pytest

from laari.rules.limits.second_factors import (
    FACTOR_CODE_WITHIN,
    FACTOR_FREE_FAILURES,
    FACTOR_SET_UP_WITHIN,
    RECOVERY_CODES,
)
from laari.rules.people.persons import NewLogin
from laari.rules.people.second_factors import RemoveFactor, RenewRecoveryCodes, seed_context
from laari.rules.records.people import PersonId
from laari.store import secrets
from laari.store.counters import sessions
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import second_factors
from tests.actors import MASTER, OPERATOR, change
from tests.factors import begin, check, confirm, turned_on
from tests.logins import opened, password_link, use_link
from tests.people import RefusedError, add, decided

KEY = MASTER
AT_ONCE = timedelta(0)  # the next code may be given at once
NOW = datetime(2027, 7, 1, 9, 30, 5, tzinfo=UTC)
EMAIL = "finance@laari.example"


class Factor(NamedTuple):
    connection: asyncpg.Connection
    whose: PersonId
    totp: pyotp.TOTP
    recovery: list[str]
    dsn: str

    async def check(self, code: str, now: datetime = NOW) -> timedelta | None:
        return await check(self.connection, self.whose, code, now)


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


@pytest.fixture
async def whose(connection: asyncpg.Connection) -> PersonId:
    enrolled = await add(connection, OPERATOR, None, EMAIL, "finance", None, NewLogin("hash"))
    return enrolled.id


@pytest.fixture
async def factor(connection: asyncpg.Connection, whose: PersonId, dsn: str) -> Factor:
    """Confirmed some minutes before now."""
    seed, codes = await turned_on(connection, whose, NOW - timedelta(minutes=10))
    return Factor(connection, whose, pyotp.TOTP(seed), codes, dsn)


async def test_a_seed_counts_from_its_first_code_on(
    connection: asyncpg.Connection, whose: PersonId
) -> None:
    first = await begin(connection, whose, NOW)
    seed = await begin(connection, whose, NOW)
    assert seed != first
    assert await second_factors.status(connection, whose) is None
    code = pyotp.TOTP(seed).at(NOW)
    assert await check(connection, whose, code, NOW) == AT_ONCE
    with pytest.raises(RefusedError, match="not valid"):
        await confirm(connection, whose, "000000", NOW)
    codes = await confirm(connection, whose, code, NOW)
    assert len(set(codes)) == RECOVERY_CODES
    assert await second_factors.status(connection, whose) == (NOW, RECOVERY_CODES)
    # The code of the set-up is used up, and the set-up is over.
    assert await check(connection, whose, code, NOW) is not None
    with pytest.raises(RefusedError, match="Start again"):
        await confirm(connection, whose, code, NOW)
    with pytest.raises(RefusedError, match="Start again"):
        await begin(connection, whose, NOW)
    assert await second_factors.pending_seed(connection, KEY, whose, NOW, b"") is None
    later = NOW + timedelta(seconds=30)
    assert await check(connection, whose, pyotp.TOTP(seed).at(later), later) is None


async def test_a_set_up_expires(connection: asyncpg.Connection, whose: PersonId) -> None:
    seed = await begin(connection, whose, NOW)
    late = NOW + FACTOR_SET_UP_WITHIN
    assert await second_factors.pending_seed(connection, KEY, whose, late, b"") is None
    code = pyotp.TOTP(seed).at(late)
    with pytest.raises(RefusedError, match="Start again"):
        await confirm(connection, whose, code, late)


async def test_the_seed_is_encrypted_for_its_person(factor: Factor) -> None:
    stored = await factor.connection.fetchval("SELECT seed_encrypted FROM second_factors")
    assert factor.totp.secret.encode() not in stored
    own = seed_context(factor.whose.id)
    assert secrets.opened(KEY, stored, own) == factor.totp.secret.encode()
    assert secrets.opened(KEY, stored, seed_context(uuid4())) is None
    assert secrets.opened(b"x" * 32, stored, own) is None


async def test_a_code_is_accepted_once(factor: Factor) -> None:
    code = factor.totp.at(NOW)
    assert await factor.check(code) is None
    assert await factor.check(code) == AT_ONCE
    assert await factor.check(code, NOW + timedelta(seconds=20)) == AT_ONCE
    # One step ahead is allowed, and uses up all steps before it.
    ahead = factor.totp.at(NOW + timedelta(seconds=30))
    assert await factor.check(ahead) is None
    assert await factor.check(ahead, NOW + timedelta(seconds=30)) == AT_ONCE


async def test_of_the_same_code_at_once_one_is_accepted(factor: Factor) -> None:
    code = factor.totp.at(NOW)

    async def attempt() -> bool:
        async with connection_to(factor.dsn) as connection:
            return await check(connection, factor.whose, code, NOW) is None

    assert sorted(await asyncio.gather(*(attempt() for _ in range(6)))) == [*[False] * 5, True]


async def test_many_guesses_at_once_are_counted_each(factor: Factor) -> None:
    async def attempt(number: int) -> timedelta:
        async with connection_to(factor.dsn) as connection:
            wait = await check(connection, factor.whose, f"x{number}", NOW)
        assert wait is not None
        return wait

    waits = await asyncio.gather(*(attempt(number) for number in range(12)))
    assert sorted(waits) == [timedelta(0)] * (FACTOR_FREE_FAILURES - 1) + [timedelta(minutes=1)] * 8
    # Not even the right code counts before the wait is over; then it does, and all is forgotten.
    assert await factor.check(factor.totp.at(NOW)) == timedelta(minutes=1)
    later = NOW + timedelta(minutes=1)
    assert await factor.check("wrong", later) == timedelta(minutes=2)
    later += timedelta(minutes=2)
    assert await factor.check(factor.totp.at(later), later) is None
    assert await factor.check("wrong", later) == AT_ONCE


async def test_a_recovery_code_works_once(factor: Factor) -> None:
    first, second = factor.recovery[:2]
    assert await factor.check(first.upper()) is None
    assert await factor.check(first) == AT_ONCE
    assert await factor.check(second.replace("-", " ")) is None
    left = await second_factors.status(factor.connection, factor.whose)
    assert left is not None
    assert left.recovery_codes == RECOVERY_CODES - 2
    # A recovery code takes no step of the phone.
    assert await factor.check(factor.totp.at(NOW)) is None


async def test_new_recovery_codes_replace_the_old(factor: Factor) -> None:
    codes = await decided(factor.connection, RenewRecoveryCodes(OPERATOR, factor.whose), NOW)
    assert len(codes) == RECOVERY_CODES
    assert await factor.check(factor.recovery[0]) == AT_ONCE
    assert await factor.check(codes[0]) is None


async def test_recovery_codes_are_of_one_person_and_not_readable(factor: Factor) -> None:
    other = await add(
        factor.connection, OPERATOR, None, "b@laari.example", "support", None, NewLogin("hash")
    )
    await turned_on(factor.connection, other.id, NOW)
    refused = await check(factor.connection, other.id, factor.recovery[0], NOW)
    assert refused == AT_ONCE
    plain = factor.recovery[0].replace("-", "")
    rows = await factor.connection.fetch("SELECT recovery_codes FROM second_factors")
    assert [len(row[0]) for row in rows] == [RECOVERY_CODES] * 2
    assert sha256(plain.encode()).hexdigest() not in str(rows)


async def test_a_log_in_is_half_open_until_the_code(factor: Factor) -> None:
    token = await opened(factor.connection, EMAIL, NOW)
    assert await sessions.of_person(factor.connection, MASTER, token, NOW) is None
    assert await sessions.half_open(factor.connection, MASTER, token, NOW) == factor.whose
    new = await sessions.complete(factor.connection, MASTER, token, factor.whose, NOW)
    assert new is not None
    assert new != token
    found = await sessions.of_person(factor.connection, MASTER, new, NOW)
    assert found is not None
    assert (found.email, found.has_factor) == (EMAIL, True)
    # The old token opens nothing, and a whole session cannot be opened again.
    assert await sessions.of_person(factor.connection, MASTER, token, NOW) is None
    again = await sessions.complete(factor.connection, MASTER, token, factor.whose, NOW)
    assert again is None


async def test_a_log_in_that_races_with_a_new_factor_is_half_open(
    connection: asyncpg.Connection, whose: PersonId, dsn: str
) -> None:
    """The session is being opened while the first code of the factor is confirmed."""
    await begin(connection, whose, NOW)
    proof = sessions.Proof("hash")
    async with connection_to(dsn) as other:
        confirming = other.transaction()
        await confirming.start()
        await other.execute("SELECT FROM persons WHERE id = $1 FOR NO KEY UPDATE", whose.id)
        await change(other, "UPDATE second_factors SET confirmed_at = created_at")
        log_in = asyncio.create_task(sessions.open_for(connection, MASTER, whose, NOW, proof))
        await asyncio.sleep(0.2)
        assert not log_in.done()
        await confirming.commit()
        token = await log_in
    assert token is not None
    assert await sessions.of_person(connection, MASTER, token, NOW) is None
    assert await sessions.half_open(connection, MASTER, token, NOW) == whose


async def test_a_half_open_session_does_not_last(factor: Factor) -> None:
    token = await opened(factor.connection, EMAIL, NOW)
    late = NOW + FACTOR_CODE_WITHIN
    assert await sessions.half_open(factor.connection, MASTER, token, late) is None


async def test_sessions_with_the_password_alone_end_when_it_is_turned_on(
    connection: asyncpg.Connection, whose: PersonId
) -> None:
    own, other = await opened(connection, EMAIL, NOW), await opened(connection, EMAIL, NOW)
    session = secrets.derive(KEY, "session", own)
    seed = await begin(connection, whose, NOW, session)
    await confirm(connection, whose, pyotp.TOTP(seed).at(NOW), NOW, session)
    assert await sessions.of_person(connection, MASTER, own, NOW) is not None
    assert await sessions.of_person(connection, MASTER, other, NOW) is None


async def test_another_session_does_not_see_the_seed(
    connection: asyncpg.Connection, whose: PersonId
) -> None:
    """Or a browser that was left open would make the same codes from then on."""
    own, other = b"o" * 32, b"x" * 32
    seed = await begin(connection, whose, NOW, own)
    assert await second_factors.pending_seed(connection, KEY, whose, NOW, other) is None
    code = pyotp.TOTP(seed).at(NOW)
    with pytest.raises(RefusedError, match="Start again"):
        await confirm(connection, whose, code, NOW, other)
    await confirm(connection, whose, code, NOW, own)
    later = NOW + timedelta(seconds=30)
    valid = pyotp.TOTP(seed).at(later)
    assert await check(connection, whose, valid, later) is None


async def test_turning_it_off_removes_everything(factor: Factor) -> None:
    assert await decided(factor.connection, RemoveFactor(OPERATOR, factor.whose))
    assert not await decided(factor.connection, RemoveFactor(OPERATOR, factor.whose))
    token = await opened(factor.connection, EMAIL, NOW)
    assert await sessions.of_person(factor.connection, MASTER, token, NOW) is not None


async def test_a_password_link_does_not_end_the_wait(factor: Factor) -> None:
    """Somebody who reads the person's emails would have one more guess with each link."""
    for _ in range(FACTOR_FREE_FAILURES):
        refused = await factor.check("000000")
    assert refused == timedelta(minutes=1)
    token = await password_link(factor.connection, factor.whose, NOW)
    assert await use_link(factor.connection, token, "another hash", NOW)
    assert await factor.check(factor.totp.at(NOW)) == timedelta(minutes=1)
    later = NOW + timedelta(minutes=1)
    assert await factor.check(factor.totp.at(later), later) is None
