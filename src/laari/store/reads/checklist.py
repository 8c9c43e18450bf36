"""What a shop has done before it takes real money, read from the data itself."""

from typing import NamedTuple

from asyncpg import Connection

NEWEST_EVENTS = 100  # of each mode: an answer to an older one says little about the receiver


class Checklist(NamedTuple):
    sandbox_payment: bool
    webhook: bool  # the present address has answered an event with 2xx
    bank_account: bool  # for live payouts
    live_payment: bool
    applied: bool  # an application to go live waits
    refused: str | None  # the reason of the operator, if the last application was refused


async def of_merchant(connection: Connection, merchant_id: str) -> Checklist:
    row = await connection.fetchrow(
        "WITH own AS (SELECT id, mode, EXISTS (SELECT FROM payments p WHERE p.tenant_id = t.id "
        "AND p.paid_at IS NOT NULL) AS paid FROM tenants t WHERE merchant_id = $1) "
        "SELECT coalesce(bool_or(paid) FILTER (WHERE mode = 'sandbox'), false) AS sandbox_payment, "
        "EXISTS (SELECT FROM merchants m CROSS JOIN own CROSS JOIN LATERAL (SELECT e.id "
        "FROM events e WHERE e.tenant_id = own.id ORDER BY e.created_at DESC, e.id DESC "
        f"LIMIT {NEWEST_EVENTS}) AS newest JOIN delivery_attempts a ON a.event_id = newest.id "
        "WHERE m.id = $1 AND a.url = m.webhook_url AND a.http_status BETWEEN 200 AND 299) "
        "AS webhook, "
        "EXISTS (SELECT FROM bank_accounts b JOIN own ON own.id = b.tenant_id "
        "WHERE own.mode = 'live') AS bank_account, "
        "coalesce(bool_or(paid) FILTER (WHERE mode = 'live'), false) AS live_payment, "
        "EXISTS (SELECT FROM applications WHERE merchant_id = $1 AND status = 'submitted') "
        "AS applied, (SELECT reason FROM (SELECT status, reason FROM applications "
        "WHERE merchant_id = $1 ORDER BY submitted_at DESC, id DESC LIMIT 1) AS newest "
        "WHERE status = 'refused') AS refused FROM own",
        merchant_id,
    )
    return Checklist(**row)
