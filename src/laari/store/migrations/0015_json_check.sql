-- `IS JSON` came with PostgreSQL 16. The first migration has this check in a form that 15 knows too;
-- databases that were made before are brought to the same. Every payment is read once for it.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_constraint
        WHERE conrelid = 'payments'::regclass AND conname = 'payments_metadata_check'
            AND pg_get_constraintdef(oid) LIKE '%IS JSON%'
    ) THEN
        ALTER TABLE payments DROP CONSTRAINT payments_metadata_check;
        ALTER TABLE payments ADD CHECK (json_typeof(metadata::json) = 'object');
    END IF;
END
$$;
