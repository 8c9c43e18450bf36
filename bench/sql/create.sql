-- Create a payment: the reads, locks and writes of one such request, in one transaction.
-- The variables that are not set here come from bench/ceilings.py.
\set sent :sent + 1
\set n :client_id * 1000000000 + :sent
\set till random(0, 9)
BEGIN;
SELECT m.secret_digest, d.id, d.merchant_id, d.merchant_name, d.mode, d.fee_bps,
    d.fee_fixed, d.clock_offset_seconds, d.sandbox_account, d.active
FROM merchants m JOIN tenant_details d ON d.merchant_id = m.id AND d.mode = m.mode
WHERE m.secret_digest = decode(:digest, 'hex');
INSERT INTO reference_claims (tenant_id, reference, kind, resource_id)
VALUES (:tenant, :run || '-' || :n::bigint, 'payment', uuidv7()) RETURNING resource_id AS payment
\gset
INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, terminal_label,
    metadata, created_at, expires_at, status)
VALUES (:payment, :tenant, 'hosted', left(:payment, 8) || substr(md5(:payment), 1, 16),
    :run || '-' || :n::bigint,
    12500, 'Two coffees', 'Till ' || :till::bigint, '{}', now(),
    date_trunc('second', now() + interval '1 day'), 'pending');
WITH kept AS (
    INSERT INTO events (id, tenant_id, type, object_id, created_at, body)
    VALUES (uuidv7(), :tenant, 'payment.created', :payment, now(), :event) RETURNING id, tenant_id
), made AS (
    INSERT INTO deliveries (event_id, tenant_id)
    SELECT kept.id, kept.tenant_id FROM kept
    JOIN tenants t ON t.id = kept.tenant_id JOIN merchants m ON m.id = t.merchant_id
    WHERE m.webhooks_enabled AND m.webhook_url IS NOT NULL
    RETURNING 1
)
SELECT 1 FROM made LIMIT 1;
COMMIT;
