"""Remembered devices of customers, and what they paid."""

from collections.abc import Collection
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Payer
from laari.rules.limits.remembered_devices import REMEMBERED_DEVICE_LIFE
from laari.rules.people.remembered_devices import TOKEN, owner_of
from laari.rules.records.people import DeviceDay
from laari.rules.records.tenants import Mode
from laari.store.secrets import derive, is_bound

_USABLE = "ended_at IS NULL AND added_at > $2"


class ListedDevice(NamedTuple):
    id: UUID
    name: str
    added_at: datetime
    used_on: date | None


async def of_customer(
    connection: Connection, customer_id: UUID, now: datetime
) -> list[ListedDevice]:
    """Those that can be used, the newest first."""
    rows = await connection.fetch(
        "SELECT id, name, added_at, "
        "(SELECT max(day) FROM device_payments WHERE device_id = d.id) AS used_on "
        f"FROM remembered_devices d WHERE customer_id = $1 AND {_USABLE} "
        "ORDER BY added_at DESC, id",
        customer_id,
        now - REMEMBERED_DEVICE_LIFE,
    )
    return [ListedDevice(**row) for row in rows]


async def usable(
    connection: Connection, customers: Collection[UUID]
) -> dict[UUID, frozenset[UUID]]:
    """The ids of the devices of each customer that have not ended."""
    rows = await connection.fetch(
        "SELECT customer_id, array_agg(id) FROM remembered_devices "
        "WHERE customer_id = ANY($1) AND ended_at IS NULL GROUP BY 1",
        list(customers),
    )
    found: dict[UUID, frozenset[UUID]] = dict.fromkeys(customers, frozenset())
    return found | {customer_id: frozenset(ids) for customer_id, ids in rows}


async def last_days(connection: Connection, customers: Collection[UUID]) -> dict[UUID, DeviceDay]:
    """The last day on which devices of each customer paid, with its sum."""
    rows = await connection.fetch(
        "SELECT v.customer_id, v.day, sum(v.amount)::bigint FROM unnest($1::uuid[]) AS c (id) "
        "CROSS JOIN LATERAL (SELECT day FROM device_payments WHERE customer_id = c.id "
        "ORDER BY day DESC LIMIT 1) AS newest "
        "JOIN device_payments v ON v.customer_id = c.id AND v.day = newest.day GROUP BY 1, 2",
        list(customers),
    )
    return {customer_id: DeviceDay(day, spent) for customer_id, day, spent in rows}


class DeviceSession(NamedTuple):
    """A device that may pay for its customer, and nothing else."""

    id: UUID
    digest: bytes
    customer_id: UUID
    customer: str  # the name
    mobile: str | None
    account: int
    mode: Mode
    frozen_at: datetime | None
    frozen_silently: bool
    last: DeviceDay | None  # on which it or another device of the customer paid

    @property
    def payer(self) -> Payer:
        return Payer(self.account, self.mode)


async def session(
    connection: Connection, master: bytes, token: str, now: datetime
) -> DeviceSession | None:
    row = await connection.fetchrow(
        "SELECT d.binding, d.id, d.digest, d.customer_id, c.name AS customer, c.mobile, w.account, "
        "c.mode, w.frozen_at, w.frozen_silently FROM remembered_devices d "
        "JOIN customers c ON c.id = d.customer_id JOIN wallets w ON w.customer_id = c.id "
        f"WHERE d.digest = $1 AND {_USABLE}",
        derive(master, TOKEN, token),
        now - REMEMBERED_DEVICE_LIFE,
    )
    if row is None:
        return None
    fields = dict(row)
    customer_id = row["customer_id"]
    if not is_bound(master, fields.pop("binding"), row["digest"], owner_of(customer_id)):
        return None
    days = await last_days(connection, [customer_id])
    return DeviceSession(**fields, last=days.get(customer_id))
