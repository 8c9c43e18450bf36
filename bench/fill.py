"""Fills the database in bulk, with books that `laari audit` finds in order.

A year of hosted payments of one live merchant, oldest first, paid by a hundred thousand customers,
and active authorizations of the first ten thousand of them. Ids follow from a row's number, so that
pgbench can name a row without asking for it.

Not filled: saved responses and deliveries.
"""

import asyncio
import time
from collections.abc import Callable
from string import Template
from typing import NamedTuple, TypeAlias

import asyncpg

from bench.indexes import STATEMENT_SECONDS, name_of, without_indexes
from laari.store.audit.covered import TABLES
from laari.store.reads.people.wallet_keys import key_digest

TOPUP = 10**12  # laari in each wallet: enough for every charge of a run
FEE_BPS = 150
YEAR_MS = 365 * 24 * 3600 * 1000
_SESSION = {
    "synchronous_commit": "off",
    "session_replication_role": "replica",
    "work_mem": "256MB",
}
TELL_SECONDS = 5  # between one sign of progress and the next

Tell: TypeAlias = Callable[[str], None]


class Size(NamedTuple):
    payments: int = 1_000_000
    customers: int = 100_000
    authorizations: int = 10_000
    bodies: bool = True  # of events; without them a payment takes little more than half the room


class Filled(NamedTuple):
    """What is needed to name the rows that were filled."""

    size: Size
    tenant: int
    first_ms: int  # payment n was made n steps after this moment
    step_ms: int
    first_account: int  # customer n has the account n numbers after this one
    xid: int  # the transaction that all of it is said to be written by

    def payment_id(self, n: int) -> str:
        return f"pay_{self.first_ms + n * self.step_ms:012x}{n:020x}"

    def authorization_id(self, n: int) -> str:
        return f"auth_{self.first_ms:012x}{n:020x}"

    def token(self, n: int) -> str:
        return f"bench-{n:016d}"

    def wallet_key(self, n: int) -> str:
        return f"wk_bench-{n}"


