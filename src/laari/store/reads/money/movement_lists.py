"""Top-ups and adjustments of all wallets: those of a day, and those that wait."""

from datetime import date, datetime, timedelta
from typing import Literal
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.calendar import start_of
from laari.rules.records import Mode, PendingMovement
from laari.store.tables import MOVEMENTS

by_id = MOVEMENTS.finder("id")


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
        "SELECT l.tid, l.time, l.type, l.account, c.name, l.amount, l.details, s.slip "
        "FROM transfers t JOIN transactions l ON l.tid = t.tid "
        "JOIN wallets w ON w.account = l.account JOIN customers c ON c.id = w.customer_id "
        "LEFT JOIN topup_slips s ON s.tid = t.tid "
        "WHERE t.kind IN ('topup', 'adjustment') AND t.id >= $1 AND t.id < $2 "
        "AND w.mode = $3 ORDER BY t.id LIMIT $4",
        *(_first_id(start), _first_id(start + timedelta(days=1))),
        *(mode, most),
    )
    return [OutsideMovement(*row) for row in rows]


def _first_id(moment: datetime) -> UUID:
    """Ids begin with 48 bits of milliseconds."""
    return UUID(int=round(moment.timestamp() * 1_000) << 80)


async def waiting(connection: Connection, most: int) -> list[PendingMovement]:
    rows = await connection.fetch(
        f"{MOVEMENTS.select} WHERE status = 'waiting' ORDER BY id LIMIT $1", most
    )
    return [MOVEMENTS.read(row) for row in rows]
