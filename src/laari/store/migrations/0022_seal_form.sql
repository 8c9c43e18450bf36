-- How the rows of a seal are digested (store/seals.py). What exists was digested in the first form; a
-- process of the version before, which may still be sealing, uses that one and does not name it.
ALTER TABLE seals ADD COLUMN form smallint NOT NULL DEFAULT 1 CHECK (form >= 1);
