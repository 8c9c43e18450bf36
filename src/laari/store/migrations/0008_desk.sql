-- The operator's desk: search by name, and why an attempt to pay failed.

-- == Search =======================================================================================

-- The words of a name in small letters, for a search by the beginning of any word. A configuration
-- of text search would split and drop words by rules of a language.
CREATE FUNCTION name_words(name text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(
        array_remove(regexp_split_to_array(lower(name), '[[:space:][:punct:]]+'), '')
    )
$$;
-- Names are written rarely, so an index entry is added at once and a search never reads a list of
-- waiting entries.
CREATE INDEX customers_by_start ON customers (lower(name) text_pattern_ops);
CREATE INDEX customers_by_name ON customers USING gin (name_words(name)) WITH (fastupdate = off);
CREATE INDEX merchants_by_name ON merchants USING gin (name_words(name)) WITH (fastupdate = off);
-- A reference without its merchant. The primary key begins with the tenant: it would be looked up
-- once for each of them. A hash index would be written at a random place for every payment. The
-- tenant is in it because the planner may take this index for a look-up of both.
CREATE INDEX reference_claims_by_reference ON reference_claims (reference, tenant_id);
CREATE INDEX authorizations_by_reference ON authorizations (reference, tenant_id);

-- == Freezes =====================================================================================

-- A silent freeze is not named on the customer's pages. A reason is kept for the end of a freeze too.
ALTER TABLE wallets
    ADD COLUMN frozen_silently boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT silent_is_frozen CHECK (NOT frozen_silently OR frozen_at IS NOT NULL);
ALTER TABLE wallets ALTER COLUMN frozen_silently SET STATISTICS 10;
ALTER TABLE wallet_freezes
    ADD COLUMN silent boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT frozen_for_a_reason,
    ADD CONSTRAINT frozen_for_a_reason CHECK (action <> 'frozen' OR reason IS NOT NULL),
    ADD CONSTRAINT silent_is_frozen CHECK (NOT silent OR action = 'frozen');

-- == History ======================================================================================

-- Why an attempt to pay failed: the balance was too low, a limit would have been exceeded, or the
-- wallet was frozen. Attempts of earlier versions have no reason.
ALTER TABLE transactions
    ADD COLUMN failure text COLLATE "C" CHECK (failure IN (
        'insufficient_balance', 'per_transaction', 'daily', 'weekly', 'monthly', 'frozen'
    )),
    ADD CONSTRAINT failure_of_failed CHECK (failure IS NULL OR status = 'failed');
ALTER TABLE transactions ALTER COLUMN failure SET STATISTICS 10;

-- == Money that two operators move ================================================================

-- Top-ups and adjustments above the operator's limit wait here for a second person. The movement
-- itself is one transaction with its row's end (laari/rules/banking/movements.py).
CREATE TABLE pending_movements (
    id uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    requested_by text NOT NULL CHECK (requested_by <> ''),
    kind text NOT NULL CHECK (kind IN ('topup', 'adjustment')),
    account bigint NOT NULL REFERENCES wallets,
    amount bigint NOT NULL CHECK (amount <> 0 AND (kind <> 'topup' OR amount > 0)),
    details text NOT NULL CHECK (details <> ''),
    slip text COLLATE "C" CHECK (char_length(slip) BETWEEN 1 AND 100),
    below_zero boolean NOT NULL,
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'refused')),
    decided_at timestamptz,
    decided_by text,
    reason text CHECK (char_length(reason) BETWEEN 1 AND 255),  -- of a refusal
    tid text COLLATE "C",  -- of the line of history
    CONSTRAINT decided_has_a_person CHECK (
        (status = 'waiting') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)
    ),
    CONSTRAINT done_has_a_line CHECK ((status = 'done') = (tid IS NOT NULL)),
    CONSTRAINT refused_for_a_reason CHECK ((status = 'refused') = (reason IS NOT NULL)),
    -- The person who asks may withdraw a movement, and never make it.
    CONSTRAINT second_person CHECK (status <> 'done' OR decided_by <> requested_by)
);
CREATE INDEX pending_movements_waiting ON pending_movements (id) WHERE status = 'waiting';
CREATE INDEX pending_movements_by_account ON pending_movements (account);
CREATE TRIGGER pending_movements_keep BEFORE DELETE OR TRUNCATE ON pending_movements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- A movement that was decided never changes.
CREATE TRIGGER pending_movements_end_once BEFORE UPDATE ON pending_movements
    FOR EACH ROW WHEN (OLD.status <> 'waiting') EXECUTE FUNCTION refuse_change();

-- The operator's movements of a day, newest last: ids begin with their time. Payments are not in it.
CREATE INDEX transfers_from_outside ON transfers (id) WHERE kind IN ('topup', 'adjustment');

-- == From sandbox to live =========================================================================

