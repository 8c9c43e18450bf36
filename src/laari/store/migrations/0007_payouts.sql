-- Payouts to merchants' bank accounts, withdrawals of customers, holds and corrections of merchants,
-- and money from the bank.

-- == Transfers ====================================================================================

-- The fee of a payout moves from the merchant to the service, and back if the payout is cancelled.
ALTER TABLE transfers
    DROP CONSTRAINT transfers_kind_check,
    ADD CONSTRAINT transfers_kind_check CHECK (kind IN (
        'payment', 'fee', 'refund', 'topup', 'adjustment', 'payout', 'payout_fee', 'payout_settled',
        'payout_returned', 'hold', 'release', 'merchant_adjustment', 'receipt', 'withdrawal',
        'sweep', 'bank_charge'
    ));
DROP INDEX transfers_of_merchants;
CREATE INDEX transfers_of_merchants ON transfers ((
    CASE WHEN debit_account BETWEEN 1000000000 AND 1999999999 THEN debit_account
    ELSE credit_account END
), created_at, id)
    WHERE kind IN (
        'payout', 'payout_fee', 'payout_returned', 'hold', 'release', 'merchant_adjustment'
    );
ALTER INDEX transfers_of_merchants ALTER COLUMN 1 SET STATISTICS 10;
-- Movements of the live bank account, for its daily figures. Payments never touch it.
CREATE INDEX transfers_of_the_bank ON transfers (created_at)
    WHERE debit_account = 3 OR credit_account = 3;

-- == Bank accounts and terms ======================================================================

-- The bank accounts of merchants and of wallets. A row is never changed: the newest one whose time
-- has come is in effect. The first one of an owner is so at once; a later one after 48 hours, so that
-- the owners can object.
CREATE TABLE bank_accounts (
    id uuid PRIMARY KEY,
    tenant_id bigint REFERENCES tenants,
    account bigint REFERENCES wallets,
    holder text NOT NULL CHECK (char_length(holder) BETWEEN 1 AND 70),
    bank text NOT NULL CHECK (char_length(bank) BETWEEN 1 AND 70),
    account_number text COLLATE "C" NOT NULL CHECK (account_number ~ '^[0-9]{4,20}$'),
    created_at timestamptz NOT NULL,
    effective_at timestamptz NOT NULL CHECK (effective_at >= created_at),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT bank_accounts_owner CHECK (num_nonnulls(tenant_id, account) = 1)
);
CREATE INDEX bank_accounts_by_xid ON bank_accounts USING brin (xid) WITH (pages_per_range = 64);
CREATE INDEX bank_accounts_by_tenant ON bank_accounts (tenant_id, effective_at);
CREATE INDEX bank_accounts_by_account ON bank_accounts (account, effective_at);
CREATE TRIGGER bank_accounts_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON bank_accounts FROM PUBLIC;

-- What the operator agreed with a merchant. A tenant without a row has the defaults.
CREATE TABLE payout_terms (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    minimum bigint NOT NULL DEFAULT 1 CHECK (minimum BETWEEN 1 AND 999999999999999999),
    fee bigint NOT NULL DEFAULT 0 CHECK (fee BETWEEN 0 AND 9999999999),
    on_request boolean NOT NULL DEFAULT false,  -- its people may ask for a payout
    paused_reason text CHECK (char_length(paused_reason) BETWEEN 1 AND 255)  -- no payouts if set
);

-- Days on which banks do not work, besides Friday and Saturday.
CREATE TABLE bank_holidays (
    day date PRIMARY KEY,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100)
);

CREATE TRIGGER bank_accounts_journal AFTER INSERT ON bank_accounts FOR EACH ROW
    EXECUTE FUNCTION journal_change('bank_account', 'tenant_id', 'account', 'holder', 'bank',
        'account_number', 'effective_at');
CREATE TRIGGER payout_terms_journal AFTER INSERT OR UPDATE OR DELETE ON payout_terms FOR EACH ROW
    EXECUTE FUNCTION journal_change('payout_terms', 'minimum', 'fee', 'on_request',
        'paused_reason');
CREATE TRIGGER bank_holidays_journal AFTER INSERT OR UPDATE OR DELETE ON bank_holidays FOR EACH ROW
    EXECUTE FUNCTION journal_change('bank_holiday', 'name');

-- == Payouts ======================================================================================

-- A run sends the payouts of one file. Its number is part of the references in the bank's statement.
CREATE TABLE payout_runs (
    id uuid PRIMARY KEY,
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    number bigint NOT NULL CHECK (number BETWEEN 1 AND 999999),
    day date NOT NULL,  -- the last day whose movements it pays out
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    status text NOT NULL CHECK (status IN ('requested', 'approved', 'sent', 'cancelled')),
    approved_at timestamptz,
    approved_by text,
    sent_at timestamptz,
    sent_by text,
    CONSTRAINT payout_runs_numbered UNIQUE (mode, number),
    CHECK (status NOT IN ('approved', 'sent') OR num_nulls(approved_at, approved_by) = 0),
    CHECK ((status = 'sent') = (num_nulls(sent_at, sent_by) = 0))
);
-- One run at a time is filled.
CREATE UNIQUE INDEX payout_runs_one_open ON payout_runs (mode) WHERE status = 'requested';