# Rows made outside of `payments`, whose own columns say what they have to be.
_CUSTOMERS = """
INSERT INTO customers (id, name, mode, mobile, email, vpa)
SELECT (lpad(to_hex($first_ms), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid, 'Customer ' || n,
    'live', (7000000 + n)::text, 'customer' || n || '@example.com', 'customer' || n
FROM generate_series(1, $customers) AS n
"""
_PAYMENTS = """
INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, terminal_label,
    bill_number, metadata, created_at, expires_at, status, fee, paid_at, payment_reference,
    payer_account, cancelled_at, rejected_at, refunded_at, refunded_amount)
SELECT (lpad(to_hex(ms), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid, $tenant, 'hosted',
    'bench-' || lpad(n::text, 16, '0'), 'fill-' || n, amount, 'Order ' || n, 'Till ' || n % 10,
    CASE WHEN n % 3 = 0 THEN 'B-' || n / 30 END, '{}', made, made + interval '1 day', status,
    CASE WHEN settled THEN (amount * 150 + 5000) / 10000 END,
    CASE WHEN settled THEN made + interval '1 minute' END,
    CASE WHEN settled THEN 'F' || lpad(n::text, 15, '0') END,
    CASE WHEN settled THEN $first_account + 1 + n % $customers END,
    CASE WHEN status = 'cancelled' THEN made END, CASE WHEN status = 'rejected' THEN made END,
    CASE WHEN status = 'refunded' THEN made + interval '1 hour' END,
    CASE WHEN status = 'refunded' THEN amount END
FROM (
    SELECT n, $first_ms + n * $step_ms AS ms, 100 + n % 50000 AS amount,
        to_timestamp(($first_ms + n * $step_ms) / 1000.0) AS made
    FROM generate_series(1, $payments) AS n
) AS numbered,
-- Six in ten paid. Pending ones are younger than a day, but for one in a hundred that nobody has
-- read since it ran out.
LATERAL (SELECT CASE n % 10
    WHEN 6 THEN CASE WHEN n % 100 = 6 OR made > now() - interval '1 day' THEN 'pending'
        ELSE 'expired' END
    WHEN 7 THEN 'expired' WHEN 8 THEN 'cancelled'
    WHEN 9 THEN CASE WHEN n % 100 = 9 THEN 'refunded' ELSE 'rejected' END
    ELSE 'paid' END AS status) AS chosen,
LATERAL (SELECT status IN ('paid', 'refunded') AS settled) AS decided
"""
_CLAIMS = """
INSERT INTO reference_claims (tenant_id, reference, kind, resource_id)
SELECT $tenant, reference, 'payment', id FROM payments ORDER BY reference
"""
_BODY = """convert_to(format(
    '{"id":"evt_%s","type":"%s","payload_version":1,"mode":"active","created_at":"%s","data":{'
    '"id":"pay_%s","reference":"%s","amount":%s,"fee":%s,"net_amount":%s,"title":"%s",'
    '"description":null,"terminal_label":"%s","bill_number":%s,"status":"%s",'
    '"payment_url":"http://bench.test/pay/%s","payment_reference":%s,'
    '"qr_url":"http://bench.test/merchant/public/qr/%s","return_url":null,"created_at":"%s",'
    '"paid_at":%s,"expires_at":"%s","metadata":{}}}',
    replace(id::text, '-', ''), type, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    replace(object_id::text, '-', ''), reference, amount, coalesce(fee::text, 'null'),
    coalesce((amount - fee)::text, 'null'), title, terminal_label,
    coalesce('"' || bill_number || '"', 'null'), status, token,
    coalesce('"' || payment_reference || '"', 'null'), token,
    to_char(created_at AT TIME ZONE interval '5 hours', 'YYYY-MM-DD"T"HH24:MI:SS"+05:00"'),
    coalesce('"' || to_char(paid_at AT TIME ZONE interval '5 hours',
        'YYYY-MM-DD"T"HH24:MI:SS"+05:00"') || '"', 'null'),
    to_char(expires_at AT TIME ZONE interval '5 hours', 'YYYY-MM-DD"T"HH24:MI:SS"+05:00"')
), 'UTF8')"""
_EVENTS = """
INSERT INTO events (xid, id, tenant_id, type, object_id, created_at, body)
SELECT $xid, id, $tenant, type, object_id, at, $body
FROM (
    SELECT overlay(id::text PLACING '1' FROM 15 FOR 1)::uuid AS id, 'payment.created' AS type,
        id AS object_id, created_at AS at, 'pending' AS status, NULL::bigint AS fee,
        NULL::timestamptz AS paid_at, NULL::text AS payment_reference, reference, amount, title,
        terminal_label, bill_number, token, created_at, expires_at
    FROM payments
    UNION ALL
    SELECT overlay(id::text PLACING '2' FROM 15 FOR 1)::uuid,
        CASE status WHEN 'cancelled' THEN 'payment.cancelled' WHEN 'expired' THEN 'payment.expired'
            ELSE 'payment.paid' END, id, coalesce(paid_at, cancelled_at, expires_at),
        CASE status WHEN 'refunded' THEN 'paid' ELSE status END, fee, paid_at, payment_reference,
        reference, amount, title, terminal_label, bill_number, token, created_at, expires_at
    FROM payments WHERE status IN ('paid', 'refunded', 'cancelled', 'expired')
) AS happened
"""
_AUTHORIZATIONS = """
INSERT INTO authorizations (id, tenant_id, token, reference, title, type, currency, per_payment,
    period_interval, period_amount, total, created_at, approval_expires_at, status, account,
    payment_count, total_paid, period_paid, approved_at, updated_at)
SELECT (lpad(to_hex($first_ms), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid, $tenant,
    'bench-' || lpad(n::text, 16, '0'), 'fill-' || n, 'Subscription', 'recurring', 'MVR',
    1000000, 'month', 100000000000000, 1000000000000000, now(), now() + interval '1 day',
    'active', $first_account + n, 0, 0, 0, now(), now()
FROM generate_series(1, $authorizations) AS n
"""
_AUTHORIZATION_EVENTS = """
INSERT INTO events (xid, id, tenant_id, type, object_id, created_at, body)
SELECT $xid, event_id, $tenant, type, id, created_at, convert_to(format(
    '{"id":"evt_%s","type":"%s","payload_version":1,"mode":"active","created_at":"%s","data":{'
    '"id":"auth_%s","reference":"%s","title":"%s","description":null,"type":"%s","currency":"MVR",'
    '"limits":{"per_payment":%s,"period":{"interval":"%s","amount":%s},"total":%s,'
    '"max_payments":null},"usage":{"payment_count":0,"total_paid":0},"status":"%s",'
    '"approval_url":"http://bench.test/approve/%s","approval_expires_at":"%s","expires_at":null,'
    '"return_url":null,"approved_at":%s,"rejected_at":null,"revoked_at":null,"last_used_at":null,'
    '"created_at":"%s","updated_at":"%s"}}',
    replace(event_id::text, '-', ''), type,
    to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    replace(id::text, '-', ''), reference, title, kind, per_payment, period_interval,
    period_amount, total, status, token,
    to_char(approval_expires_at AT TIME ZONE interval '5 hours', 'YYYY-MM-DD"T"HH24:MI:SS"+05:00"'),
    CASE status WHEN 'active' THEN '"' || shown || '"' ELSE 'null' END, shown, shown
), 'UTF8')
FROM (
    SELECT overlay(a.id::text PLACING e.digit FROM 15 FOR 1)::uuid AS event_id, e.type, e.status,
        a.type AS kind, id, created_at, reference, title, per_payment, period_interval,
        period_amount, total, token, approval_expires_at,
        to_char(created_at AT TIME ZONE interval '5 hours', 'YYYY-MM-DD"T"HH24:MI:SS"+05:00"')
            AS shown
    FROM authorizations a, (VALUES ('3', 'authorization.created', 'pending'),
        ('4', 'authorization.approved', 'active')) AS e (digit, type, status)
) AS happened
"""
_TRANSFERS = """
INSERT INTO transfers (xid, id, kind, debit_account, credit_account, amount, payment_id, tid,
    created_at)
SELECT $xid, uuidv7(), 'topup', 3, $first_account + n, $topup, NULL, 'T' || lpad(n::text, 15, '0'),
    to_timestamp($first_ms / 1000.0) FROM generate_series(1, $customers) AS n
UNION ALL
SELECT $xid, uuidv7(), m.kind, m.debit, m.credit, m.amount, p.id, m.tid, m.at
FROM payments p, LATERAL (VALUES
    ('payment', p.payer_account, 1000000000 + $tenant, p.amount, p.payment_reference, p.paid_at),
    ('fee', 1000000000 + $tenant, 1, p.fee, p.payment_reference, p.paid_at),
    ('refund', 1000000000 + $tenant, p.payer_account, p.amount,
        overlay(p.payment_reference PLACING 'R' FROM 1), p.refunded_at)
) AS m (kind, debit, credit, amount, tid, at)
WHERE p.paid_at IS NOT NULL AND m.at IS NOT NULL
"""
_REFUNDS = """
INSERT INTO refunds (xid, id, tenant_id, payment_id, amount, actor_kind, actor_name, tid,
    created_at)
SELECT $xid, uuidv7(), $tenant, id, amount, 'service', 'bench',
    overlay(payment_reference PLACING 'R' FROM 1), refunded_at
FROM payments WHERE refunded_at IS NOT NULL
"""
_REFUND_EVENTS = """
INSERT INTO events (xid, id, tenant_id, type, object_id, created_at, body)
SELECT $xid, e.id, $tenant, 'payment.refunded', r.id, r.created_at,
    convert_to(json_build_object('id', 'evt_' || replace(e.id::text, '-', ''),
        'type', 'payment.refunded', 'payload_version', 1, 'mode', 'active',
        'created_at', to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'data', json_build_object('id', 'rfd_' || replace(r.id::text, '-', ''),
            'payment_id', 'pay_' || replace(p.id::text, '-', ''), 'amount', r.amount,
            'reason', NULL, 'note', NULL,
            'created_at', to_char(r.created_at AT TIME ZONE interval '5 hours',
                'YYYY-MM-DD"T"HH24:MI:SS"+05:00"'),
            'payment', json_build_object('id', 'pay_' || replace(p.id::text, '-', ''),
                'reference', p.reference, 'amount', p.amount, 'fee', p.fee, 'title', p.title,
                'payment_reference', p.payment_reference, 'status', 'refunded'))
    )::text, 'UTF8')
FROM payments p JOIN refunds r ON r.payment_id = p.id
CROSS JOIN LATERAL (
    SELECT overlay(p.id::text PLACING '5' FROM 15 FOR 1)::uuid AS id
) AS e
"""
_FUNDS = """
UPDATE merchant_funds SET refunded_fees =
    (SELECT coalesce(sum(fee), 0) FROM payments WHERE refunded_at IS NOT NULL)
WHERE tenant_id = $tenant
"""
_TRANSACTIONS = """
INSERT INTO transactions (xid, tid, account, time, type, name, details, amount, status)
SELECT $xid, tid, CASE WHEN kind = 'payment' THEN debit_account ELSE credit_account END,
    created_at, kind,
    CASE WHEN kind = 'topup' THEN 'Top-up' ELSE 'Bench' END, 'Order',
    CASE WHEN kind = 'payment' THEN -amount ELSE amount END, 'success'
FROM transfers WHERE kind <> 'fee' AND greatest(debit_account, credit_account) > $first_account
ORDER BY created_at
"""
# What was spent in the running periods; a week begins on Sunday. Payments are in order of time.
_WALLETS = """
INSERT INTO wallets (account, customer_id, mode, tier, balance, day_start, day_spent, week_start,
    week_spent, month_start, month_spent)
SELECT account,
    (lpad(to_hex($first_ms), 12, '0') || lpad(to_hex(account - $first_account), 20, '0'))::uuid,
    'live', 'business', sum(amount), coalesce(max(last_day), '1970-01-01'),
    coalesce(sum(-amount) FILTER (WHERE day = last_day), 0),
    coalesce(max(last_week), '1970-01-01'),
    coalesce(sum(-amount) FILTER (WHERE day >= last_week), 0),
    coalesce(max(last_month), '1970-01-01'),
    coalesce(sum(-amount) FILTER (WHERE day >= last_month), 0)
FROM (
    SELECT *, last_day - extract(dow FROM last_day)::int AS last_week,
        date_trunc('month', last_day)::date AS last_month
    FROM (
        SELECT *, max(day) OVER (PARTITION BY account) AS last_day FROM (
            SELECT account, amount, CASE WHEN type = 'payment'
                THEN (time AT TIME ZONE interval '5 hours')::date END AS day
            FROM transactions WHERE account > $first_account
        ) AS dated
    ) AS known
) AS spent GROUP BY account
"""
_TABLES = (
    "customers",
    "wallets",
    "wallet_keys",
    "payments",
    "reference_claims",
    "events",
    "authorizations",
    "transfers",
    "transactions",
)
# Two lines of work at a time, for two processors; a line starts when the one before has ended.


