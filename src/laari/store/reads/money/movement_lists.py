"""Top-ups and adjustments of all wallets of a day, and all movements that wait."""

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.calendar import start_of
from laari.rules.ids import first_id
from laari.rules.records.second_person import PendingMovement
from laari.rules.records.tenants import Mode, Tenant
from laari.store.reads import tenants
from laari.store.reads.holders import names_of
from laari.store.tables import MOVEMENTS


class OutsideMovement(Struct, frozen=True):
    tid: str
    time: datetime
    type: Literal["topup", "adjustment"]
    account: int
    holder: str
    amount: int  # signed
    details: str
    slip: str | None


async def of_day(connection: Connection, day: date, mode: Mode, most: int) -> list[OutsideMovement]:
    """The movements that were booked on a Maldivian day of real time, oldest first."""
    start = start_of(day)
    rows = await connection.fetch(
        "SELECT l.tid, l.time, l.type, l.account, c.name AS holder, l.amount, l.details, s.slip "
        "FROM transfers t JOIN transactions l ON l.tid = t.tid "
        "JOIN wallets w ON w.account = l.account JOIN customers c ON c.id = w.customer_id "
        "LEFT JOIN topup_slips s ON s.tid = t.tid "
        "WHERE t.kind IN ('topup', 'adjustment') AND t.id >= $1 AND t.id < $2 "
        "AND w.mode = $3 ORDER BY t.id LIMIT $4",
        first_id(start),
        first_id(start + timedelta(days=1)),
        mode,
        most,
    )
    return [OutsideMovement(**row) for row in rows]


class Waiting(NamedTuple):
    """A movement for a second person, with the holder of the wallet or the merchant."""

    movement: PendingMovement
    holder: str | None
    tenant: Tenant | None


async def waiting(connection: Connection, most: int) -> list[Waiting]:
    """The movements that wait, oldest first."""
    rows = await connection.fetch(
        f"{MOVEMENTS.select} WHERE status = 'waiting' ORDER BY id LIMIT $1", most
    )
    return await _with_holders(connection, [MOVEMENTS.read(row) for row in rows])


async def made_by(connection: Connection, person: str) -> int:
    """The movements that a person of the operator made or asked for so far."""
    made = await connection.fetchval("SELECT movements FROM person_days WHERE person = $1", person)
    return made or 0


async def by_id(connection: Connection, movement_id: UUID) -> Waiting | None:
    """A movement that waits or was decided."""
    rows = await connection.fetch(MOVEMENTS.read_by_key, [movement_id])
    found = await _with_holders(connection, [MOVEMENTS.read(row) for row in rows])
    return found[0] if found else None


async def waiting_for(connection: Connection, references: Collection[str]) -> dict[str, UUID]:
    """The movements that wait, by the slip, line or order that they are about."""
    rows = await connection.fetch(
        "SELECT reference, id FROM pending_movements "
        "WHERE status = 'waiting' AND reference = ANY($1)",
        list(references),
    )
    return {row["reference"]: row["id"] for row in rows}


async def import_of(connection: Connection, digest: str) -> PendingMovement | None:
    """The newest request to import this statement, unless it was refused."""
    row = await connection.fetchrow(
        f"{MOVEMENTS.select} WHERE reference = $1 AND kind = 'import' AND status <> 'refused' "
        "ORDER BY id DESC LIMIT 1",
        digest,
    )
    return None if row is None else MOVEMENTS.read(row)


async def confirmed_import(connection: Connection, digest: str) -> PendingMovement | None:
    found = await import_of(connection, digest)
    return found if found is not None and found.status == "done" else None


async def _with_holders(connection: Connection, movements: list[PendingMovement]) -> list[Waiting]:
    accounts = [each.account for each in movements if each.account is not None]
    merchants = [each.tenant_id for each in movements if each.tenant_id is not None]
    names = await names_of(connection, accounts)
    known = await tenants.by_id(connection, merchants)
    found = []
    for each in movements:
        tenant = None if each.tenant_id is None else known[each.tenant_id]
        holder = names.get(each.account or 0) if tenant is None else tenant.merchant_name
        found.append(Waiting(each, holder, tenant))
    return found
