"""Sessions of the pages; the database has only what the master key makes of a token.

A session from a checkout or approval page is valid for that page only.
"""

from datetime import datetime
from typing import NamedTuple, TypeAlias
from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Payer
from laari.rules.limits.second_factors import FACTOR_CODE_WITHIN
from laari.rules.limits.sessions import SESSION_IDLE, SESSION_LIFE
from laari.rules.records.messages import Language
from laari.rules.records.people import CustomerId, PersonId, Whose, show_whose
from laari.rules.records.tenants import Mode
from laari.store.reads.people.logins import table_of
from laari.store.secrets import bind, derive, is_bound, new_secret

MOST_LISTED = 50  # a person with very many sessions would stop the process that renders them

_OPEN = "s.seen_at > $2 AND s.created_at > $3"
_HAS_FACTOR = (
    "EXISTS (SELECT FROM second_factors f WHERE f.person_id = p.id AND f.confirmed_at IS NOT NULL)"
)


class CustomerSession(NamedTuple):
    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    customer_id: UUID
    name: str
    mode: Mode
    account: int
    must_change: bool  # the password, before anything else
    language: Language
    has_passkey: bool

    @property
    def whose(self) -> CustomerId:
        return CustomerId(self.customer_id)

    @property
    def payer(self) -> Payer:
        return Payer(self.account, self.mode)


class PersonSession(NamedTuple):
    digest: bytes
    authenticated_at: datetime
    seen_at: datetime
    person_id: UUID
    email: str
    must_change: bool
    merchant_id: str | None  # whose pages it opened last
    ended_for: list[str]  # merchants whose owner ended it
    has_factor: bool

    @property
    def whose(self) -> PersonId:
        return PersonId(self.person_id)


Session: TypeAlias = CustomerSession | PersonSession


async def of_customer(
    connection: Connection, master: bytes, token: str, now: datetime, page: str | None = None
) -> CustomerSession | None:
    """The session with this token, if it is valid everywhere or for this page."""
    row = await connection.fetchrow(
        "SELECT s.binding, s.page, s.digest, s.authenticated_at, s.seen_at, c.id AS customer_id, "
        "c.name, c.mode, w.account, c.password_must_change AS must_change, c.language, "
        "EXISTS (SELECT FROM passkeys k WHERE k.customer_id = c.id AND k.ended_at IS NULL) "
        "AS has_passkey "
        "FROM sessions s JOIN customers c ON c.id = s.customer_id "
        "JOIN wallets w ON w.customer_id = c.id "
        f"WHERE s.digest = $1 AND {_OPEN} AND (s.page IS NULL OR s.page = $4)",
        _whole(master, token),
        now - SESSION_IDLE,
        now - SESSION_LIFE,
        page,
    )
    if row is None:
        return None
    fields = dict(row)
    binding, only_page = fields.pop("binding"), fields.pop("page")
    session = CustomerSession(**fields)
    return session if _is_bound(master, binding, session, only_page) else None


async def of_person(
    connection: Connection, master: bytes, token: str, now: datetime
) -> PersonSession | None:
    row = await connection.fetchrow(
        "SELECT s.binding, s.digest, s.authenticated_at, s.seen_at, p.id AS person_id, p.email, "
        "p.password_must_change AS must_change, s.merchant_id, s.ended_for, "
        f"{_HAS_FACTOR} AS has_factor "
        "FROM sessions s JOIN persons p ON p.id = s.person_id "
        f"WHERE s.digest = $1 AND {_OPEN} AND NOT s.factor_due",
        _whole(master, token),
        now - SESSION_IDLE,
        now - SESSION_LIFE,
    )
    if row is None:
        return None
    fields = dict(row)
    binding = fields.pop("binding")
    session = PersonSession(**fields)
    return session if _is_bound(master, binding, session, None) else None


def _whole(master: bytes, token: str) -> bytes:
    return derive(master, "session", token)


def _half(master: bytes, token: str) -> bytes:
    """Another digest for a half-open session: nothing that is changed in its row completes it."""
    return derive(master, "half-open session", token)


