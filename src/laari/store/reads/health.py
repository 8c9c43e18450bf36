"""The state of the service for the person on call, as a page and as metrics."""

import time
from datetime import UTC, datetime

from asyncpg import Connection

from laari.rules.health import FailingMerchant, Health, Noted, ServiceProcess
from laari.store.reads import messages, webhook_states

EPOCH = datetime.fromtimestamp(0, UTC)
MAX_COUNTED = 10_000
MOST_MERCHANTS = 50
MOST_PENDING = 2_000  # deliveries that are looked at for merchants with failures


async def noted(connection: Connection) -> Noted:
    row = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM (SELECT FROM deliveries WHERE status = 'failed' "
        f"LIMIT {MAX_COUNTED}) AS d) AS deliveries_failed, "
        "(SELECT count(*) FROM (SELECT FROM messages "
        f"WHERE status = 'failed' LIMIT {MAX_COUNTED}) AS m) AS messages_failed, "
        f"({messages.SMS_OF_LAST_HOUR}) AS sms_of_last_hour, "
        "s.number AS last_seal_number, s.sealed_at AS last_seal_at, "
        "coalesce(i.created_at, now()) AS installed_at, "
        "i.last_audit_at, i.last_audit_ok, i.last_backup_at "
        "FROM (SELECT true) AS one LEFT JOIN installation i ON true LEFT JOIN LATERAL "
        "(SELECT number, sealed_at FROM seals ORDER BY number DESC LIMIT 1) AS s ON true"
    )
    return Noted(**row)


async def unsealed_seconds(connection: Connection) -> float:
    """The age of the oldest live event after the last seal of events; 0 if there is none.

    Every live payment writes an event. One look-up for each live tenant keeps a scrape cheap,
    however many events a sandbox has.
    """
    sealed_at = await connection.fetchval(
        "SELECT sealed_at FROM seals WHERE subject = 'events' ORDER BY number DESC LIMIT 1"
    )
    oldest: datetime | None = await connection.fetchval(
        "SELECT min(e.created_at) FROM tenants t CROSS JOIN LATERAL (SELECT created_at FROM events "
        "WHERE tenant_id = t.id AND created_at > $1 ORDER BY created_at LIMIT 1) AS e "
        "WHERE t.mode = 'live'",
        sealed_at or EPOCH,
    )
    return 0.0 if oldest is None else max(0.0, time.time() - oldest.timestamp())


async def read(connection: Connection) -> Health:
    rows = await connection.fetch(
        "SELECT d.merchant_id, d.merchant_name AS name, d.mode, count(*) AS waiting, "
        "max(p.failed_attempts) AS most_attempts "
        "FROM (SELECT tenant_id, failed_attempts FROM deliveries WHERE status = 'pending' "
        f"AND failed_attempts > 0 LIMIT {MOST_PENDING}) AS p "
        "JOIN tenant_details d ON d.id = p.tenant_id GROUP BY 1, 2, 3 "
        f"ORDER BY 4 DESC, 1 LIMIT {MOST_MERCHANTS}"
    )
    processes = await connection.fetch(
        "SELECT split_part(application_name, ' ', 2) AS role, "
        "split_part(application_name, ' ', 3) AS pid, "
        "split_part(application_name, ' ', 4) AS machine, "
        "min(backend_start) AS connected_at, max(state_change) AS last_used_at "
        "FROM pg_stat_activity WHERE datname = current_database() AND state_change IS NOT NULL "
        "AND application_name LIKE 'laari % % %' GROUP BY 1, 2, 3 ORDER BY 3, 1, 2"
    )
    deliveries_waiting, deliveries_oldest_seconds = await webhook_states.backlog(connection)
    messages_waiting, messages_oldest_seconds = await messages.backlog(connection)
    return Health(
        deliveries_waiting=deliveries_waiting,
        deliveries_oldest_seconds=deliveries_oldest_seconds,
        messages_waiting=messages_waiting,
        messages_oldest_seconds=messages_oldest_seconds,
        noted=await noted(connection),
        failing=[FailingMerchant(**row) for row in rows],
        processes=[ServiceProcess(**row) for row in processes],
    )
