"""The state of the service for the person on call, as a page and as metrics."""

from datetime import datetime

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records import Mode
from laari.store.reads import deliveries, messages

MAX_COUNTED = 10_000
MOST_MERCHANTS = 50
MOST_PENDING = 2_000  # deliveries that are looked at for merchants with failures


class FailingMerchant(Struct, frozen=True):
    """A merchant whose webhooks fail now."""

    merchant_id: str
    name: str
    mode: Mode
    waiting: int
    most_attempts: int


class Noted(Struct, frozen=True):
    """What commands and the background process have noted; None if it never happened."""

    deliveries_failed: int
    messages_failed: int
    last_seal_number: int | None
    last_seal_at: datetime | None
    last_audit_at: datetime | None
    last_audit_ok: bool | None
    last_backup_at: datetime | None


class Health(Struct, frozen=True):
    deliveries_waiting: int
    deliveries_oldest_seconds: float
    messages_waiting: int
    messages_oldest_seconds: float
    noted: Noted
    failing: list[FailingMerchant]


async def noted(connection: Connection) -> Noted:
    row = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'failed' "
        f"LIMIT {MAX_COUNTED}) AS d), (SELECT count(*) FROM (SELECT FROM messages "
        f"WHERE status = 'failed' LIMIT {MAX_COUNTED}) AS m), s.number, s.sealed_at, "
        "i.last_audit_at, i.last_audit_ok, i.last_backup_at "
        "FROM (SELECT true) AS one LEFT JOIN installation i ON true LEFT JOIN LATERAL "
        "(SELECT number, sealed_at FROM seals ORDER BY number DESC LIMIT 1) AS s ON true"
    )
    return Noted(*row)


async def read(connection: Connection) -> Health:
    rows = await connection.fetch(
        "SELECT d.merchant_id, d.merchant_name, d.mode, count(*), max(p.failed_attempts) "
        "FROM (SELECT tenant_id, failed_attempts FROM deliveries WHERE status = 'pending' "
        f"AND failed_attempts > 0 LIMIT {MOST_PENDING}) AS p "
        "JOIN tenant_details d ON d.id = p.tenant_id GROUP BY 1, 2, 3 "
        f"ORDER BY 4 DESC, 1 LIMIT {MOST_MERCHANTS}"
    )
    return Health(
        *await deliveries.backlog(connection),
        *await messages.backlog(connection),
        await noted(connection),
        [FailingMerchant(*row) for row in rows],
    )
