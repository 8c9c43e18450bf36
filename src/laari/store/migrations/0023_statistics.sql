-- Autovacuum analyzes the tables of the payments again and again while they grow, and reads as many
-- random pages as the largest of their columns' targets asks for: 30,000 with the default of 100,
-- beside the commits. Their queries go by keys and by whole indexes, so a tenth is enough to plan them.
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