-- The bytes that were made for the bank, once for each run.
CREATE TABLE bank_files (
    run_id uuid PRIMARY KEY REFERENCES payout_runs,
    value_date date NOT NULL,  -- on which the bank pays
    order_count bigint NOT NULL CHECK (order_count > 0),
    total bigint NOT NULL CHECK (total > 0),
    digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    content bytea NOT NULL
);
CREATE TRIGGER bank_files_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_files
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON bank_files FROM PUBLIC;

-- A payout consists of the movements of its merchant since the previous payout. A movement belongs
-- to the first payout whose `cut_off` is later than its time and whose `snapshot` shows its
-- transaction. Cut-offs and snapshots only grow, so each movement belongs to one payout, also if it
-- was committed late or a sandbox's clock was moved. The fee of the payout is one of its movements.
-- Only the columns from `status` on change.
--
-- A withdrawal is a payout of a wallet instead of a tenant. It has an amount, and no movements.
CREATE TABLE payouts (
    id uuid PRIMARY KEY,
    tenant_id bigint,
    account bigint,
    number bigint NOT NULL CHECK (number >= 1),  -- counts the payouts of the owner, without gaps
    amount bigint NOT NULL CHECK (amount > 0),
    fee bigint NOT NULL CHECK (fee >= 0),
    cut_off timestamptz NOT NULL,
    snapshot text COLLATE "C" NOT NULL,  -- a pg_snapshot
    transfer_id uuid NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    status text NOT NULL
        CHECK (status IN ('requested', 'approved', 'sent', 'settled', 'returned', 'cancelled')),
    run_id uuid,
    bank_account_id uuid,
    returned_amount bigint NOT NULL DEFAULT 0 CHECK (returned_amount BETWEEN 0 AND amount),
    approved_at timestamptz,
    sent_at timestamptz,
    settled_at timestamptz,
    returned_at timestamptz,
    cancelled_at timestamptz,
    cancelled_transfer_id uuid UNIQUE,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT payouts_times_fit_status CHECK (
        (status = 'cancelled') = (num_nulls(cancelled_at, cancelled_transfer_id) = 0)
        AND num_nulls(cancelled_at, cancelled_transfer_id) IN (0, 2)
        AND (status = 'returned') = (returned_at IS NOT NULL)
        AND (status IN ('sent', 'settled', 'returned')) = (sent_at IS NOT NULL)
        AND (status <> 'settled' OR settled_at IS NOT NULL)
        AND (status <> 'approved' OR approved_at IS NOT NULL)
    ),
    CONSTRAINT payouts_come_back_when_sent
        CHECK (returned_amount = 0 OR status IN ('sent', 'returned')),
    CONSTRAINT payouts_owner CHECK (num_nonnulls(tenant_id, account) = 1),
    CONSTRAINT payouts_numbered UNIQUE (tenant_id, number),
    CONSTRAINT withdrawals_numbered UNIQUE (account, number),
    CHECK (account IS NULL OR fee = 0)
);
CREATE INDEX payouts_by_cut_off ON payouts (tenant_id, cut_off, number);
CREATE INDEX payouts_by_time ON payouts (tenant_id, created_at, id);
CREATE INDEX payouts_by_status ON payouts (tenant_id, status, created_at, id);
CREATE INDEX payouts_by_run ON payouts (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX payouts_without_run ON payouts (created_at, id)
    WHERE run_id IS NULL AND status = 'requested';
CREATE INDEX payouts_by_xid ON payouts USING brin (xid) WITH (pages_per_range = 64);

-- The orders to the bank: a payout above the bank's limit has several. The bank answers each.
CREATE TABLE bank_orders (
    reference text COLLATE "C" PRIMARY KEY,
    payout_id uuid NOT NULL,
    place bigint NOT NULL CHECK (place >= 1),  -- among the orders of the payout
    amount bigint NOT NULL CHECK (amount > 0),
    status text NOT NULL CHECK (status IN ('sent', 'settled', 'returned')),
    settled_at timestamptz,
    returned_at timestamptz,
    settled_transfer_id uuid UNIQUE,
    returned_transfer_id uuid UNIQUE,
    UNIQUE (payout_id, place),
    CHECK (num_nulls(settled_at, settled_transfer_id) IN (0, 2)),
    CHECK (num_nulls(returned_at, returned_transfer_id) IN (0, 2)),
    CHECK ((status = 'returned') = (returned_at IS NOT NULL)),
    CHECK (status <> 'settled' OR settled_at IS NOT NULL)
);

-- The number of the merchant's last payout, and its cut-off. The lock on the row also decides which
-- of two payouts comes first.
ALTER TABLE merchant_funds
    ADD COLUMN last_payout bigint NOT NULL DEFAULT 0,
    ADD COLUMN paid_out_upto timestamptz,
    ADD CHECK ((last_payout = 0) = (paid_out_upto IS NULL));

-- Transfers that were added up after a payout although their time is before its cut-off. They may
-- belong to the next one, which finds them here instead of in the whole history.
CREATE TABLE late_transfers (
    tenant_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    transfer_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, created_at, transfer_id)
);

