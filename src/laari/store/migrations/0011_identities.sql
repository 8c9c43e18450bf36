-- Identity data of customers: document, number, date of birth and address.

-- One value, encrypted with the master key and bound to the customer (laari/store/people/identities.py).
-- The journal has a digest of the encrypted bytes, so the audit finds a change made in the database.
CREATE TABLE customer_identities (
    customer_id uuid PRIMARY KEY REFERENCES customers,
    encrypted bytea NOT NULL,
    entered_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER customer_identities_journal AFTER INSERT OR UPDATE OR DELETE ON customer_identities
    FOR EACH ROW EXECUTE FUNCTION journal_change('identity', '#encrypted');
