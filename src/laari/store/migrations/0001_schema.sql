-- The schema of Laari. Read it from top to bottom.
--
-- Amounts are whole laari in `bigint`. Sums that can pass 2^63 are `numeric` without a fraction.
-- Identifiers, references and labels compare byte by byte (COLLATE "C"), whatever the locale is.
--
-- The checks repeat the rules of `laari.rules`, so that a defect in the code cannot write a row that
-- breaks them. Only small tables that rarely change have foreign keys. The tables that every
-- payment writes have none: a check would lock the busy merchant's row once per payment.
-- `laari audit` proves those links instead.

-- For tables whose rows are never changed or deleted.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- == The installation =============================================================================

-- Facts about the whole installation: one row, created when the database is first opened.
CREATE TABLE installation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),  -- so there cannot be a second row
    -- Derived from the master key: a wrong key is refused before it encrypts anything.
    master_key_check bytea NOT NULL CHECK (length(master_key_check) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    public_url text,  -- the last address of the service, for commands that print links
    -- The deliveries of events with lower ids may have been purged.
    deliveries_purged_before uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);

-- == Merchants and their people ===================================================================

CREATE TABLE merchants (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),  -- which of its tenants the key opens
    active boolean NOT NULL DEFAULT true,  -- an inactive merchant takes no money
    -- The secret key is looked up by its digest. It also signs webhooks, so it is kept encrypted too.
    secret_digest bytea NOT NULL UNIQUE CHECK (length(secret_digest) = 32),
    secret_encrypted bytea NOT NULL,
    fee_bps bigint NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),  -- at most the whole amount
    fee_fixed bigint NOT NULL CHECK (fee_fixed BETWEEN 0 AND 9999999999),
    webhook_url text,
    webhooks_enabled boolean NOT NULL DEFAULT true,
    sandbox_account bigint NOT NULL UNIQUE,  -- the wallet of the merchant's own sandbox customer
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A merchant in one mode. Everything a merchant owns belongs to one of its two tenants, so nothing
-- of one mode can show in the other.
CREATE TABLE tenants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    clock_offset_seconds bigint NOT NULL DEFAULT 0,
    UNIQUE (merchant_id, mode),  -- one tenant for each mode
    CHECK (mode = 'sandbox' OR clock_offset_seconds = 0)  -- real money has real time
);

-- A tenant with the facts that every command needs; every request reads it.
CREATE VIEW tenant_details AS
SELECT t.id, t.merchant_id, m.name AS merchant_name, t.mode, m.fee_bps, m.fee_fixed,
       t.clock_offset_seconds, m.sandbox_account, m.active
FROM tenants t
JOIN merchants m ON m.id = t.merchant_id;

-- People of a merchant who log in to the dashboard.
CREATE TABLE merchant_users (
    email text COLLATE "C" PRIMARY KEY CHECK (email = lower(email)),  -- in one spelling only
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- An operator set the password, and its owner has to change it. One that came with a new account
    -- (`first`) leads to the change; one that was set later (`must_change`) stops everything else.
    password_must_change boolean NOT NULL DEFAULT false,
    password_first boolean NOT NULL DEFAULT false
);

-- OAuth clients of a merchant. A scope is written as OAuth does: names with a space between them,
-- '' for none. The secret has 256 random bits, and only its digest is kept.
CREATE TABLE oauth_clients (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^cl_[a-z0-9]{20}$'),
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    secret_digest bytea NOT NULL CHECK (length(secret_digest) = 32),
    scope text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);
CREATE INDEX oauth_clients_by_merchant ON oauth_clients (merchant_id, created_at);

-- Access tokens, by their digests. No foreign key: issuing a token would lock its client's row. A
-- look-up ignores a token whose client is gone or revoked.
CREATE TABLE access_tokens (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    client_id text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
    sandbox_offset_seconds bigint NOT NULL  -- of the sandbox's clock when the token was issued
);
-- For purging.
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

-- == Customers and their wallets ==================================================================