-- Why the operator held, released or corrected money of a merchant.
CREATE TABLE fund_movements (
    transfer_id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 255),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    created_at timestamptz NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX fund_movements_by_time ON fund_movements (tenant_id, created_at, transfer_id);
CREATE TRIGGER fund_movements_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON fund_movements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON fund_movements FROM PUBLIC;

ALTER TABLE seals
    DROP CONSTRAINT seals_subject_check,
    ADD CONSTRAINT seals_subject_check CHECK (
        subject IN (
            'transfers', 'transactions', 'events', 'journal', 'refunds', 'payouts', 'bank_accounts'
        )
    );

-- == Money from the bank ==========================================================================

-- The lines of the bank's statement, each once by the bank's own reference. `use` is what became of
-- it: a top-up, a receipt that waits to be assigned or sent back, the answer to an order, a charge of
-- the bank, or nothing.
-- Only the columns from `use` on change.
CREATE TABLE bank_lines (
    reference text COLLATE "C" PRIMARY KEY CHECK (char_length(reference) BETWEEN 1 AND 100),
    day date NOT NULL,
    description text NOT NULL CHECK (char_length(description) BETWEEN 1 AND 500),
    amount bigint NOT NULL CHECK (amount <> 0),  -- negative if money left the account
    balance bigint,
    imported_at timestamptz NOT NULL,
    imported_by text NOT NULL,
    use text NOT NULL CHECK (use IN
        ('topup', 'receipt', 'assigned', 'sent_back', 'settled', 'returned', 'charge', 'none')),
    account bigint,  -- the wallet that it was added to
    order_reference text COLLATE "C",
    -- The last movement of its money. An answer to an order may have been recorded by hand before.
    tid text COLLATE "C",
    handled_at timestamptz,  -- when a person assigned it, sent it back or booked the charge
    handled_by text,
    CHECK ((use IN ('topup', 'assigned')) = (account IS NOT NULL)),
    CHECK ((use IN ('settled', 'returned')) = (order_reference IS NOT NULL)),
    CHECK (use NOT IN ('topup', 'receipt', 'assigned', 'sent_back') OR tid IS NOT NULL AND amount > 0),
    CHECK (use <> 'charge' OR tid IS NOT NULL AND amount < 0),
    CHECK (use <> 'none' OR tid IS NULL AND amount < 0),
    CHECK ((use IN ('assigned', 'sent_back', 'charge')) = (num_nulls(handled_at, handled_by) = 0))
);
-- An order is confirmed and returned by one line each.
CREATE UNIQUE INDEX bank_lines_answer_once ON bank_lines (order_reference, use)
    WHERE order_reference IS NOT NULL;
CREATE INDEX bank_lines_by_day ON bank_lines (day, reference);
CREATE INDEX bank_lines_open ON bank_lines (day, reference) WHERE use IN ('receipt', 'none');

-- Fees that the operator took out of the bank account. The number decides which of two is first, so
-- that both together never take more than there is.
CREATE TABLE fee_sweeps (
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    number bigint NOT NULL CHECK (number >= 1),
    transfer_id uuid NOT NULL UNIQUE,
    amount bigint NOT NULL CHECK (amount > 0),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (mode, number)
);
CREATE TRIGGER fee_sweeps_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON fee_sweeps
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON fee_sweeps FROM PUBLIC;

-- A person compared a day of the books with the bank's closing balance. The newest row counts.
CREATE TABLE float_signoffs (
    id uuid PRIMARY KEY,
    day date NOT NULL,
    closing bigint NOT NULL,  -- of the books
    bank_closing bigint NOT NULL,
    note text CHECK (char_length(note) BETWEEN 1 AND 500),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    created_at timestamptz NOT NULL,
    CHECK (closing = bank_closing OR note IS NOT NULL)  -- a difference needs an explanation
);
CREATE INDEX float_signoffs_by_day ON float_signoffs (day, created_at);
CREATE TRIGGER float_signoffs_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON float_signoffs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON float_signoffs FROM PUBLIC;
