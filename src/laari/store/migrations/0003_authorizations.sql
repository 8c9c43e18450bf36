-- A customer's leave to be charged later. Usage stands on the row itself: one lock guards the
-- limits, and no charge ever sums history.
CREATE TABLE authorizations (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    token text COLLATE "C" NOT NULL UNIQUE,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 128),
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    type text NOT NULL CHECK (type IN ('recurring', 'unscheduled', 'one_time')),
    currency text NOT NULL DEFAULT 'MVR',
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
    account bigint,
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
    UNIQUE (tenant_id, reference),
    CONSTRAINT period_amount_needs_interval
        CHECK (period_amount IS NULL OR period_interval IS NOT NULL),
    CONSTRAINT one_time_is_one_payment
        CHECK (type <> 'one_time' OR (coalesce(max_payments, 1) = 1 AND payment_count <= 1)),
    CONSTRAINT approved_has_account CHECK ((approved_at IS NULL) = (account IS NULL)),
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

-- What was charged in periods other than the one on the authorization's row, which guards these
-- rows too. They count again where a sandbox's clock is moved back.
CREATE TABLE authorization_periods (
    authorization_id uuid NOT NULL,
    period_start date NOT NULL,
    paid numeric NOT NULL CHECK (paid > 0),
    PRIMARY KEY (authorization_id, period_start)
);
