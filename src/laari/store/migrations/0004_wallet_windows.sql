-- Requests of the wallet interface, counted per account in windows of 60 seconds of real time.
--
-- Unlogged: a count is written with every request and forgotten a minute later, so it is not worth
-- a wait for the disk. After a crash of the database the table is empty and new windows open; the
-- other servers of an installation share it all the same. There is one row per wallet ever asked
-- about, and no foreign key: its check would touch the wallet's row.
CREATE UNLOGGED TABLE wallet_windows (
    account bigint PRIMARY KEY,
    opened_at timestamptz NOT NULL,
    used bigint NOT NULL CHECK (used > 0)
) WITH (fillfactor = 70);
