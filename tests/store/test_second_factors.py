"""Second factors in the database: set up, confirmed, checked once, blocked, and turned off."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

import asyncpg
import pyotp
import pytest

from laari.rules import terms
from laari.rules.people.persons import NewLogin
from laari.rules.people_records import PersonId
from laari.store.people import second_factors, sessions
from laari.store.people.second_factors import CodeProblem
from laari.store.postgres.pool import connection_to
from laari.store.secrets import MasterKeyError, derive
from tests.actors import MASTER, OPERATOR
from tests.logins import opened, password_link, use_link
from tests.people import add

KEY = MASTER
NOW = datetime(2027, 7, 1, 9, 30, 5, tzinfo=UTC)
EMAIL = "finance@laari.example"


class Factor(NamedTuple):
    connection: asyncpg.Connection
    whose: PersonId
    totp: pyotp.TOTP
    recovery: list[str]
    dsn: str

    async def check(self, code: str, now: datetime = NOW) -> CodeProblem | None:
        return await second_factors.check(self.connection, KEY, self.whose, code, now)


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
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, b"")
    seed = await second_factors.pending_seed(connection, KEY, whose, NOW, b"")
    assert seed is not None
    totp = pyotp.TOTP(seed)
    before = NOW - timedelta(minutes=10)
    codes = await second_factors.confirm(
        connection, OPERATOR, KEY, whose, totp.at(before), before, b""
    )
    assert isinstance(codes, list)
    return Factor(connection, whose, totp, codes, dsn)


async def test_a_seed_counts_from_its_first_code_on(
    connection: asyncpg.Connection, whose: PersonId
) -> None:
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, b"")
    first = await second_factors.pending_seed(connection, KEY, whose, NOW, b"")
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, b"")
    seed = await second_factors.pending_seed(connection, KEY, whose, NOW, b"")
    assert seed != first
    assert seed is not None
    assert await second_factors.status(connection, whose) is None
    code = pyotp.TOTP(seed).at(NOW)
    assert await second_factors.check(connection, KEY, whose, code, NOW) == CodeProblem()
    wrong = await second_factors.confirm(connection, OPERATOR, KEY, whose, "000000", NOW, b"")
    assert wrong == CodeProblem()
    codes = await second_factors.confirm(connection, OPERATOR, KEY, whose, code, NOW, b"")
    assert isinstance(codes, list)
    assert len(set(codes)) == terms.RECOVERY_CODES
    assert await second_factors.status(connection, whose) == (NOW, terms.RECOVERY_CODES)
    # The code of the set-up is used up, and the set-up is over.
    assert await second_factors.check(connection, KEY, whose, code, NOW) is not None
    assert await second_factors.confirm(connection, OPERATOR, KEY, whose, code, NOW, b"") is None
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, b"")
    assert await second_factors.pending_seed(connection, KEY, whose, NOW, b"") is None
    later = NOW + timedelta(seconds=30)
    assert (
        await second_factors.check(connection, KEY, whose, pyotp.TOTP(seed).at(later), later)
        is None
    )


async def test_a_set_up_expires(connection: asyncpg.Connection, whose: PersonId) -> None:
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, b"")
    seed = await second_factors.pending_seed(connection, KEY, whose, NOW, b"")
    assert seed is not None
    late = NOW + terms.FACTOR_SET_UP_WITHIN
    assert await second_factors.pending_seed(connection, KEY, whose, late, b"") is None
    code = pyotp.TOTP(seed).at(late)
    assert await second_factors.confirm(connection, OPERATOR, KEY, whose, code, late, b"") is None


async def test_the_seed_is_encrypted_for_its_person(factor: Factor) -> None:
    stored = await factor.connection.fetchval("SELECT seed_encrypted FROM second_factors")
    assert factor.totp.secret.encode() not in stored
    other = PersonId(await factor.connection.fetchval("SELECT gen_random_uuid()"))
    with pytest.raises(MasterKeyError):
        second_factors._seed(KEY, stored, other)
    with pytest.raises(MasterKeyError):
        second_factors._seed(b"x" * 32, stored, factor.whose)


async def test_a_code_is_accepted_once(factor: Factor) -> None:
    code = factor.totp.at(NOW)
    assert await factor.check(code) is None
    assert await factor.check(code) == CodeProblem()
    assert await factor.check(code, NOW + timedelta(seconds=20)) == CodeProblem()
    # One step ahead is allowed, and uses up all steps before it.
    ahead = factor.totp.at(NOW + timedelta(seconds=30))
    assert await factor.check(ahead) is None
    assert await factor.check(ahead, NOW + timedelta(seconds=30)) == CodeProblem()


async def test_of_the_same_code_at_once_one_is_accepted(factor: Factor) -> None:
    code = factor.totp.at(NOW)

    async def attempt() -> bool:
        async with connection_to(factor.dsn) as connection:
            return await second_factors.check(connection, KEY, factor.whose, code, NOW) is None

    assert sorted(await asyncio.gather(*(attempt() for _ in range(6)))) == [*[False] * 5, True]


async def test_many_guesses_at_once_are_counted_each(factor: Factor) -> None:
    async def attempt(number: int) -> timedelta:
        async with connection_to(factor.dsn) as connection:
            refused = await second_factors.check(connection, KEY, factor.whose, f"x{number}", NOW)
        assert refused is not None
        return refused.wait

    waits = await asyncio.gather(*(attempt(number) for number in range(12)))
    assert (
        sorted(waits)
        == [timedelta(0)] * (terms.FACTOR_FREE_FAILURES - 1) + [timedelta(minutes=1)] * 8
    )
    # Not even the right code counts before the wait is over; then it does, and all is forgotten.
    assert await factor.check(factor.totp.at(NOW)) == CodeProblem(timedelta(minutes=1))
    later = NOW + timedelta(minutes=1)
    assert await factor.check("wrong", later) == CodeProblem(timedelta(minutes=2))
    later += timedelta(minutes=2)
    assert await factor.check(factor.totp.at(later), later) is None
    assert await factor.check("wrong", later) == CodeProblem()


async def test_a_recovery_code_works_once(factor: Factor) -> None:
    first, second = factor.recovery[:2]
    assert await factor.check(first.upper()) is None
    assert await factor.check(first) == CodeProblem()
    assert await factor.check(second.replace("-", " ")) is None
    left = await second_factors.status(factor.connection, factor.whose)
    assert left is not None
    assert left.recovery_codes == terms.RECOVERY_CODES - 2
    # A recovery code takes no step of the phone.
    assert await factor.check(factor.totp.at(NOW)) is None


async def test_new_recovery_codes_replace_the_old(factor: Factor) -> None:
    codes = await second_factors.renew_recovery_codes(
        factor.connection, OPERATOR, KEY, factor.whose, NOW
    )
    assert len(codes) == terms.RECOVERY_CODES
    assert await factor.check(factor.recovery[0]) == CodeProblem()
    assert await factor.check(codes[0]) is None


async def test_recovery_codes_are_of_one_person_and_not_readable(factor: Factor) -> None:
    other = await add(
        factor.connection, OPERATOR, None, "b@laari.example", "support", None, NewLogin("hash")
    )
    await second_factors.begin(factor.connection, OPERATOR, KEY, other.id, NOW, b"")
    seed = await second_factors.pending_seed(factor.connection, KEY, other.id, NOW, b"")
    code = pyotp.TOTP(seed or "").at(NOW)
    await second_factors.confirm(factor.connection, OPERATOR, KEY, other.id, code, NOW, b"")
    refused = await second_factors.check(factor.connection, KEY, other.id, factor.recovery[0], NOW)
    assert refused == CodeProblem()
    plain = factor.recovery[0].replace("-", "")
    digests = await factor.connection.fetch("SELECT digest FROM recovery_codes")
    assert sha256(plain.encode()).digest() not in [row[0] for row in digests]


async def test_a_log_in_is_half_open_until_the_code(factor: Factor) -> None:
    token = await opened(factor.connection, EMAIL, NOW)
    assert await sessions.of_person(factor.connection, MASTER, token, NOW) is None
    assert await sessions.half_open(factor.connection, MASTER, token, NOW) == factor.whose
    refused = await second_factors.open_session(factor.connection, KEY, token, "000000", NOW)
    assert refused == CodeProblem()
    new = await second_factors.open_session(factor.connection, KEY, token, factor.totp.at(NOW), NOW)
    assert isinstance(new, str)
    assert new != token
    found = await sessions.of_person(factor.connection, MASTER, new, NOW)
    assert found is not None
    assert (found.email, found.has_factor) == (EMAIL, True)
    # The old token opens nothing, and a whole session cannot be opened again.
    assert await sessions.of_person(factor.connection, MASTER, token, NOW) is None
    later = NOW + timedelta(seconds=30)
    again = await second_factors.open_session(
        factor.connection, KEY, token, factor.totp.at(later), later
    )
    assert again is None


async def test_a_half_open_session_does_not_last(factor: Factor) -> None:
    token = await opened(factor.connection, EMAIL, NOW)
    late = NOW + terms.FACTOR_CODE_WITHIN
    assert await sessions.half_open(factor.connection, MASTER, token, late) is None
    code = factor.totp.at(late)
    assert await second_factors.open_session(factor.connection, KEY, token, code, late) is None
    assert await factor.check(code, late) is None  # it was not used up


async def test_sessions_with_the_password_alone_end_when_it_is_turned_on(
    connection: asyncpg.Connection, whose: PersonId
) -> None:
    own, other = await opened(connection, EMAIL, NOW), await opened(connection, EMAIL, NOW)
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, derive(KEY, "session", own))
    seed = await second_factors.pending_seed(
        connection, KEY, whose, NOW, derive(KEY, "session", own)
    )
    assert seed is not None
    code = pyotp.TOTP(seed).at(NOW)
    await second_factors.confirm(
        connection, OPERATOR, KEY, whose, code, NOW, derive(KEY, "session", own)
    )
    assert await sessions.of_person(connection, MASTER, own, NOW) is not None
    assert await sessions.of_person(connection, MASTER, other, NOW) is None


async def test_another_session_does_not_see_the_seed(
    connection: asyncpg.Connection, whose: PersonId
) -> None:
    """Or a browser that was left open would make the same codes from then on."""
    own, other = b"o" * 32, b"x" * 32
    await second_factors.begin(connection, OPERATOR, KEY, whose, NOW, own)
    assert await second_factors.pending_seed(connection, KEY, whose, NOW, other) is None
    seed = await second_factors.pending_seed(connection, KEY, whose, NOW, own)
    assert seed is not None
    code = pyotp.TOTP(seed).at(NOW)
    assert await second_factors.confirm(connection, OPERATOR, KEY, whose, code, NOW, other) is None
    assert await second_factors.confirm(connection, OPERATOR, KEY, whose, code, NOW, own)
    later = NOW + timedelta(seconds=30)
    valid = pyotp.TOTP(seed).at(later)
    assert await second_factors.check(connection, KEY, whose, valid, later) is None


async def test_turning_it_off_removes_everything(factor: Factor) -> None:
    assert await second_factors.remove(factor.connection, OPERATOR, factor.whose)
    assert not await second_factors.remove(factor.connection, OPERATOR, factor.whose)
    assert await factor.connection.fetchval("SELECT count(*) FROM recovery_codes") == 0
    token = await opened(factor.connection, EMAIL, NOW)
    assert await sessions.of_person(factor.connection, MASTER, token, NOW) is not None


async def test_a_password_link_does_not_end_the_wait(factor: Factor) -> None:
    """Somebody who reads the person's emails would have one more guess with each link."""
    for _ in range(terms.FACTOR_FREE_FAILURES):
        refused = await factor.check("000000")
    assert refused == CodeProblem(timedelta(minutes=1))
    token = await password_link(factor.connection, factor.whose, NOW)
    assert await use_link(factor.connection, token, "another hash", NOW)
    assert await factor.check(factor.totp.at(NOW)) == CodeProblem(timedelta(minutes=1))
    later = NOW + timedelta(minutes=1)
    assert await factor.check(factor.totp.at(later), later) is None
