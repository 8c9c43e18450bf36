-- Seals cover live rows in one format; what is purged leaves no record in the chain.
ALTER TABLE seals DROP CONSTRAINT seals_subject_check;
ALTER TABLE seals ADD CONSTRAINT seals_subject_check
    CHECK (subject IN ('transfers', 'transactions', 'events'));
ALTER TABLE seals DROP COLUMN form;
DROP INDEX seals_by_place;
-- Events with lower ids may have lost their delivery to its age.
ALTER TABLE installation ADD COLUMN deliveries_purged_before uuid NOT NULL
    DEFAULT '00000000-0000-0000-0000-000000000000';
