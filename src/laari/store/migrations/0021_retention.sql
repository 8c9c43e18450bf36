-- What is removed for its age is recorded in the chain of seals (docs/audit.md): a record covers the
-- rows that its kind of removal has left between two places.
ALTER TABLE seals DROP CONSTRAINT seals_subject_check;
ALTER TABLE seals ADD CONSTRAINT seals_subject_check CHECK (subject IN (
    'transfers', 'transactions', 'events', 'old deliveries', 'sandbox events', 'old events',
    'sandbox failed lines', 'old failed lines'
));
-- Finds the seal that follows a place. A seal is made every few seconds, and no payment writes one.
CREATE INDEX seals_by_place ON seals (subject, upto_xid, upto_key);

-- Failed lines of a wallet's history may be removed in time. A line that moved money never is.
DROP TRIGGER transactions_insert_only ON transactions;
CREATE TRIGGER transactions_insert_only BEFORE UPDATE OR TRUNCATE ON transactions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER transactions_keep_money BEFORE DELETE ON transactions
    FOR EACH ROW WHEN (OLD.status <> 'failed') EXECUTE FUNCTION refuse_change();