-- What a shop says about itself to go live. One application of a merchant is open at a time; those
-- that were decided stay.
CREATE TABLE applications (
    id uuid PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    submitted_at timestamptz NOT NULL,
    submitted_by text NOT NULL CHECK (submitted_by <> ''),
    legal_name text NOT NULL CHECK (char_length(legal_name) BETWEEN 1 AND 255),
    registration_number text NOT NULL CHECK (char_length(registration_number) BETWEEN 1 AND 100),
    tax_number text CHECK (char_length(tax_number) BETWEEN 1 AND 100),  -- null: not registered
    address text NOT NULL CHECK (char_length(address) BETWEEN 1 AND 500),
    bank_name text NOT NULL CHECK (char_length(bank_name) BETWEEN 1 AND 100),
    bank_holder text NOT NULL CHECK (char_length(bank_holder) BETWEEN 1 AND 255),
    bank_account text COLLATE "C" NOT NULL CHECK (char_length(bank_account) BETWEEN 1 AND 40),
    monthly_volume bigint NOT NULL CHECK (monthly_volume >= 0),  -- expected, in laari
    contact text NOT NULL CHECK (char_length(contact) BETWEEN 1 AND 255),
    status text NOT NULL DEFAULT 'submitted'
        CHECK (status IN ('submitted', 'approved', 'refused', 'withdrawn')),
    decided_at timestamptz,
    decided_by text,
    reason text CHECK (char_length(reason) BETWEEN 1 AND 500),  -- shown to the merchant
    CONSTRAINT decided_has_a_person CHECK (
        (status = 'submitted') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)
    ),
    CONSTRAINT refused_for_a_reason CHECK (status <> 'refused' OR reason IS NOT NULL)
);
CREATE UNIQUE INDEX applications_open ON applications (merchant_id) WHERE status = 'submitted';
CREATE INDEX applications_by_merchant ON applications (merchant_id, submitted_at);
CREATE TRIGGER applications_keep BEFORE DELETE OR TRUNCATE ON applications
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER applications_end_once BEFORE UPDATE ON applications
    FOR EACH ROW WHEN (OLD.status <> 'submitted') EXECUTE FUNCTION refuse_change();

-- Why a merchant is inactive, shown to its people.
ALTER TABLE merchants
    ADD COLUMN inactive_reason text CHECK (char_length(inactive_reason) BETWEEN 1 AND 255),
    ADD CONSTRAINT only_inactive_has_a_reason CHECK (inactive_reason IS NULL OR NOT active);

-- The fees of a merchant since a moment, written by a trigger, so that no change is without history.
CREATE TABLE fee_history (
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    since timestamptz NOT NULL,
    fee_bps bigint NOT NULL,
    fee_fixed bigint NOT NULL,
    recorded bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (merchant_id, recorded)
);
INSERT INTO fee_history (merchant_id, since, fee_bps, fee_fixed)
SELECT id, created_at, fee_bps, fee_fixed FROM merchants ORDER BY created_at, id;
CREATE TRIGGER fee_history_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON fee_history
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE FUNCTION keep_fees() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR (OLD.fee_bps, OLD.fee_fixed) <> (NEW.fee_bps, NEW.fee_fixed) THEN
        INSERT INTO fee_history (merchant_id, since, fee_bps, fee_fixed)
        VALUES (NEW.id, now(), NEW.fee_bps, NEW.fee_fixed);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER merchants_fees AFTER INSERT OR UPDATE OF fee_bps, fee_fixed ON merchants
    FOR EACH ROW EXECUTE FUNCTION keep_fees();

-- Fees that begin later. The background process sets them at their moment, so a payment reads them
-- where it always did.
CREATE TABLE scheduled_fees (
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    starts_at timestamptz NOT NULL,
    fee_bps bigint NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),
    fee_fixed bigint NOT NULL CHECK (fee_fixed BETWEEN 0 AND 9999999999),
    scheduled_by text NOT NULL CHECK (scheduled_by <> ''),
    scheduled_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (merchant_id, starts_at)
);
CREATE INDEX scheduled_fees_due ON scheduled_fees (starts_at);

-- == Notes about customers ========================================================================

-- What operators write down about a customer, such as a verified call. Notes are never changed.
CREATE TABLE customer_notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id uuid NOT NULL REFERENCES customers,
    time timestamptz NOT NULL DEFAULT now(),
    author text NOT NULL CHECK (author <> ''),
    text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 2000)
);
CREATE INDEX customer_notes_by_customer ON customer_notes (customer_id, id);
CREATE TRIGGER customer_notes_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON customer_notes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- == Health =======================================================================================

-- The last backup and audit by the commands; null before the first. Other tools are not known here.
ALTER TABLE installation
    ADD COLUMN last_backup_at timestamptz,
    ADD COLUMN last_audit_at timestamptz,
    ADD COLUMN last_audit_ok boolean,
    ADD CONSTRAINT audit_has_a_result CHECK ((last_audit_at IS NULL) = (last_audit_ok IS NULL));
-- Deliveries and messages that were given up, for the person on call. They are few.
CREATE INDEX deliveries_failed ON deliveries (event_id) WHERE status = 'failed';
CREATE INDEX messages_failed ON messages (id) WHERE status = 'failed';
