-- A frozen wallet: since when, and why. Nothing leaves it until it is lifted.
ALTER TABLE wallets
    ADD COLUMN frozen_at timestamptz,
    ADD COLUMN frozen_reason text CHECK (char_length(frozen_reason) BETWEEN 1 AND 255),
    ADD CONSTRAINT frozen_for_a_reason CHECK (num_nonnulls(frozen_at, frozen_reason) IN (0, 2));

-- The bank's references of transfers that were topped up: each brings its money in once.
CREATE TABLE topup_slips (
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    slip text COLLATE "C" NOT NULL CHECK (char_length(slip) BETWEEN 1 AND 100),
    tid text COLLATE "C" NOT NULL UNIQUE,
    PRIMARY KEY (mode, slip)
);
-- Slips are looked for before the mode of the wallet is known.
CREATE INDEX topup_slips_by_slip ON topup_slips (slip);
CREATE TRIGGER topup_slips_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON topup_slips
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
