"""Fills a merchant's sandbox with payments in bulk."""

from __future__ import annotations

import asyncio

import asyncpg

# A year of payments, oldest first: most of them paid, some of every other status, ten tills, a bill
# number for one in three. Pending ones run out after a day, so all but the newest are overdue.
_PAYMENTS = """
INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, terminal_label,
    bill_number, metadata, created_at, expires_at, status, fee, paid_at, payment_reference,
    payer_account, cancelled_at, rejected_at, refunded_at)
SELECT (lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0')
           || substr(md5(n::text), 1, 20))::uuid, tenant, 'hosted', substr(md5('t' || n), 1, 22),
       'fill-' || n, 100 + n % 50000, 'Order ' || n, 'Till ' || n % 10,
       CASE WHEN n % 3 = 0 THEN 'B-' || n / 30 END, '{}', made, made + interval '1 day', status,
       CASE WHEN settled THEN 1 END, CASE WHEN settled THEN made + interval '1 minute' END,
       CASE WHEN settled THEN 'F' || lpad(n::text, 15, '0') END,
       CASE WHEN settled THEN 7700000000001 END,
       CASE WHEN status = 'cancelled' THEN made END, CASE WHEN status = 'rejected' THEN made END,
       CASE WHEN status = 'refunded' THEN made + interval '1 hour' END
FROM (
    SELECT n, $1::bigint AS tenant, now() - ($2 - n) * (interval '365 days' / $2) AS made,
           (ARRAY['paid', 'paid', 'paid', 'paid', 'paid', 'paid', 'pending', 'expired',
                  'cancelled', CASE WHEN n % 100 = 9 THEN 'refunded' ELSE 'rejected' END])
               [1 + n % 10] AS status
    FROM generate_series(1, $2) AS n
) AS filled, LATERAL (SELECT status IN ('paid', 'refunded') AS settled) AS s
"""


async def fill_payments(dsn: str, merchant_id: str, count: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        tenant = await connection.fetchval(
            "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'sandbox'", merchant_id
        )
        await connection.execute(_PAYMENTS, tenant, count, timeout=600)
        await connection.execute("VACUUM ANALYZE payments", timeout=600)
    finally:
        await connection.close()


def fill(dsn: str, merchant_id: str, count: int) -> None:
    asyncio.run(fill_payments(dsn, merchant_id, count))