-- The limits of a wallet for one payment, a day, a week and a month; null is no limit.
CREATE TABLE tiers (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_-]{0,39}$'),
    per_transaction bigint CHECK (per_transaction >= 0),
    daily bigint CHECK (daily >= 0),
    weekly bigint CHECK (weekly >= 0),
    monthly bigint CHECK (monthly >= 0)
);
INSERT INTO tiers (name, per_transaction, daily, weekly, monthly) VALUES
    ('basic', 500000, 1000000, 3000000, 5000000),
    ('verified', 5000000, 10000000, 30000000, 50000000),
    ('business', NULL, NULL, NULL, NULL);

-- `sandbox_of` is the tenant whose own sandbox customer this is. Every sandbox has one, so the tests
-- of two merchants never touch.
CREATE TABLE customers (
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    sandbox_of bigint UNIQUE REFERENCES tenants,
    mobile text COLLATE "C",
    email text COLLATE "C" CHECK (email = lower(email)),
    vpa text COLLATE "C" CHECK (vpa = lower(vpa)),
    password_hash text,
    created_at timestamptz NOT NULL DEFAULT now(),
    password_must_change boolean NOT NULL DEFAULT false,  -- as for merchant_users
    password_first boolean NOT NULL DEFAULT false,
    CHECK (sandbox_of IS NULL OR mode = 'sandbox')
);
-- A payment request names its customer by one of these, so each is one customer's in its mode. All
-- sandbox customers of merchants share the designated address and are left out.
CREATE UNIQUE INDEX customers_mobile ON customers (mode, mobile) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX customers_email ON customers (mode, email) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX customers_vpa ON customers (mode, vpa) WHERE sandbox_of IS NULL;

-- Accounts of wallets begin here. The accounts below are those of the service itself (1 to 4: fees
-- and the outside, live and sandbox) and of merchants (1,000,000,000 and the tenant's number).
CREATE SEQUENCE wallet_accounts START 7700000000001;

-- The only stored balance, because payments depend on it. The same row has the amounts spent in the
-- current day, week and month, so that one lock guards them all.
CREATE TABLE wallets (
    account bigint PRIMARY KEY DEFAULT nextval('wallet_accounts'),
    customer_id uuid NOT NULL UNIQUE REFERENCES customers,  -- one wallet for each customer
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    tier text COLLATE "C" NOT NULL REFERENCES tiers,
    balance bigint NOT NULL DEFAULT 0,  -- an operator may correct it to below zero
    day_start date NOT NULL DEFAULT '1970-01-01',
    day_spent numeric NOT NULL DEFAULT 0 CHECK (day_spent >= 0),
    week_start date NOT NULL DEFAULT '1970-01-01',
    week_spent numeric NOT NULL DEFAULT 0 CHECK (week_spent >= 0),
    month_start date NOT NULL DEFAULT '1970-01-01',
    month_spent numeric NOT NULL DEFAULT 0 CHECK (month_spent >= 0),
    -- The offset of the sandbox's clock when something was last counted. Another offset now means
    -- that the clock was moved, and not that two servers' clocks differ.
    counted_offset_seconds bigint NOT NULL DEFAULT 0,
    frozen_at timestamptz,
    frozen_reason text CHECK (char_length(frozen_reason) BETWEEN 1 AND 255),
    -- Nothing leaves a frozen wallet, and there is always a reason.
    CONSTRAINT frozen_for_a_reason CHECK (num_nonnulls(frozen_at, frozen_reason) IN (0, 2))
) WITH (fillfactor = 80);

-- Every time a wallet was frozen and unfrozen; `wallets` has only the present state.
CREATE TABLE wallet_freezes (
    recorded bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL REFERENCES wallets,
    time timestamptz NOT NULL,
    action text NOT NULL CHECK (action IN ('frozen', 'unfrozen')),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 255),
    CONSTRAINT frozen_for_a_reason CHECK ((action = 'frozen') = (reason IS NOT NULL))
);
CREATE INDEX wallet_freezes_by_account ON wallet_freezes (account, recorded);
CREATE TRIGGER wallet_freezes_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON wallet_freezes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The amounts that sandbox wallets (by their customer) and authorizations counted in past periods. A
-- sandbox's clock may be moved back into them. Live rows only go forward and need none.
CREATE TABLE sandbox_periods (
    owner uuid NOT NULL,
    unit text NOT NULL CHECK (unit IN ('day', 'week', 'month', 'year')),
    start date NOT NULL,
    spent numeric NOT NULL CHECK (spent > 0),
    PRIMARY KEY (owner, unit, start)
);