def _bind(master: bytes, held: bytes, whose: Whose, page: str | None) -> bytes:
    return bind(master, held, show_whose(whose), page or "")


def _is_bound(master: bytes, binding: bytes, session: Session, page: str | None) -> bool:
    return is_bound(master, binding, session.digest, show_whose(session.whose), page or "")


class Opened(NamedTuple):
    """The address and device of a log-in, shown to the person and to owners."""

    address: str | None = None
    device: str | None = None  # "Firefox on Android"
    page: str | None = None  # the only page that it opens


NOWHERE = Opened()


class Proof(NamedTuple):
    """The secrets that a log-in has shown, as they were read from the database."""

    password_hash: str
    passkey: UUID | None = None  # used instead of the password
    with_factor: bool = False


async def open_for(
    connection: Connection,
    master: bytes,
    whose: Whose,
    now: datetime,
    proof: Proof,
    *,
    opened: Opened = NOWHERE,
) -> str | None:
    """Opens a session and returns its token.

    None if the password was changed, or the passkey ended, after the proof was read. The session
    of a person with a second factor is half-open, unless the factor was checked too.
    """
    async with connection.transaction():
        table, _, column = table_of(whose)
        # A change of a secret waits for this lock, and ends the session; or this waits for the
        # change. So what follows is a statement of its own, which sees the change.
        held = await connection.fetchval(
            f"SELECT true FROM {table} WHERE id = $1 AND password_hash = $2 FOR SHARE",
            whose.id,
            proof.password_hash,
        )
        if held is None:
            return None
        token = new_secret("")
        due = _HAS_FACTOR if isinstance(whose, PersonId) and not proof.with_factor else "false"
        whole, half = _whole(master, token), _half(master, token)
        made = await connection.fetchval(
            f"INSERT INTO sessions ({column}, created_at, authenticated_at, seen_at, address, "
            "device, page, factor_due, digest, binding) SELECT id, $2, $2, $2, $4, $5, $6, due, "
            "CASE WHEN due THEN $7::bytea ELSE $8 END, CASE WHEN due THEN $9::bytea ELSE $10 END "
            f"FROM {table} p CROSS JOIN LATERAL (SELECT {due}) AS factor (due) WHERE id = $1 "
            "AND ($3::uuid IS NULL OR EXISTS (SELECT FROM passkeys k WHERE k.id = $3 "
            "AND k.customer_id = $1 AND k.ended_at IS NULL)) RETURNING true",
            whose.id,
            now,
            proof.passkey,
            *opened,
            half,
            whole,
            _bind(master, half, whose, opened.page),
            _bind(master, whole, whose, opened.page),
        )
        return token if made else None


async def half_open(
    connection: Connection, master: bytes, token: str, now: datetime
) -> PersonId | None:
    """The person of a session that waits for the second factor."""
    held = _half(master, token)
    row = await connection.fetchrow(
        "SELECT person_id, binding FROM sessions "
        "WHERE digest = $1 AND factor_due AND created_at > $2",
        held,
        now - FACTOR_CODE_WITHIN,
    )
    if row is None:
        return None
    whose = PersonId(row["person_id"])
    return whose if is_bound(master, row["binding"], held, show_whose(whose), "") else None


async def complete(
    connection: Connection, master: bytes, token: str, whose: PersonId, now: datetime
) -> str | None:
    """Opens a half-open session wholly, under a new token: the old one proves only a password."""
    new = new_secret("")
    whole = _whole(master, new)
    opened = await connection.fetchval(
        "UPDATE sessions SET digest = $2, binding = $3, factor_due = false, "
        "authenticated_at = $4, seen_at = $4 "
        "WHERE digest = $1 AND factor_due AND person_id = $5 RETURNING true",
        _half(master, token),
        whole,
        _bind(master, whole, whose, None),
        now,
        whose.id,
    )
    return new if opened else None


class ListedSession(NamedTuple):
    """An open session, as an owner sees it."""

    created_at: datetime
    seen_at: datetime
    address: str | None
    device: str | None


