-- Payments asked of a customer.
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
    customer_value text NOT NULL CHECK (customer_value <> ''),
    account bigint NOT NULL,
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
CREATE INDEX payment_requests_by_label
    ON payment_requests (tenant_id, terminal_label, created_at, id)
    WHERE terminal_label IS NOT NULL;
CREATE INDEX payment_requests_by_bill ON payment_requests (tenant_id, bill_number, created_at, id)
    WHERE bill_number IS NOT NULL;
CREATE INDEX payment_requests_by_account ON payment_requests (account, created_at, id);
-- What the sweep looks for, tenant by tenant because each has its own clock.
CREATE INDEX payment_requests_due ON payment_requests (tenant_id, expires_at)
    WHERE status = 'pending' AND reserved_at IS NULL;