-- Keys of the wallet interface, by their digests.
CREATE TABLE wallet_keys (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    account bigint NOT NULL REFERENCES wallets,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    last_used_at timestamptz  -- exact to about a minute
);
CREATE INDEX wallet_keys_by_account ON wallet_keys (account, created_at);

-- Requests of the wallet interface, counted per account in windows of 60 seconds of real time.
--
-- Unlogged: a count is written with every request and has no use a minute later, so it is not worth
-- a wait for the disk. After a crash of the database the table is empty and new windows open. No
-- foreign key: its check would touch the wallet's row.
CREATE UNLOGGED TABLE wallet_windows (
    account bigint PRIMARY KEY,
    opened_at timestamptz NOT NULL,
    used bigint NOT NULL CHECK (used > 0)
) WITH (fillfactor = 70);

-- Log-ins on the pages, of customers and of merchants' people. The browser's cookie has the token;
-- this table has only its digest.
CREATE TABLE sessions (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    customer_id uuid REFERENCES customers ON DELETE CASCADE,
    email text COLLATE "C" REFERENCES merchant_users ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    authenticated_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    page text COLLATE "C",
    CHECK (num_nonnulls(customer_id, email) = 1),  -- one person
    -- A log-in made on a checkout or approval page is good for that page alone; null is everywhere.
    CONSTRAINT sessions_page_check
        CHECK (page IS NULL OR (customer_id IS NOT NULL AND page ~ '^/(pay|approve)/[^/]+$'))
);
CREATE INDEX sessions_by_customer ON sessions (customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX sessions_by_email ON sessions (email) WHERE email IS NOT NULL;
-- For purging.
CREATE INDEX sessions_by_age ON sessions (seen_at);

-- == Payments =====================================================================================

-- One name space of references for hosted payments, charges and payment requests of a tenant. The
-- primary key decides which of two requests with one reference came first.
CREATE TABLE reference_claims (
    tenant_id bigint NOT NULL,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    kind text NOT NULL CHECK (kind IN ('payment', 'charge', 'request')),
    resource_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, reference)
);

-- Payments of all kinds: hosted ones, those made by paying a payment request, and charges of an
-- authorization. Only the columns from `status` on change.
CREATE TABLE payments (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('hosted', 'request', 'charge')),
    token text COLLATE "C" NOT NULL UNIQUE,  -- of its public address
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    title text CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    terminal_label text COLLATE "C" CHECK (char_length(terminal_label) BETWEEN 1 AND 10),
    bill_number text COLLATE "C" CHECK (bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'),
    -- Counted in bytes, except for those that come from a payment request.
    return_url text CHECK (
        char_length(return_url) >= 1
        AND char_length(return_url) <= 2048
        AND (kind = 'request' OR octet_length(return_url) <= 2048)
    ),
    metadata text NOT NULL CHECK (json_typeof(metadata::json) = 'object'),  -- as it was sent
    created_at timestamptz NOT NULL,
    expires_at timestamptz,  -- null for charges, which are paid when they are made
    request_id uuid,
    authorization_id uuid,
    status text NOT NULL
        CHECK (status IN ('pending', 'paid', 'rejected', 'expired', 'cancelled', 'refunded')),
    fee bigint CHECK (fee BETWEEN 0 AND amount),
    paid_at timestamptz,
    payment_reference text COLLATE "C",
    payer_account bigint,
    reserved_at timestamptz,
    reserved_by bigint,
    cancelled_at timestamptz,
    rejected_at timestamptz,
    refunded_at timestamptz,
    -- Fee, time, receipt and payer are all there once money has moved, and none of them before.
    CONSTRAINT paid_means_settled CHECK (
        (status IN ('paid', 'refunded'))
        = (num_nulls(fee, paid_at, payment_reference, payer_account) = 0)
        AND num_nulls(fee, paid_at, payment_reference, payer_account) IN (0, 4)
    ),
    CONSTRAINT reserved_only_while_pending CHECK (
        num_nulls(reserved_at, reserved_by) IN (0, 2)
        AND (reserved_at IS NULL OR status = 'pending')
    ),
    CONSTRAINT end_times_fit_status CHECK (
        (status = 'cancelled') = (cancelled_at IS NOT NULL)
        AND (status = 'rejected') = (rejected_at IS NOT NULL)
        AND (status = 'refunded') = (refunded_at IS NOT NULL)
    ),
    CONSTRAINT kind_fits_links CHECK (
        (kind = 'request') = (request_id IS NOT NULL)
        AND (kind = 'charge') = (authorization_id IS NOT NULL)
    )
);
-- Every listing walks one of these backwards from its cursor. A till's payments of one status are
-- one stretch of an index; without a status they are six.
CREATE INDEX payments_by_time ON payments (tenant_id, created_at, id);
CREATE INDEX payments_by_status ON payments (tenant_id, status, created_at, id);
CREATE INDEX payments_by_label_and_status
    ON payments (tenant_id, terminal_label, status, created_at, id)
    WHERE terminal_label IS NOT NULL;