async def seen_at_merchant(
    connection: Connection, whose: PersonId, merchant_id: str, now: datetime
) -> list[ListedSession]:
    """The newest open sessions of a person whose last visit was to this merchant."""
    rows = await connection.fetch(
        "SELECT s.created_at, s.seen_at, s.address, s.device FROM sessions s "
        f"WHERE s.person_id = $1 AND {_OPEN} AND s.merchant_id = $4 "
        f"AND $4 <> ALL (s.ended_for) ORDER BY s.seen_at DESC LIMIT {MOST_LISTED}",
        whose.id,
        now - SESSION_IDLE,
        now - SESSION_LIFE,
        merchant_id,
    )
    return [ListedSession(**row) for row in rows]


class OwnSession(NamedTuple):
    """An open session, as its own person sees it."""

    id: str
    created_at: datetime
    seen_at: datetime
    address: str | None
    device: str | None
    page: str | None  # the only page that it is valid for
    is_this: bool


_ID = "left(encode(digest, 'hex'), 16)"  # names a session on a page, and is no secret


async def list_of(
    connection: Connection, whose: Whose, now: datetime, this: bytes
) -> list[OwnSession]:
    """The newest open sessions of a customer or a person, this one first, then the last seen."""
    rows = await connection.fetch(
        f"SELECT {_ID} AS id, created_at, seen_at, address, device, page, digest = $4 AS is_this "
        "FROM sessions s "
        f"WHERE {table_of(whose).column} = $1 AND {_OPEN} AND NOT factor_due "
        f"ORDER BY digest = $4 DESC, seen_at DESC LIMIT {MOST_LISTED}",
        whose.id,
        now - SESSION_IDLE,
        now - SESSION_LIFE,
        this,
    )
    return [OwnSession(**row) for row in rows]


async def end_one(connection: Connection, whose: Whose, session_id: str) -> bool:
    """Ends one of the person's own sessions; False if there is none with this id."""
    ended = await connection.fetchval(
        f"DELETE FROM sessions WHERE {table_of(whose).column} = $1 AND {_ID} = $2 RETURNING true",
        whose.id,
        session_id,
    )
    return ended is not None


async def end_all(connection: Connection, whose: Whose) -> int:
    ended = await connection.fetch(
        f"DELETE FROM sessions WHERE {table_of(whose).column} = $1 RETURNING true", whose.id
    )
    return len(ended)


async def end_others(connection: Connection, whose: Whose, this: bytes) -> None:
    await connection.execute(
        f"DELETE FROM sessions WHERE {table_of(whose).column} = $1 AND digest <> $2",
        whose.id,
        this,
    )


async def note_seen(connection: Connection, session: Session, now: datetime) -> None:
    await connection.execute(
        "UPDATE sessions SET seen_at = greatest(seen_at, $2) WHERE digest = $1", session.digest, now
    )


async def note_seen_at(
    connection: Connection, session: PersonSession, now: datetime, merchant_id: str
) -> None:
    """Notes the visit for the session and for the membership."""
    await connection.execute(
        "WITH seen AS (UPDATE sessions SET seen_at = greatest(seen_at, $2), merchant_id = $3 "
        "WHERE digest = $1 RETURNING person_id) "
        "UPDATE memberships b SET last_seen_at = greatest(last_seen_at, $2) FROM seen "
        "WHERE b.person_id = seen.person_id AND b.merchant_id = $3",
        session.digest,
        now,
        merchant_id,
    )


async def note_authenticated(
    connection: Connection, session: Session, now: datetime, verified: str
) -> bool:
    """Notes that the password was given again; False if it was changed meanwhile."""
    table, _, column = table_of(session.whose)
    noted = await connection.fetchval(
        f"WITH login AS (SELECT id FROM {table} WHERE id = $3 AND password_hash = $4 FOR SHARE) "
        "UPDATE sessions s SET authenticated_at = $2, seen_at = $2 FROM login "
        f"WHERE s.digest = $1 AND s.{column} = login.id RETURNING true",
        session.digest,
        now,
        session.whose.id,
        verified,
    )
    return noted is not None


async def end(connection: Connection, master: bytes, token: str) -> None:
    await connection.execute(
        "DELETE FROM sessions WHERE digest IN ($1, $2)", _whole(master, token), _half(master, token)
    )