def _watched(table: str) -> str:
    journal = TABLES[table].journal
    assert journal is not None
    return f"ARRAY{journal.columns.split()}"


# As the triggers write it, which are off here: the audit compares all settings with it.
_JOURNAL = f"""
INSERT INTO journal (xid, time, actor_kind, actor_name, action, object_type, object_id, mode, after)
SELECT $xid, now(), 'service', 'bench', 'customer.create', kind, object_id, 'live', state::text
FROM (
    SELECT 'customer', 'cus_' || encode(uuid_send(id), 'hex'), journal_state(to_jsonb(c),
        {_watched("customers")})
    FROM customers c WHERE c.mode = 'live'
    UNION ALL SELECT 'wallet', account::text, journal_state(to_jsonb(w),
        {_watched("wallets")})
    FROM wallets w WHERE w.account > $first_account
    UNION ALL SELECT 'wallet_key', encode(digest, 'hex'), journal_state(to_jsonb(k),
        {_watched("wallet_keys")})
    FROM wallet_keys k WHERE k.account > $first_account
) AS made (kind, object_id, state)
"""
_STAGES: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((_PAYMENTS,), (_CUSTOMERS, _AUTHORIZATIONS)),
    ((_CLAIMS, _EVENTS, _AUTHORIZATION_EVENTS), (_TRANSFERS, _TRANSACTIONS, _WALLETS)),
    ((_REFUNDS, _REFUND_EVENTS, _JOURNAL), (_FUNDS,)),
)