CREATE INDEX payments_by_bill ON payments (tenant_id, bill_number, created_at, id)
    WHERE bill_number IS NOT NULL;
CREATE INDEX payments_by_authorization ON payments (authorization_id, created_at, id)
    WHERE authorization_id IS NOT NULL;
-- A merchant's movements of some days: payments in the order in which they were paid or refunded.
CREATE INDEX payments_by_paid ON payments (tenant_id, paid_at, id) WHERE paid_at IS NOT NULL;
CREATE INDEX payments_by_refunded ON payments (tenant_id, refunded_at, id)
    WHERE refunded_at IS NOT NULL;

-- Why a payment was refunded, if the operator said so.
CREATE TABLE refund_reasons (
    payment_id uuid PRIMARY KEY REFERENCES payments,
    reason text NOT NULL
        CHECK (reason IN ('requested_by_customer', 'duplicate', 'fraudulent', 'other'))
);
CREATE TRIGGER refund_reasons_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refund_reasons
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Requests to a customer to pay. Paying one makes a payment (`payment_id`).
CREATE TABLE payment_requests (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    title text CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    terminal_label text COLLATE "C" CHECK (char_length(terminal_label) BETWEEN 1 AND 10),
    bill_number text COLLATE "C" CHECK (bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'),
    return_url text CHECK (char_length(return_url) BETWEEN 1 AND 2048),
    customer_type text NOT NULL CHECK (customer_type IN ('mobile', 'email', 'vpa')),
    customer_value text NOT NULL CHECK (customer_value <> ''),  -- as the merchant wrote it
    account bigint NOT NULL,  -- the only wallet that may pay it
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    status text NOT NULL
        CHECK (status IN ('pending', 'paid', 'rejected', 'expired', 'cancelled', 'refunded')),
    fee bigint CHECK (fee BETWEEN 0 AND amount),
    paid_at timestamptz,
    payment_id uuid,
    payment_reference text COLLATE "C",
    reserved_at timestamptz,
    cancelled_at timestamptz,
    rejected_at timestamptz,
    CONSTRAINT paid_means_settled CHECK (
        (status IN ('paid', 'refunded'))
        = (num_nulls(fee, paid_at, payment_id, payment_reference) = 0)
        AND num_nulls(fee, paid_at, payment_id, payment_reference) IN (0, 4)
    ),
    CONSTRAINT reserved_only_while_pending CHECK (reserved_at IS NULL OR status = 'pending'),
    CONSTRAINT end_times_fit_status CHECK (
        (status = 'cancelled') = (cancelled_at IS NOT NULL)
        AND (status = 'rejected') = (rejected_at IS NOT NULL)
    )
);
CREATE INDEX payment_requests_by_time ON payment_requests (tenant_id, created_at, id);
CREATE INDEX payment_requests_by_status ON payment_requests (tenant_id, status, created_at, id);
CREATE INDEX payment_requests_by_label_and_status
    ON payment_requests (tenant_id, terminal_label, status, created_at, id)
    WHERE terminal_label IS NOT NULL;
CREATE INDEX payment_requests_by_bill ON payment_requests (tenant_id, bill_number, created_at, id)
    WHERE bill_number IS NOT NULL;
CREATE INDEX payment_requests_by_account ON payment_requests (account, created_at, id);
-- The next request to expire, tenant by tenant because each has its own clock.
CREATE INDEX payment_requests_due ON payment_requests (tenant_id, expires_at)
    WHERE status = 'pending' AND reserved_at IS NULL;

-- A customer's permission to be charged later. The row contains its usage: one lock guards the
-- limits, and no charge sums history.
CREATE TABLE authorizations (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    token text COLLATE "C" NOT NULL UNIQUE,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 128),
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    type text NOT NULL CHECK (type IN ('recurring', 'unscheduled', 'one_time')),
    currency text NOT NULL DEFAULT 'MVR',
    -- The limits; null is none.
    per_payment bigint CHECK (per_payment BETWEEN 1 AND 999999999999999999),
    period_interval text CHECK (period_interval IN ('day', 'week', 'month', 'year')),
    period_amount bigint CHECK (period_amount BETWEEN 1 AND 999999999999999999),
    total bigint CHECK (total BETWEEN 1 AND 999999999999999999),
    max_payments bigint CHECK (max_payments BETWEEN 1 AND 4294967295),
    return_url text CHECK (octet_length(return_url) BETWEEN 1 AND 2048),
    created_at timestamptz NOT NULL,
    approval_expires_at timestamptz NOT NULL,
    expires_at timestamptz,
    status text NOT NULL CHECK (
        status IN ('pending', 'active', 'rejected', 'revoked', 'cancelled', 'suspended', 'consumed')
    ),
    account bigint,  -- the wallet that approved it, and is charged
    payment_count bigint NOT NULL CHECK (payment_count BETWEEN 0 AND 4294967295),
    total_paid numeric NOT NULL CHECK (total_paid >= 0),
    period_start date,
    period_paid numeric NOT NULL CHECK (period_paid >= 0),
    approved_at timestamptz,
    rejected_at timestamptz,
    revoked_at timestamptz,
    cancelled_at timestamptz,
    last_used_at timestamptz,
    updated_at timestamptz NOT NULL,
    counted_offset_seconds bigint NOT NULL DEFAULT 0,  -- as for wallets
    UNIQUE (tenant_id, reference),  -- separate from the references of payments
    CONSTRAINT period_amount_needs_interval
        CHECK (period_amount IS NULL OR period_interval IS NOT NULL),
    CONSTRAINT one_time_is_one_payment
        CHECK (type <> 'one_time' OR (coalesce(max_payments, 1) = 1 AND payment_count <= 1)),
    CONSTRAINT approved_has_account CHECK ((approved_at IS NULL) = (account IS NULL)),
    -- No charge can exceed a limit. A limit that is null passes this check.
    CONSTRAINT within_limits CHECK (
        payment_count <= max_payments AND total_paid <= total AND period_paid <= period_amount
    ),
    CONSTRAINT times_fit_status CHECK (
        (status = 'rejected') = (rejected_at IS NOT NULL)
        AND (status = 'revoked') = (revoked_at IS NOT NULL)
        AND (status = 'cancelled') = (cancelled_at IS NOT NULL)
        AND (status IN ('active', 'suspended', 'revoked', 'consumed')) = (approved_at IS NOT NULL)
    )
) WITH (fillfactor = 85);
CREATE INDEX authorizations_by_time ON authorizations (tenant_id, created_at, id);
CREATE INDEX authorizations_by_status ON authorizations (tenant_id, status, created_at, id);
CREATE INDEX authorizations_by_account ON authorizations (account, created_at, id)
    WHERE account IS NOT NULL;

