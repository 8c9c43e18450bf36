"""Reading events and their deliveries."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records.events import Event
from laari.store.reads.listing import Listing, Walk, Window
from laari.store.reads.webhook_states import DeliveryStatus
from laari.store.tables import EVENTS

_DELIVERED = (
    "EXISTS (SELECT FROM deliveries d WHERE d.event_id = walked.id AND d.status = 'delivered')"
)
# An event whose delivery was purged may well have been delivered.
_UNDELIVERED = f"""NOT {_DELIVERED} AND (
    EXISTS (SELECT FROM deliveries d WHERE d.event_id = walked.id)
    OR walked.id >= coalesce((SELECT deliveries_purged_before FROM installation),
        '00000000-0000-0000-0000-000000000000'))"""


class DeliveryState(Struct, frozen=True):
    event_id: UUID
    status: DeliveryStatus
    attempts: int
    next_attempt_at: datetime | None  # None if none is to come


class AttemptMade(Struct, frozen=True):
    started_at: datetime
    duration_ms: int
    url: str
    http_status: int | None
    error: str | None
    answer: str | None


class Delivery(Struct, frozen=True):
    event_id: UUID
    merchant_id: str
    mode: str
    type: str
    created_at: datetime
    status: DeliveryStatus
    next_attempt_at: datetime | None
    body: bytes
    attempts: list[AttemptMade]


by_id = EVENTS.finder("id")


async def of_objects(connection: Connection, objects: list[UUID]) -> list[Event]:
    """The events of payments, refunds, payment requests or authorizations, oldest first."""
    rows = await connection.fetch(
        f"{EVENTS.select} WHERE object_id = ANY($1) ORDER BY created_at, id", objects
    )
    return [EVENTS.read(row) for row in rows]


def of_tenant(
    tenant_id: int,
    window: Window,
    *,
    types: Collection[str] | None = None,
    delivered: bool | None = None,
) -> Listing[Event]:
    keep: list[str] = []
    values: dict[str, object] = {}
    if types is not None:
        keep.append("type = ANY({types})")
        values["types"] = types
    if delivered is not None:
        keep.append(_DELIVERED if delivered else _UNDELIVERED)
    walk = Walk({"tenant_id": tenant_id}, " AND ".join(keep) or None, values)
    return Listing(EVENTS, [walk], window)


async def delivery_states(
    connection: Connection, event_ids: list[UUID]
) -> dict[UUID, DeliveryState]:
    """Events that were never to be delivered have none."""
    rows = await connection.fetch(
        "SELECT d.event_id, d.status, "
        "(SELECT count(*) FROM delivery_attempts a WHERE a.event_id = d.event_id) AS attempts, "
        "CASE WHEN d.status = 'pending' THEN d.next_attempt_at END AS next_attempt_at "
        "FROM deliveries d WHERE d.event_id = ANY($1)",
        event_ids,
    )
    return {row["event_id"]: DeliveryState(**row) for row in rows}


async def deliveries_of(
    connection: Connection,
    *,
    merchant_id: str | None = None,
    status: DeliveryStatus | None = None,
    event_id: UUID | None = None,
    limit: int | None = None,
) -> list[Delivery]:
    """Deliveries with every attempt, newest event first."""
    rows = await connection.fetch(
        "SELECT e.id AS event_id, t.merchant_id, t.mode, e.type, e.created_at, d.status, "
        "CASE WHEN d.status = 'pending' THEN d.next_attempt_at END AS next_attempt_at, e.body "
        "FROM deliveries d JOIN events e ON e.id = d.event_id JOIN tenants t ON t.id = e.tenant_id "
        "WHERE ($1::text IS NULL OR t.merchant_id = $1) AND ($2::text IS NULL OR d.status = $2) "
        "AND ($3::uuid IS NULL OR e.id = $3) ORDER BY e.created_at DESC, e.id DESC LIMIT $4",
        merchant_id,
        status,
        event_id,
        limit,
    )
    attempts = await attempts_of(connection, [row["event_id"] for row in rows])
    return [Delivery(**row, attempts=attempts.get(row["event_id"], [])) for row in rows]


async def attempts_of(
    connection: Connection, event_ids: list[UUID]
) -> dict[UUID, list[AttemptMade]]:
    rows = await connection.fetch(
        "SELECT event_id, started_at, duration_ms, url, http_status, error, answer "
        "FROM delivery_attempts WHERE event_id = ANY($1) ORDER BY event_id, lease",
        event_ids,
    )
    found: dict[UUID, list[AttemptMade]] = {}
    for row in rows:
        fields = dict(row)
        found.setdefault(fields.pop("event_id"), []).append(AttemptMade(**fields))
    return found
