-- Who is logged in on the pages: a customer, or one of a merchant's people. Of the token in the
-- browser's cookie only the digest is kept.
CREATE TABLE sessions (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    customer_id uuid REFERENCES customers ON DELETE CASCADE,
    email text COLLATE "C" REFERENCES merchant_users ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    authenticated_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    CHECK (num_nonnulls(customer_id, email) = 1)
);
CREATE INDEX sessions_by_customer ON sessions (customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX sessions_by_email ON sessions (email) WHERE email IS NOT NULL;
CREATE INDEX sessions_by_age ON sessions (seen_at);
