-- Customers: their identity data, and sign-ups that wait for a code.

-- Document, number, date of birth and address: one value, encrypted with the master key and bound to
-- the customer (laari/store/people/identities.py). The journal has a digest of the encrypted bytes, so
-- the audit finds a change made in the database.
CREATE TABLE customer_identities (
    customer_id uuid PRIMARY KEY REFERENCES customers,
    encrypted bytea NOT NULL,
    entered_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER customer_identities_journal AFTER INSERT OR UPDATE OR DELETE ON customer_identities
    FOR EACH ROW EXECUTE FUNCTION journal_change('identity', '#encrypted');

-- Sign-ups of customers that wait for the code which was sent to their mobile number. The digest is of
-- the request's secret, which only the browser of the request knows.
CREATE TABLE customer_signups (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    mobile text COLLATE "C" NOT NULL CHECK (mobile <> ''),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    password_hash text NOT NULL,
    language text COLLATE "C" NOT NULL,
    code_digest bytea NOT NULL CHECK (length(code_digest) = 32),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- wrong codes
    expires_at timestamptz NOT NULL
);
CREATE INDEX customer_signups_by_expiry ON customer_signups (expires_at);