def fill(
    dsn: str,
    merchant_id: str,
    size: Size,
    tell: Tell = lambda text: None,
    master_key: bytes = bytes(32),
) -> tuple[Filled, float]:
    """Fills what the merchant's live mode holds; returns how to name it and how long it took.

    With another master key than the service's, its wallet keys do not open anything.
    """
    return asyncio.run(_fill(dsn, merchant_id, size, tell, master_key))


async def _fill(
    dsn: str, merchant_id: str, size: Size, tell: Tell, master_key: bytes
) -> tuple[Filled, float]:
    began = last = time.monotonic()

    def told(text: str) -> None:
        nonlocal last
        if time.monotonic() - last > TELL_SECONDS:
            last = time.monotonic()
            tell(f"{text}, {last - began:.0f} s")

    main = await asyncpg.connect(dsn, timeout=60)
    # All rows are said to be written by one transaction, which ends when they are all there: what
    # is sealed and added up meanwhile ends before it.
    writer = await asyncpg.connect(dsn, timeout=60)
    writing = writer.transaction()
    await writing.start()
    xid = await writer.fetchval("SELECT pg_current_xact_id()::text::bigint")
    try:
        filled = await _plan(main, merchant_id, size, xid)
        async with without_indexes(main, dsn, list(_TABLES), told):
            await _add_keys(dsn, filled, master_key)
            for stage in _STAGES:
                await asyncio.gather(*(_work(dsn, line, filled, told) for line in stage))
        await writing.commit()
        await main.execute("VACUUM (ANALYZE, PARALLEL 0)", timeout=STATEMENT_SECONDS)
        told("vacuumed")
        await main.execute("CHECKPOINT", timeout=STATEMENT_SECONDS)
    finally:
        await writer.close()
        await main.close()
    return filled, time.monotonic() - began


