-- The chain over the ledger (docs/audit.md). Rows that are never changed carry the number of the
-- transaction that wrote them: what is below the oldest running transaction is complete, and can
-- be sealed. Rows from before this migration carry the number of the migration itself.
ALTER TABLE transfers ADD COLUMN xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
ALTER TABLE transactions ADD COLUMN xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
ALTER TABLE events ADD COLUMN xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;

-- Rows are appended, so these few entries find the newest of them and cost a write next to nothing.
CREATE INDEX transfers_by_xid ON transfers USING brin (xid) WITH (pages_per_range = 64);
CREATE INDEX transactions_by_xid ON transactions USING brin (xid) WITH (pages_per_range = 64);
CREATE INDEX events_by_xid ON events USING brin (xid) WITH (pages_per_range = 64);
-- Without knowledge of a new column the planner would rather read a whole table.
ANALYZE transfers (xid);
ANALYZE transactions (xid);
ANALYZE events (xid);

-- A seal covers the rows of one table after (from_xid, from_key) up to (upto_xid, upto_key). Without
-- a key, a transaction is covered whole; one with very many rows is covered in pieces.
CREATE TABLE seals (
    number bigint PRIMARY KEY CHECK (number >= 1),
    subject text NOT NULL CHECK (subject IN ('transfers', 'transactions', 'events')),
    from_xid bigint NOT NULL,
    from_key text COLLATE "C",
    upto_xid bigint NOT NULL,
    upto_key text COLLATE "C",
    row_count bigint NOT NULL CHECK (row_count >= 0),
    deliveries bigint NOT NULL CHECK (deliveries >= 0),
    content bytea NOT NULL CHECK (length(content) = 32),
    sealed_at timestamptz NOT NULL,
    mac bytea NOT NULL CHECK (length(mac) = 32),
    CHECK (upto_xid >= from_xid)
);
CREATE INDEX seals_by_subject ON seals (subject, number);
CREATE TRIGGER seals_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
