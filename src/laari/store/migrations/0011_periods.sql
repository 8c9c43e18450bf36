-- What a sandbox's wallets (by their customer) and authorizations counted in periods that they have left.
-- A sandbox's clock may be moved back into them. Live rows only ever go forward and need none of it.
CREATE TABLE sandbox_periods (
    owner uuid NOT NULL,
    unit text NOT NULL CHECK (unit IN ('day', 'week', 'month', 'year')),
    start date NOT NULL,
    spent numeric NOT NULL CHECK (spent > 0),
    PRIMARY KEY (owner, unit, start)
);

-- How far the sandbox's clock was moved when a row last counted: another offset now means that the
-- clock was moved, and not that two servers' clocks differ.
ALTER TABLE wallets ADD COLUMN counted_offset_seconds bigint NOT NULL DEFAULT 0;
ALTER TABLE authorizations ADD COLUMN counted_offset_seconds bigint NOT NULL DEFAULT 0;

UPDATE wallets w SET counted_offset_seconds = t.clock_offset_seconds
FROM customers c JOIN tenants t ON t.id = c.sandbox_of
WHERE c.id = w.customer_id AND t.clock_offset_seconds <> 0;

UPDATE authorizations a SET counted_offset_seconds = t.clock_offset_seconds
FROM tenants t WHERE t.id = a.tenant_id AND t.clock_offset_seconds <> 0;

-- The sums so far, from the history; a week begins on Sunday.
INSERT INTO sandbox_periods (owner, unit, start, spent)
SELECT s.customer_id, p.unit, p.start, sum(s.spent)
FROM (
    SELECT w.customer_id, (x.time AT TIME ZONE interval '5 hours')::date AS day,
        -x.amount AS spent
    FROM transactions x JOIN wallets w ON w.account = x.account AND w.mode = 'sandbox'
    WHERE x.type = 'payment' AND x.status = 'success'
) s
CROSS JOIN LATERAL (
    VALUES ('day', s.day),
        ('week', s.day - extract(dow FROM s.day)::int),
        ('month', date_trunc('month', s.day)::date)
) p (unit, start)
GROUP BY 1, 2, 3;

INSERT INTO sandbox_periods (owner, unit, start, spent)
SELECT s.id, s.unit, CASE s.unit
        WHEN 'day' THEN s.day
        WHEN 'week' THEN s.day - extract(dow FROM s.day)::int
        ELSE date_trunc(s.unit, s.day)::date
    END, sum(s.amount)
FROM (
    SELECT a.id, a.period_interval AS unit, p.amount,
        (p.paid_at AT TIME ZONE interval '5 hours')::date AS day
    FROM authorizations a
    JOIN tenants t ON t.id = a.tenant_id AND t.mode = 'sandbox'
    JOIN payments p ON p.authorization_id = a.id
    WHERE a.period_amount IS NOT NULL
) s
GROUP BY 1, 2, 3;
