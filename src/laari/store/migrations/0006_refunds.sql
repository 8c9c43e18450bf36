-- Refunds in parts, the merchants' balances, and the accounts for money that leaves the service.

-- == Accounts and kinds of transfers ==============================================================
--
-- The service's own accounts are now 1 to 10, live and sandbox in turn: fees, outside (the bank
-- account), in transit (sent to the bank, not confirmed), corrections, and unallocated (received,
-- not yet assigned). A merchant also has an account for money that is held: 2,000,000,000 and the
-- tenant's number.

ALTER TABLE transfers
    DROP CONSTRAINT transfers_kind_check,
    ADD CONSTRAINT transfers_kind_check CHECK (kind IN (
        'payment', 'fee', 'refund', 'topup', 'adjustment', 'payout', 'payout_settled',
        'payout_returned', 'hold', 'release', 'merchant_adjustment', 'receipt', 'withdrawal', 'sweep'
    )),
    -- An adjustment moves no money in or out of the bank, so its other side is the corrections
    -- account. Earlier ones used the outside account, and they stay as they are: not validated.
    ADD CONSTRAINT adjustments_are_corrections CHECK (
        kind <> 'adjustment' OR debit_account IN (7, 8) OR credit_account IN (7, 8)
    ) NOT VALID;

-- A payment is paid and charged a fee once. It may be refunded several times, each time under
-- another reference. One index serves both, because every payment writes it.
DROP INDEX transfers_once_per_payment;
CREATE UNIQUE INDEX transfers_once_per_payment
    ON transfers (payment_id, (CASE kind WHEN 'refund' THEN tid ELSE kind COLLATE "C" END))
    WHERE payment_id IS NOT NULL;

-- The few movements of a merchant's money that are neither payments nor refunds, in their order.
CREATE INDEX transfers_of_merchants ON transfers ((
    CASE WHEN debit_account BETWEEN 1000000000 AND 1999999999 THEN debit_account
    ELSE credit_account END
), created_at, id)
    WHERE kind IN ('payout', 'payout_returned', 'hold', 'release', 'merchant_adjustment');

-- == Refunds ======================================================================================

-- The part of a payment that was refunded. Null instead of 0, so that no payment writes it.
ALTER TABLE payments ADD COLUMN refunded_amount bigint;
UPDATE payments SET refunded_amount = amount WHERE status = 'refunded';
ALTER TABLE payments
    -- Never more than was paid. A payment stays paid until everything is refunded.
    ADD CONSTRAINT refunded_within_amount CHECK (
        refunded_amount IS NULL
        OR refunded_amount BETWEEN 1 AND amount AND status IN ('paid', 'refunded')
    ),
    ADD CONSTRAINT refunded_means_all
        CHECK ((status = 'refunded') = (refunded_amount IS NOT DISTINCT FROM amount));

-- Every refund of a payment. No foreign keys, as for transfers.
CREATE TABLE refunds (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    payment_id uuid NOT NULL,
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    reason text CHECK (reason IN ('requested_by_customer', 'duplicate', 'fraudulent', 'other')),
    note text CHECK (char_length(note) BETWEEN 1 AND 500),
    -- The person, operator or credential that made it. Unknown, and without an event, if the refund
    -- is older than this table.
    actor_kind text COLLATE "C" CHECK (actor_kind <> ''),
    actor_name text CHECK (actor_name <> ''),
    tid text COLLATE "C" NOT NULL UNIQUE,  -- of its transfer, and of the line of history
    created_at timestamptz NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT refunds_have_an_actor CHECK (num_nonnulls(actor_kind, actor_name) IN (0, 2))
);
CREATE INDEX refunds_by_payment ON refunds (payment_id, created_at, id);
CREATE INDEX refunds_by_time ON refunds (tenant_id, created_at, id);
CREATE INDEX refunds_by_xid ON refunds USING brin (xid) WITH (pages_per_range = 64);

INSERT INTO refunds (id, tenant_id, payment_id, amount, reason, tid, created_at, xid)
SELECT t.id, p.tenant_id, p.id, t.amount, r.reason, t.tid, t.created_at, t.xid
FROM transfers t JOIN payments p ON p.id = t.payment_id
LEFT JOIN refund_reasons r ON r.payment_id = p.id
WHERE t.kind = 'refund';

CREATE TRIGGER refunds_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refunds
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON refunds FROM PUBLIC;

-- `refunds` has the reasons, and the order in which payments were refunded.
DROP TABLE refund_reasons;
DROP INDEX payments_by_refunded;

ALTER TABLE seals
    DROP CONSTRAINT seals_subject_check,
    ADD CONSTRAINT seals_subject_check
        CHECK (subject IN ('transfers', 'transactions', 'events', 'journal', 'refunds'));

-- == Balances of merchants ========================================================================

-- One row for each tenant, locked by every movement that takes money from a merchant: refund,
-- payout, hold, adjustment. So these wait for each other, and payments, which only add, never do.
-- A statement after the lock reads the balance.
--
-- Fees are not returned. So the balance may fall to the fees of all payments that were refunded, in
-- part or whole, below zero, and to `allowance` below that.
CREATE TABLE merchant_funds (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    refunded_fees numeric NOT NULL DEFAULT 0 CHECK (refunded_fees >= 0),
    allowance bigint NOT NULL DEFAULT 0 CHECK (allowance >= 0)
);
INSERT INTO merchant_funds (tenant_id, refunded_fees)
SELECT t.id, coalesce(sum(p.fee), 0)
FROM tenants t LEFT JOIN payments p ON p.tenant_id = t.id AND p.status = 'refunded'
GROUP BY t.id;
CREATE FUNCTION add_merchant_funds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.merchant_funds (tenant_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER tenants_have_funds AFTER INSERT ON tenants
    FOR EACH ROW EXECUTE FUNCTION add_merchant_funds();

-- Movements that are neither payments nor refunds, under the empty label.
ALTER TABLE daily_figures ADD COLUMN others bigint NOT NULL DEFAULT 0;

-- The balance of each merchant up to the transaction in `figures_upto`, written with the figures of
-- days. Readers add the later transfers.
CREATE TABLE merchant_totals (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    available numeric NOT NULL,
    held numeric NOT NULL
);
INSERT INTO merchant_totals
SELECT tenant_id, sum(gross - fees - refunded), 0 FROM daily_figures GROUP BY tenant_id;

-- As for the tables of payments: queries go by keys and whole indexes, so a small sample is enough.
DO $$
DECLARE
    place name;
BEGIN
    FOR place IN
        SELECT attname FROM pg_attribute
        WHERE attrelid = 'refunds'::regclass AND attnum > 0 AND NOT attisdropped
    LOOP
        EXECUTE format('ALTER TABLE refunds ALTER COLUMN %I SET STATISTICS 10', place);
    END LOOP;
END
$$;
ALTER TABLE payments ALTER COLUMN refunded_amount SET STATISTICS 10;
ALTER INDEX transfers_once_per_payment ALTER COLUMN 2 SET STATISTICS 10;
ALTER INDEX transfers_of_merchants ALTER COLUMN 1 SET STATISTICS 10;
