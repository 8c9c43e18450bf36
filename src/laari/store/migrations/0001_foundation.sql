-- Merchants, customers, wallets, hosted payments, the ledger, events and idempotency keys.
--
-- Foreign keys stand where rows are few and change seldom. The tables that every payment writes
-- carry none: a check would lock the busy merchant's row once per payment. `laari audit` proves
-- those links instead.

CREATE TABLE merchants (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    active boolean NOT NULL DEFAULT true,
    secret_digest bytea NOT NULL UNIQUE CHECK (length(secret_digest) = 32),
    secret_encrypted bytea NOT NULL,
    fee_bps bigint NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),
    fee_fixed bigint NOT NULL CHECK (fee_fixed BETWEEN 0 AND 9999999999),
    webhook_url text,
    webhooks_enabled boolean NOT NULL DEFAULT true,
    sandbox_account bigint NOT NULL UNIQUE, -- the wallet of the merchant's own sandbox customer
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A merchant in one mode. Everything a merchant owns belongs to one of its two tenants, so nothing
-- of one mode can show in the other.
CREATE TABLE tenants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    clock_offset_seconds bigint NOT NULL DEFAULT 0,
    UNIQUE (merchant_id, mode),
    CHECK (mode = 'sandbox' OR clock_offset_seconds = 0)
);

-- People of a merchant who log in to the dashboard.
CREATE TABLE merchant_users (
    email text COLLATE "C" PRIMARY KEY CHECK (email = lower(email)),
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

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

-- `sandbox_of` is the tenant whose own sandbox customer this is: every sandbox has one, so tests of
-- two merchants never touch.
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
    CHECK (sandbox_of IS NULL OR mode = 'sandbox')
);
CREATE UNIQUE INDEX customers_mobile ON customers (mode, mobile) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX customers_email ON customers (mode, email) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX customers_vpa ON customers (mode, vpa) WHERE sandbox_of IS NULL;

CREATE SEQUENCE wallet_accounts START 7700000000001;

-- The one balance that is stored, because it gates payments; what has been spent in the running
-- day, week and month stands beside it, so that one lock guards them all.
CREATE TABLE wallets (
    account bigint PRIMARY KEY DEFAULT nextval('wallet_accounts'),
    customer_id uuid NOT NULL UNIQUE REFERENCES customers,
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    tier text COLLATE "C" NOT NULL REFERENCES tiers,
    balance bigint NOT NULL DEFAULT 0,
    day_start date NOT NULL DEFAULT '1970-01-01',
    day_spent numeric NOT NULL DEFAULT 0 CHECK (day_spent >= 0),
    week_start date NOT NULL DEFAULT '1970-01-01',
    week_spent numeric NOT NULL DEFAULT 0 CHECK (week_spent >= 0),
    month_start date NOT NULL DEFAULT '1970-01-01',
    month_spent numeric NOT NULL DEFAULT 0 CHECK (month_spent >= 0)
) WITH (fillfactor = 80);

CREATE TABLE wallet_keys (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    account bigint NOT NULL REFERENCES wallets,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

-- One name space of references for hosted payments, charges and payment requests of a tenant.
CREATE TABLE reference_claims (
    tenant_id bigint NOT NULL,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    kind text NOT NULL CHECK (kind IN ('payment', 'charge', 'request')),
    resource_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, reference)
);

CREATE TABLE payments (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('hosted', 'request', 'charge')),
    token text COLLATE "C" NOT NULL UNIQUE,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    title text CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    terminal_label text COLLATE "C" CHECK (char_length(terminal_label) BETWEEN 1 AND 10),
    bill_number text COLLATE "C" CHECK (bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'),
    -- Counted in bytes, but for those that a payment request hands on.
    return_url text CHECK (
        char_length(return_url) >= 1
        AND char_length(return_url) <= 2048
        AND (kind = 'request' OR octet_length(return_url) <= 2048)
    ),
    metadata text NOT NULL CHECK (json_typeof(metadata::json) = 'object'),
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
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
-- Every listing walks one of these backwards from its cursor.
CREATE INDEX payments_by_time ON payments (tenant_id, created_at, id);
CREATE INDEX payments_by_status ON payments (tenant_id, status, created_at, id);
CREATE INDEX payments_by_label ON payments (tenant_id, terminal_label, created_at, id)
    WHERE terminal_label IS NOT NULL;
CREATE INDEX payments_by_bill ON payments (tenant_id, bill_number, created_at, id)
    WHERE bill_number IS NOT NULL;
CREATE INDEX payments_by_authorization ON payments (authorization_id, created_at, id)
    WHERE authorization_id IS NOT NULL;

-- The ledger: insert-only, two sides to every row. A correction is a new transfer.
CREATE TABLE transfers (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('payment', 'fee', 'refund', 'topup', 'adjustment')),
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    payment_id uuid,
    tid text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    CHECK (debit_account <> credit_account),
    CHECK ((kind IN ('payment', 'fee', 'refund')) = (payment_id IS NOT NULL))
);
CREATE UNIQUE INDEX transfers_once_per_payment ON transfers (payment_id, kind)
    WHERE payment_id IS NOT NULL;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER transfers_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON transfers FROM PUBLIC;

-- A customer's history, failed attempts included; `recorded` is the order it is read in.
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
    status text NOT NULL CHECK (status IN ('success', 'failed'))
);
CREATE INDEX transactions_by_account ON transactions (account, recorded);
CREATE TRIGGER transactions_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transactions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE events (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    object_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    body bytea NOT NULL
);
-- Every type of event happens at most once to an object.
CREATE UNIQUE INDEX events_once ON events (object_id, type);
CREATE INDEX events_by_time ON events (tenant_id, created_at, id);

CREATE TABLE saved_responses (
    tenant_id bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (key ~ '^[!-~]{1,255}$'),
    fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),
    status bigint NOT NULL,
    body bytea NOT NULL,
    completed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, operation, key)
);
CREATE INDEX saved_responses_by_age ON saved_responses (completed_at);

-- A tenant with what every command needs to know of it; read at every request, so two small joins.
CREATE VIEW tenant_details AS
SELECT t.id, t.merchant_id, m.name AS merchant_name, t.mode, m.fee_bps, m.fee_fixed,
       t.clock_offset_seconds, m.sandbox_account
FROM tenants t
JOIN merchants m ON m.id = t.merchant_id;