-- Responses to requests with an idempotency key. A repeated request gets the same response.
CREATE TABLE saved_responses (
    tenant_id bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (key ~ '^[!-~]{1,255}$'),
    fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),  -- of the request's content
    status bigint NOT NULL,
    code text COLLATE "C" NOT NULL,  -- of the refusal; empty if it is none
    body bytea NOT NULL,
    completed_at timestamptz NOT NULL,
    replays bigint NOT NULL DEFAULT 0,  -- how often it was sent again
    last_replayed_at timestamptz,
    resource_id uuid,  -- the resource in the response
    PRIMARY KEY (tenant_id, operation, key),  -- a key means one request
    CHECK ((replays > 0) = (last_replayed_at IS NOT NULL))
);
CREATE INDEX saved_responses_by_resource ON saved_responses (resource_id)
    WHERE resource_id IS NOT NULL;
-- For purging, tenant by tenant, each by its own clock. Of an expression, so that no look-up by a
-- key is ever planned along all responses of a tenant.
CREATE INDEX saved_responses_by_age_of_tenant ON saved_responses ((tenant_id | 0), completed_at);

-- == The ledger, history and events: rows that never change =======================================
--
-- Each row has the number of the transaction that wrote it (`xid`). Rows below the oldest running
-- transaction are complete and can be sealed (docs/audit.md). Rows are appended, so a BRIN
-- index finds the newest of them and costs a write almost nothing.

