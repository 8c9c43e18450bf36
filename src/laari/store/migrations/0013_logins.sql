-- A log-in made on a checkout or approval page is good for that page alone; null is everywhere.
ALTER TABLE sessions ADD COLUMN page text COLLATE "C",
    ADD CONSTRAINT sessions_page_check
        CHECK (page IS NULL OR (customer_id IS NOT NULL AND page ~ '^/(pay|approve)/[^/]+$'));

-- A password that an operator set is changed by its owner at the first log-in. One that came with a
-- new account (`first`) leads there; one that was set later (`must_change`) stops everything else.
ALTER TABLE customers ADD COLUMN password_must_change boolean NOT NULL DEFAULT false,
    ADD COLUMN password_first boolean NOT NULL DEFAULT false;
ALTER TABLE merchant_users ADD COLUMN password_must_change boolean NOT NULL DEFAULT false,
    ADD COLUMN password_first boolean NOT NULL DEFAULT false;
