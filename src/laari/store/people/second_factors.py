"""Second factors of people: set up, confirmed with a code, checked, and turned off.

Every check locks the factor's row, so that many guesses at once count one after another, and a code
is accepted once.
"""

import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from asyncpg import Connection, Record

from laari.rules import terms
from laari.rules.actors import Actor
from laari.rules.people.second_factor import (
    SEED_LETTERS,
    accepted_step,
    is_recovery_code,
    read_code,
    show_recovery_code,
    wait_after,
)
from laari.rules.people_records import PersonId
from laari.store.people import sessions
from laari.store.people.acting import acting
from laari.store.secrets import MasterKeyError, decrypt, derive, encrypt

_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_RECOVERY = "abcdefghjkmnpqrstvwxyz23456789"  # nothing to misread
_RECOVERY_LETTERS = 10


class Status(NamedTuple):
    """What the person sees on the account page."""

    confirmed_at: datetime
    recovery_codes: int  # that are left


class CodeProblem(NamedTuple):
    """Why a code was refused; `wait` is how long no code is looked at."""

    wait: timedelta = timedelta(0)


async def status(connection: Connection, whose: PersonId) -> Status | None:
    row = await connection.fetchrow(
        "SELECT confirmed_at, (SELECT count(*) FROM recovery_codes r WHERE r.person_id = $1) "
        "FROM second_factors WHERE person_id = $1 AND confirmed_at IS NOT NULL",
        whose.id,
    )
    return None if row is None else Status(*row)


async def is_required(connection: Connection, whose: PersonId) -> bool:
    """Whether a merchant of the person requires a factor; the operator always does."""
    required = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM memberships b LEFT JOIN merchants m ON m.id = b.merchant_id "
        "WHERE b.person_id = $1 AND (b.merchant_id IS NULL OR m.requires_factor))",
        whose.id,
    )
    return bool(required)


async def begin(
    connection: Connection,
    actor: Actor,
    master: bytes,
    whose: PersonId,
    now: datetime,
    session_digest: bytes,
) -> None:
    """Makes a new seed, which counts after its first code. A confirmed factor stays as it is.

    Only this session can read it: another one, perhaps stolen, would make the same codes later.
    """
    seed = "".join(secrets.choice(_BASE32) for _ in range(SEED_LETTERS))
    async with acting(connection, actor, "second_factor.begin"):
        await connection.execute(
            "INSERT INTO second_factors (person_id, seed_encrypted, created_at) "
            "VALUES ($1, $2, $3) ON CONFLICT (person_id) DO UPDATE "
            "SET seed_encrypted = excluded.seed_encrypted, created_at = excluded.created_at "
            "WHERE second_factors.confirmed_at IS NULL",
            whose.id,
            encrypt(master, seed.encode(), _context(whose, session_digest)),
            now,
        )


async def pending_seed(
    connection: Connection, master: bytes, whose: PersonId, now: datetime, session_digest: bytes
) -> str | None:
    """The seed that waits for its first code, for an hour, in the session that began it."""
    encrypted = await connection.fetchval(
        "SELECT seed_encrypted FROM second_factors "
        "WHERE person_id = $1 AND confirmed_at IS NULL AND created_at > $2",
        whose.id,
        now - terms.FACTOR_SET_UP_WITHIN,
    )
    return None if encrypted is None else _own_seed(master, encrypted, whose, session_digest)


def _own_seed(
    master: bytes, encrypted: bytes, whose: PersonId, session_digest: bytes
) -> str | None:
    """None if another session began the set-up."""
    with suppress(MasterKeyError):
        return decrypt(master, encrypted, _context(whose, session_digest)).decode()
    return None


async def confirm(
    connection: Connection,
    actor: Actor,
    master: bytes,
    whose: PersonId,
    code: str,
    now: datetime,
    session_digest: bytes,
) -> list[str] | CodeProblem | None:
    """Turns the factor on with its first code; returns the recovery codes.

    All other sessions end: they were opened with the password alone. None without a set-up.
    """
    async with acting(connection, actor, "second_factor.confirm"):
        # A log-in locks this row too: it is half-open from now on, or its session ends here.
        await connection.execute("SELECT FROM persons WHERE id = $1 FOR UPDATE", whose.id)
        row = await _locked(connection, whose)
        if (
            row is None
            or row["confirmed_at"] is not None
            or row["created_at"] <= now - terms.FACTOR_SET_UP_WITHIN
        ):
            return None
        seed = _own_seed(master, row["seed_encrypted"], whose, session_digest)
        if seed is None:
            return None
        problem = await _check_step(connection, master, whose, row, seed, code, now)
        if problem is not None:
            return problem
        await connection.execute(
            "UPDATE second_factors SET confirmed_at = $2, codes_made_at = $2, seed_encrypted = $3 "
            "WHERE person_id = $1",
            whose.id,
            now,
            encrypt(master, seed.encode(), _context(whose)),
        )
        await connection.execute(
            "DELETE FROM sessions WHERE person_id = $1 AND digest <> $2", whose.id, session_digest
        )
        return await _new_recovery_codes(connection, master, whose)