-- The ledger: every row has two sides, so the books balance by construction. A correction is a new
-- transfer.
CREATE TABLE transfers (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('payment', 'fee', 'refund', 'topup', 'adjustment')),
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    payment_id uuid,
    tid text COLLATE "C" NOT NULL,  -- the line of history that shows it
    created_at timestamptz NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CHECK (debit_account <> credit_account),
    CHECK ((kind IN ('payment', 'fee', 'refund')) = (payment_id IS NOT NULL))
);
-- Nothing is paid, charged a fee or refunded twice.
CREATE UNIQUE INDEX transfers_once_per_payment ON transfers (payment_id, kind)
    WHERE payment_id IS NOT NULL;
CREATE INDEX transfers_by_xid ON transfers USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER transfers_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON transfers FROM PUBLIC;

-- The history of wallets, failed attempts included; `recorded` is the order it is read in.
CREATE TABLE transactions (
    tid text COLLATE "C" PRIMARY KEY,
    account bigint NOT NULL,
    recorded bigint GENERATED ALWAYS AS IDENTITY,
    time timestamptz NOT NULL,
    type text NOT NULL
        CHECK (type IN ('topup', 'payment', 'refund', 'transfer', 'withdraw', 'adjustment')),
    name text NOT NULL,
    details text NOT NULL,
    amount bigint NOT NULL CHECK (amount <> 0),
    status text NOT NULL CHECK (status IN ('success', 'failed')),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX transactions_by_account ON transactions (account, recorded);
CREATE INDEX transactions_by_xid ON transactions USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER transactions_insert_only BEFORE UPDATE OR TRUNCATE ON transactions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Failed lines of a sandbox may be purged. A line that moved money is never deleted.
CREATE TRIGGER transactions_keep_money BEFORE DELETE ON transactions
    FOR EACH ROW WHEN (OLD.status <> 'failed') EXECUTE FUNCTION refuse_change();

-- The bank's references of transfers that were topped up: each brings its money in once.
CREATE TABLE topup_slips (
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    slip text COLLATE "C" NOT NULL CHECK (char_length(slip) BETWEEN 1 AND 100),
    tid text COLLATE "C" NOT NULL UNIQUE,
    PRIMARY KEY (mode, slip)
);
-- Slips are looked for before the mode of the wallet is known.
CREATE INDEX topup_slips_by_slip ON topup_slips (slip);
CREATE TRIGGER topup_slips_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON topup_slips
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Events for merchants, with their exact bytes; written in the transaction that causes them.
CREATE TABLE events (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    object_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    body bytea NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
-- An event of a type happens to an object once.
CREATE UNIQUE INDEX events_once ON events (object_id, type);
CREATE INDEX events_by_time ON events (tenant_id, created_at, id);
CREATE INDEX events_by_xid ON events USING brin (xid) WITH (pages_per_range = 64);

-- The chain over live rows of these three tables. A seal covers the rows of one table after
-- (from_xid, from_key) up to (upto_xid, upto_key). Without a key a transaction is covered whole; one
-- with very many rows is covered in pieces. The MAC takes in the seal before it.
CREATE TABLE seals (
    number bigint PRIMARY KEY CHECK (number >= 1),
    subject text NOT NULL CHECK (subject IN ('transfers', 'transactions', 'events')),
    from_xid bigint NOT NULL,
    from_key text COLLATE "C",
    upto_xid bigint NOT NULL,
    upto_key text COLLATE "C",
    row_count bigint NOT NULL CHECK (row_count >= 0),
    deliveries bigint NOT NULL CHECK (deliveries >= 0),  -- of these events, when they were sealed
    content bytea NOT NULL CHECK (length(content) = 32),
    sealed_at timestamptz NOT NULL,
    mac bytea NOT NULL CHECK (length(mac) = 32),
    CHECK (upto_xid >= from_xid)
);
CREATE INDEX seals_by_subject ON seals (subject, number);
CREATE TRIGGER seals_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The totals of each day, by merchant and till. The background process writes them shortly after the
-- ledger, so that no payment waits for a row that all of them change. `figures_upto` is the last
-- transaction that they include; readers add the later ones.
CREATE TABLE daily_figures (
    tenant_id bigint NOT NULL REFERENCES tenants,
    day date NOT NULL,
    terminal_label text NOT NULL COLLATE "C",  -- empty if a payment names none
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
CREATE UNIQUE INDEX figures_upto_one ON figures_upto ((true));  -- one row
INSERT INTO figures_upto SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1;

-- == Webhooks =====================================================================================

-- Deliveries of events to merchants' webhooks. Written in the transaction of the event, if the
-- merchant has webhooks switched on and a URL. While an attempt is under way `next_attempt_at` lies
-- a lease ahead: if its process is killed, the attempt is repeated after the lease. `leases` counts
-- them. An outcome that arrives after the next lease has begun changes nothing.
CREATE TABLE deliveries (
    event_id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    failed_attempts bigint NOT NULL DEFAULT 0,  -- since it was first sent, or last sent again
    leases bigint NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
) WITH (fillfactor = 70);
-- Each tenant's queue is a separate range, so a long queue does not delay the others.
CREATE INDEX deliveries_due ON deliveries (tenant_id, next_attempt_at) WHERE status = 'pending';

-- Every attempt that was made, under the number of its lease.
CREATE TABLE delivery_attempts (
    event_id uuid NOT NULL,
    lease bigint NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms bigint NOT NULL CHECK (duration_ms >= 0),
    url text NOT NULL,
    http_status bigint,
    error text,
    answer text,  -- the first KiB
    PRIMARY KEY (event_id, lease)  -- an outcome is recorded once
);

-- == Statistics ===================================================================================

-- Autovacuum analyzes the tables of payments again and again while they grow. It reads as many random
-- pages as the largest target of their columns asks for: 30,000 with the default of 100, beside the
-- commits. Their queries go by keys and by whole indexes, so a tenth is enough to plan them.
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT attrelid::regclass AS name, attname
        FROM pg_attribute
        WHERE attnum > 0 AND NOT attisdropped AND attrelid = ANY (ARRAY[
            'authorizations', 'deliveries', 'delivery_attempts', 'events', 'payment_requests', 'payments',
            'reference_claims', 'saved_responses', 'transactions', 'transfers', 'wallet_windows',
            'wallets'
        ]::regclass[])
        ORDER BY attrelid, attnum
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 10', place.name, place.attname);
    END LOOP;
END
$$;
ALTER INDEX saved_responses_by_age_of_tenant ALTER COLUMN 1 SET STATISTICS 10;
