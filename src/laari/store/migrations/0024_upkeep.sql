-- What is past its retention is found tenant by tenant, each by its own clock. Of an expression, so
-- that no look-up by a key is ever planned along all responses of a tenant.
CREATE INDEX saved_responses_by_age_of_tenant ON saved_responses ((tenant_id | 0), completed_at);
ALTER INDEX saved_responses_by_age_of_tenant ALTER COLUMN 1 SET STATISTICS 10;
DROP INDEX saved_responses_by_age;

-- Rows that are written once and stay. A vacuum after each fifth of a large table would take long,
-- and nobody can summarize its new blocks meanwhile; and left unfrozen, all of it would be read and
-- written again every 200 million transactions. So: the same small piece each time, frozen at once.
ALTER TABLE transfers SET (autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0);
ALTER TABLE transactions SET (autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0);
ALTER TABLE events SET (autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 500000, autovacuum_freeze_min_age = 0);
