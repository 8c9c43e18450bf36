-- Charge an authorization: the reads, locks and writes of one such request, in one transaction.
-- The variables that are not set here come from bench/ceilings.py.
\set sent :sent + 1
\set n :client_id * 1000000000 + :sent
\set a random(1, :authorizations)
BEGIN;
SELECT m.secret_digest, d.id, d.merchant_id, d.merchant_name, d.mode, d.fee_bps,
    d.fee_fixed, d.clock_offset_seconds, d.sandbox_account, d.active
FROM merchants m JOIN tenant_details d ON d.merchant_id = m.id AND d.mode = m.mode
WHERE m.secret_digest = decode(:digest, 'hex');
SELECT id AS authorization, tenant_id, token, reference, title, description, type, currency,
    per_payment, period_interval, period_amount, total, max_payments, return_url, created_at,
    approval_expires_at, expires_at, status, account, payment_count, total_paid, period_start,
    period_paid, approved_at, rejected_at, revoked_at, cancelled_at, last_used_at, updated_at
FROM authorizations
WHERE id = (lpad(to_hex(:first_ms::bigint), 12, '0') || lpad(to_hex(:a::bigint), 20, '0'))::uuid
FOR NO KEY UPDATE
\gset
SELECT name, per_transaction, daily, weekly, monthly FROM tiers;
SELECT account, customer_id, mode, tier, balance, day_start, day_spent, week_start, week_spent,
    month_start, month_spent
FROM wallets WHERE account = :account FOR NO KEY UPDATE;
SELECT tenant_id, reference, kind, resource_id FROM reference_claims
WHERE tenant_id = :tenant AND reference = :run || '-' || :n::bigint;
INSERT INTO reference_claims (tenant_id, reference, kind, resource_id)
VALUES (:tenant, :run || '-' || :n::bigint, 'charge', uuidv7()) RETURNING resource_id AS payment
\gset
INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, metadata, created_at,
    authorization_id, status, fee, paid_at, payment_reference, payer_account)
VALUES (:payment, :tenant, 'charge', left(:payment, 8) || substr(md5(:payment), 1, 16),
    :run || '-' || :n::bigint,
    12500, 'Two coffees', '{}', now(), :authorization, 'paid', 188, now(),
    upper(substr(:payment, 5, 4) || substr(md5(:payment), 1, 12)), :account);
UPDATE authorizations SET payment_count = payment_count + 1, total_paid = total_paid + 12500,
    period_start = date_trunc('month', now())::date, period_paid = period_paid + 12500,
    last_used_at = now(), updated_at = now()
WHERE id = :authorization;
UPDATE wallets SET balance = balance - 12500, day_start = now()::date,
    day_spent = day_spent + 12500, week_start = date_trunc('week', now())::date,
    week_spent = week_spent + 12500, month_start = date_trunc('month', now())::date,
    month_spent = month_spent + 12500
WHERE account = :account;
INSERT INTO transfers (id, kind, debit_account, credit_account, amount, payment_id, tid, created_at)
VALUES (uuidv7(), 'payment', :account, 1000000000 + :tenant::bigint, 12500, :payment,
        upper(substr(:payment, 5, 4) || substr(md5(:payment), 1, 12)), now()),
    (uuidv7(), 'fee', 1000000000 + :tenant::bigint, 1, 188, :payment,
        upper(substr(:payment, 5, 4) || substr(md5(:payment), 1, 12)), now());
INSERT INTO transactions (tid, account, time, type, name, details, amount, status)
VALUES (upper(substr(:payment, 5, 4) || substr(md5(:payment), 1, 12)), :account, now(), 'payment',
    'Bench', 'Two coffees', -12500, 'success');
WITH kept AS (
    INSERT INTO events (id, tenant_id, type, object_id, created_at, body)
    VALUES (uuidv7(), :tenant, 'payment.paid', :payment, now(), :event) RETURNING id, tenant_id
), made AS (
    INSERT INTO deliveries (event_id, tenant_id)
    SELECT kept.id, kept.tenant_id FROM kept
    JOIN tenants t ON t.id = kept.tenant_id JOIN merchants m ON m.id = t.merchant_id
    WHERE m.webhooks_enabled AND m.webhook_url IS NOT NULL
    RETURNING 1
)
SELECT 1 FROM made LIMIT 1;
COMMIT;