async def check(
    connection: Connection, master: bytes, whose: PersonId, code: str, now: datetime
) -> CodeProblem | None:
    """Accepts a code once: of the phone, or a recovery code. A problem if it is refused.

    A person without a factor has no valid code.
    """
    async with connection.transaction():
        return await check_locked(connection, master, whose, code, now)


async def check_locked(
    connection: Connection, master: bytes, whose: PersonId, code: str, now: datetime
) -> CodeProblem | None:
    """As `check`, within the caller's transaction; a refused code changes only the count."""
    row = await _locked(connection, whose)
    if row is None or row["confirmed_at"] is None:
        return CodeProblem()
    seed = _seed(master, row["seed_encrypted"], whose)
    return await _check_step(connection, master, whose, row, seed, code, now)


async def open_session(
    connection: Connection, master: bytes, token: str, code: str, now: datetime
) -> str | CodeProblem | None:
    """Opens a half-open session with a code, under a new token. None if the session has ended."""
    async with connection.transaction():
        found = await sessions.half_open(connection, master, token, now)
        if found is None:
            return None
        problem = await check_locked(connection, master, found, code, now)
        if problem is not None:
            return problem
        return await sessions.complete(connection, master, token, found, now)


async def renew_recovery_codes(
    connection: Connection, actor: Actor, master: bytes, whose: PersonId, now: datetime
) -> list[str]:
    """Ten new ones; the old ones no longer work. None are made without a factor."""
    async with acting(connection, actor, "second_factor.renew_codes"):
        row = await _locked(connection, whose)
        if row is None or row["confirmed_at"] is None:
            return []
        await connection.execute(
            "UPDATE second_factors SET codes_made_at = $2 WHERE person_id = $1", whose.id, now
        )
        return await _new_recovery_codes(connection, master, whose)


async def remove(connection: Connection, actor: Actor, whose: PersonId) -> bool:
    """Turns the factor off, with its recovery codes; False if there was none."""
    async with acting(connection, actor, "second_factor.remove"):
        removed = await connection.fetchval(
            "DELETE FROM second_factors WHERE person_id = $1 RETURNING true", whose.id
        )
    return removed is not None


async def _locked(connection: Connection, whose: PersonId) -> Record | None:
    return await connection.fetchrow(
        "SELECT seed_encrypted, created_at, confirmed_at, last_step, failures, blocked_until "
        "FROM second_factors WHERE person_id = $1 FOR UPDATE",
        whose.id,
    )


async def _check_step(
    connection: Connection,
    master: bytes,
    whose: PersonId,
    row: Record,
    seed: str,
    code: str,
    now: datetime,
) -> CodeProblem | None:
    blocked = row["blocked_until"]
    if blocked is not None and blocked > now:
        return CodeProblem(blocked - now)
    code = read_code(code)
    step = accepted_step(seed, code, now, row["last_step"])
    if step is None and not await _use_recovery_code(connection, master, whose, code):
        failures = row["failures"] + 1
        wait = wait_after(failures)
        await connection.execute(
            "UPDATE second_factors SET failures = $2, blocked_until = $3 WHERE person_id = $1",
            whose.id,
            failures,
            now + wait if wait else None,
        )
        return CodeProblem(wait)
    await connection.execute(
        "UPDATE second_factors SET last_step = greatest(last_step, $2), failures = 0, "
        "blocked_until = NULL WHERE person_id = $1",
        whose.id,
        step or 0,
    )
    return None


async def _use_recovery_code(
    connection: Connection, master: bytes, whose: PersonId, code: str
) -> bool:
    if not is_recovery_code(code):
        return False
    used = await connection.fetchval(
        "DELETE FROM recovery_codes WHERE person_id = $1 AND digest = $2 RETURNING true",
        whose.id,
        _recovery_digest(master, whose, code),
    )
    return used is not None


async def _new_recovery_codes(connection: Connection, master: bytes, whose: PersonId) -> list[str]:
    codes = [
        "".join(secrets.choice(_RECOVERY) for _ in range(_RECOVERY_LETTERS))
        for _ in range(terms.RECOVERY_CODES)
    ]
    await connection.execute("DELETE FROM recovery_codes WHERE person_id = $1", whose.id)
    await connection.executemany(
        "INSERT INTO recovery_codes (person_id, digest) VALUES ($1, $2)",
        [(whose.id, _recovery_digest(master, whose, code)) for code in codes],
    )
    return [show_recovery_code(code) for code in codes]


def _recovery_digest(master: bytes, whose: PersonId, code: str) -> bytes:
    """With the master key: a code is short enough to be found from a plain digest."""
    return derive(master, "recovery-code", f"{whose.id} {code}")


def _seed(master: bytes, encrypted: bytes, whose: PersonId) -> str:
    return decrypt(master, encrypted, _context(whose)).decode()


def _context(whose: PersonId, pending_in: bytes | None = None) -> bytes:
    session = "" if pending_in is None else f" in session {pending_in.hex()}"
    return f"second factor of {whose.id}{session}".encode()
