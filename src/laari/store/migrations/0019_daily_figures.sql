-- What each day came to, by merchant and till: kept a moment behind the ledger by the background
-- process, so that no payment waits for a row that all of them change. `figures_upto` says up to
-- which transaction; what came later is added when the figures are read.
CREATE TABLE daily_figures (
    tenant_id bigint NOT NULL REFERENCES tenants,
    day date NOT NULL,
    terminal_label text NOT NULL COLLATE "C", -- empty where a payment names none
    payments bigint NOT NULL,
    gross bigint NOT NULL,
    fees bigint NOT NULL,
    refunds bigint NOT NULL,
    refunded bigint NOT NULL,
    PRIMARY KEY (tenant_id, day, terminal_label)
);
CREATE TABLE figures_upto (
    xid bigint NOT NULL
);
CREATE UNIQUE INDEX figures_upto_one ON figures_upto ((true));

INSERT INTO figures_upto SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1;
INSERT INTO daily_figures
SELECT p.tenant_id, (t.created_at AT TIME ZONE interval '5 hours')::date,
    coalesce(p.terminal_label, ''),
    count(*) FILTER (WHERE t.kind = 'payment'),
    coalesce(sum(t.amount) FILTER (WHERE t.kind = 'payment'), 0),
    coalesce(sum(t.amount) FILTER (WHERE t.kind = 'fee'), 0),
    count(*) FILTER (WHERE t.kind = 'refund'),
    coalesce(sum(t.amount) FILTER (WHERE t.kind = 'refund'), 0)
FROM transfers t JOIN payments p ON p.id = t.payment_id
WHERE t.xid <= (SELECT xid FROM figures_upto)
GROUP BY 1, 2, 3;