async def _plan(connection: asyncpg.Connection, merchant_id: str, size: Size, xid: int) -> Filled:
    tenant = await connection.fetchval(
        "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'live'", merchant_id
    )
    first_account = await connection.fetchval("SELECT nextval('wallet_accounts')")
    await connection.fetchval(
        "SELECT setval('wallet_accounts', $1)", first_account + size.customers + 1
    )
    step_ms = YEAR_MS // size.payments
    first_ms = int(time.time() * 1000) - step_ms * (size.payments + 1)
    return Filled(size, tenant, first_ms, step_ms, first_account, xid)


async def _add_keys(dsn: str, filled: Filled, master_key: bytes) -> None:
    """Only the service can compute what is stored of a key."""
    keys = [
        (key_digest(master_key, filled.wallet_key(n)), filled.first_account + n, "Bench")
        for n in range(1, filled.size.customers + 1)
    ]
    connection = await asyncpg.connect(dsn, server_settings=_SESSION)
    try:
        await connection.copy_records_to_table(
            "wallet_keys", records=keys, columns=("digest", "account", "name")
        )
    finally:
        await connection.close()


async def _work(dsn: str, statements: tuple[str, ...], filled: Filled, told: Tell) -> None:
    numbers = {**filled._asdict(), **filled.size._asdict(), "topup": TOPUP}
    del numbers["size"], numbers["bodies"]
    values = {name: f"{value}::bigint" for name, value in numbers.items()}
    values["body"] = _BODY if filled.size.bodies else "'{}'::bytea"
    connection = await asyncpg.connect(dsn, server_settings=_SESSION)
    try:
        for statement in statements:
            command = Template(statement).substitute(values)
            await connection.execute(command, timeout=STATEMENT_SECONDS)
            told(name_of(statement))
    finally:
        await connection.close()
