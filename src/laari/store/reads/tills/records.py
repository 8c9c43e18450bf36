"""Tills, their devices, and the session of a device."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.limits.tills import TILL_DEVICE_LIFE
from laari.rules.merchants.tills import DEVICE, PAIRING, bound_to, read_code
from laari.rules.records.tenants import Tenant
from laari.rules.records.tills import Till
from laari.store.reads.tenants import COLUMNS as OF_TENANT
from laari.store.secrets import derive, is_bound
from laari.store.tables import TILLS

_TILL_FIELDS = len(Till.__struct_fields__)
_OF_TILL = ", ".join(f"l.{field}" for field in Till.__struct_fields__)


def code_digest(master: bytes, code: str) -> bytes:
    return derive(master, PAIRING, read_code(code))


async def by_pairing_code(connection: Connection, digests: Collection[bytes]) -> dict[bytes, UUID]:
    rows = await connection.fetch(
        "SELECT pairing_digest, id FROM tills WHERE pairing_digest = ANY($1)", list(digests)
    )
    return {row["pairing_digest"]: row["id"] for row in rows}


async def names(connection: Connection, tenant_id: int) -> tuple[str, ...]:
    rows = await connection.fetch("SELECT name FROM tills WHERE tenant_id = $1", tenant_id)
    return tuple(row["name"] for row in rows)


async def digests(connection: Connection, till_id: UUID) -> tuple[bytes, ...]:
    """Of the devices that have not ended."""
    rows = await connection.fetch(
        "SELECT digest FROM till_devices WHERE till_id = $1 AND ended_at IS NULL", till_id
    )
    return tuple(row["digest"] for row in rows)


class ListedTill(NamedTuple):
    till: Till
    devices: int  # that can be used


async def of_tenant(connection: Connection, tenant_id: int, now: datetime) -> list[ListedTill]:
    rows = await connection.fetch(
        f"SELECT {TILLS.columns}, (SELECT count(*) FROM till_devices d WHERE d.till_id = tills.id "
        "AND d.ended_at IS NULL AND d.paired_at > $2) FROM tills WHERE tenant_id = $1 "
        "ORDER BY NOT active, name",
        tenant_id,
        now - TILL_DEVICE_LIFE,
    )
    return [ListedTill(Till(*till), devices) for *till, devices in rows]


async def find(connection: Connection, tenant_id: int, till_id: UUID) -> Till | None:
    row = await connection.fetchrow(
        f"{TILLS.select} WHERE id = $1 AND tenant_id = $2", till_id, tenant_id
    )
    return None if row is None else TILLS.read(row)


class ListedDevice(NamedTuple):
    digest: bytes
    name: str
    paired_at: datetime
    last_seen_at: datetime | None


async def devices(connection: Connection, till_id: UUID, now: datetime) -> list[ListedDevice]:
    """Those that can be used, the last seen first."""
    rows = await connection.fetch(
        "SELECT digest, name, paired_at, last_seen_at FROM till_devices WHERE till_id = $1 "
        "AND ended_at IS NULL AND paired_at > $2 "
        "ORDER BY coalesce(last_seen_at, paired_at) DESC, digest",
        till_id,
        now - TILL_DEVICE_LIFE,
    )
    return [ListedDevice(**row) for row in rows]


class DeviceSession(NamedTuple):
    """A device that may use the counter of its till."""

    digest: bytes
    last_seen_at: datetime | None
    till: Till
    tenant: Tenant


async def session(
    connection: Connection, master: bytes, token: str, now: datetime
) -> DeviceSession | None:
    row = await connection.fetchrow(
        f"SELECT v.binding, v.digest, v.last_seen_at, {_OF_TILL}, {OF_TENANT} "
        "FROM till_devices v JOIN tills l ON l.id = v.till_id "
        "JOIN tenant_details d ON d.id = l.tenant_id "
        "WHERE v.digest = $1 AND v.ended_at IS NULL AND v.paired_at > $2 AND l.active",
        derive(master, DEVICE, token),
        now - TILL_DEVICE_LIFE,
    )
    if row is None:
        return None
    binding, digest, last_seen_at, *rest = row
    till, tenant = Till(*rest[:_TILL_FIELDS]), Tenant(*rest[_TILL_FIELDS:])
    if not is_bound(master, binding, digest, bound_to(till.id)):
        return None
    return DeviceSession(digest, last_seen_at, till, tenant)


async def named(connection: Connection, tenant_id: int, name: str) -> Till | None:
    """An active till by the label of its payments."""
    row = await connection.fetchrow(
        f"{TILLS.select} WHERE tenant_id = $1 AND name = $2 AND active", tenant_id, name
    )
    return None if row is None else TILLS.read(row)


async def by_token(connection: Connection, token: str) -> Till | None:
    """An active till by the token of its static code."""
    row = await connection.fetchrow(f"{TILLS.select} WHERE token = $1 AND active", token)
    return None if row is None else TILLS.read(row)
