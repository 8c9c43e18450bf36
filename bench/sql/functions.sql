-- The work of one request as one function of the server: one round trip, nothing parsed or planned
-- twice. A stronger ceiling than the scripts beside it, which send each statement by itself.
-- The bench alone installs these; the service neither has nor uses them.
CREATE SCHEMA IF NOT EXISTS bench;

-- What every request asks first: who calls.
CREATE OR REPLACE FUNCTION bench.caller(key_digest bytea) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    found record;
BEGIN
    SELECT m.secret_digest, d.id, d.merchant_id, d.merchant_name, d.mode, d.fee_bps,
        d.fee_fixed, d.clock_offset_seconds, d.sandbox_account, d.active
    INTO STRICT found
    FROM merchants m JOIN tenant_details d ON d.merchant_id = m.id AND d.mode = m.mode
    WHERE m.secret_digest = key_digest;
    RETURN found.id;
END $$;

-- The event of a change, and its delivery where the merchant wants one.
CREATE OR REPLACE FUNCTION bench.emit(tenant bigint, event_type text, object uuid, event text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    event_id uuid := uuidv7();
BEGIN
    INSERT INTO events (id, tenant_id, type, object_id, created_at, body)
    VALUES (event_id, tenant, event_type, object, now(), event::bytea);
    INSERT INTO deliveries (event_id, tenant_id)
    SELECT event_id, tenant FROM tenants t JOIN merchants m ON m.id = t.merchant_id
    WHERE t.id = tenant AND m.webhooks_enabled AND m.webhook_url IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION bench.create_payment(
    key_digest text, reference text, till text, event text
) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    tenant bigint := bench.caller(decode(key_digest, 'hex'));
    payment uuid := uuidv7();
BEGIN
    -- The index refuses a reference that is in use, as it does for the service.
    INSERT INTO reference_claims (tenant_id, reference, kind, resource_id)
    VALUES (tenant, reference, 'payment', payment);
    INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, terminal_label,
        metadata, created_at, expires_at, status)
    VALUES (payment, tenant, 'hosted',
        left(payment::text, 8) || substr(md5(payment::text), 1, 16), reference,
        12500, 'Two coffees', till, '{}', now(),
        date_trunc('second', now() + interval '1 day'), 'pending');
    PERFORM bench.emit(tenant, 'payment.created', payment, event);
    RETURN payment;
END $$;

CREATE OR REPLACE FUNCTION bench.charge(
    key_digest text, authorization_id uuid, reference text, event text
) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    tenant bigint := bench.caller(decode(key_digest, 'hex'));
    charged authorizations;
    payer wallets;
    tier_limits tiers;
    payment uuid := uuidv7();
    tid text := upper(substr(payment::text, 5, 4) || substr(md5(payment::text), 1, 12));
    amount constant bigint := 12500;
    fee constant bigint := 188;
    today constant date := now()::date;
    this_week constant date := date_trunc('week', now())::date;
    this_month constant date := date_trunc('month', now())::date;
    spent_today bigint;
    spent_week bigint;
    spent_month bigint;
BEGIN
    SELECT * INTO STRICT charged FROM authorizations a
    WHERE a.id = authorization_id FOR NO KEY UPDATE;
    SELECT * INTO STRICT payer FROM wallets w
    WHERE w.account = charged.account FOR NO KEY UPDATE;
    SELECT * INTO STRICT tier_limits FROM tiers t WHERE t.name = payer.tier;
    PERFORM c.kind, c.resource_id FROM reference_claims c
    WHERE c.tenant_id = tenant AND c.reference = charge.reference;
    IF FOUND THEN
        RAISE EXCEPTION 'reference taken';
    END IF;
    spent_today := amount + CASE WHEN payer.day_start = today THEN payer.day_spent ELSE 0 END;
    spent_week := amount + CASE WHEN payer.week_start = this_week THEN payer.week_spent ELSE 0 END;
    spent_month := amount
        + CASE WHEN payer.month_start = this_month THEN payer.month_spent ELSE 0 END;
    IF charged.status <> 'active' OR charged.tenant_id <> tenant OR payer.balance < amount
        OR charged.per_payment < amount
        OR charged.total < charged.total_paid + amount
        OR charged.max_payments <= charged.payment_count
        OR charged.period_amount < amount
            + (CASE WHEN charged.period_start = this_month THEN charged.period_paid ELSE 0 END)
        OR tier_limits.per_transaction < amount OR tier_limits.daily < spent_today
        OR tier_limits.weekly < spent_week OR tier_limits.monthly < spent_month
    THEN
        RAISE EXCEPTION 'refused';
    END IF;
    INSERT INTO reference_claims (tenant_id, reference, kind, resource_id)
    VALUES (tenant, reference, 'charge', payment);
    INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, metadata,
        created_at, authorization_id, status, fee, paid_at, payment_reference, payer_account)
    VALUES (payment, tenant, 'charge',
        left(payment::text, 8) || substr(md5(payment::text), 1, 16), reference, amount,
        'Two coffees', '{}', now(), charged.id, 'paid', fee, now(), tid, payer.account);
    UPDATE authorizations a SET payment_count = a.payment_count + 1,
        total_paid = a.total_paid + amount, period_start = this_month,
        period_paid = amount
            + CASE WHEN a.period_start = this_month THEN a.period_paid ELSE 0 END,
        last_used_at = now(), updated_at = now()
    WHERE a.id = charged.id;
    UPDATE wallets w SET balance = w.balance - amount, day_start = today,
        day_spent = spent_today, week_start = this_week, week_spent = spent_week,
        month_start = this_month, month_spent = spent_month
    WHERE w.account = payer.account;
    INSERT INTO transfers
        (id, kind, debit_account, credit_account, amount, payment_id, tid, created_at)
    VALUES (uuidv7(), 'payment', payer.account, 1000000000 + tenant, amount, payment, tid, now()),
        (uuidv7(), 'fee', 1000000000 + tenant, 1, fee, payment, tid, now());
    INSERT INTO transactions (tid, account, time, type, name, details, amount, status)
    VALUES (tid, payer.account, now(), 'payment', 'Bench', 'Two coffees', -amount, 'success');
    PERFORM bench.emit(tenant, 'payment.paid', payment, event);
    RETURN payment;
END $$;
