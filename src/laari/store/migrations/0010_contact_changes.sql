-- Changes of customers' mobile numbers and email addresses, which take effect after a delay.

-- A change waits for the code that was sent to the new contact, then for its moment. The old contact
-- gets a link that stops it. Ended changes stay. A stolen call to the operator is thus not enough to
-- take over a wallet.
CREATE TABLE contact_changes (
    id uuid PRIMARY KEY,
    customer_id uuid NOT NULL REFERENCES customers,
    contact text COLLATE "C" NOT NULL CHECK (contact IN ('mobile', 'email')),
    old_value text COLLATE "C",  -- at the time of the request; null if the customer had none
    new_value text COLLATE "C" NOT NULL CHECK (new_value <> ''),
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 255),
    requested_at timestamptz NOT NULL,
    requested_by text NOT NULL CHECK (requested_by <> ''),
    -- Of the six digits, made with the master key; null if the service cannot reach the new contact.
    code_digest bytea CHECK (length(code_digest) = 32),
    code_expires_at timestamptz,
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- wrong codes
    status text COLLATE "C" NOT NULL DEFAULT 'waiting'
        CHECK (status IN ('waiting', 'confirmed', 'done', 'cancelled', 'stopped', 'failed')),
    confirmed_at timestamptz,
    confirmed_by text,
    effective_at timestamptz CHECK (effective_at >= confirmed_at),
    stop_digest bytea UNIQUE CHECK (length(stop_digest) = 32),  -- of the link to the old contact
    ended_at timestamptz,
    ended_by text,
    end_reason text CHECK (char_length(end_reason) BETWEEN 1 AND 255),
    CONSTRAINT code_expires CHECK ((code_digest IS NULL) = (code_expires_at IS NULL)),
    CONSTRAINT confirmed_has_a_moment
        CHECK (num_nulls(confirmed_at, confirmed_by, effective_at, stop_digest) IN (0, 4)),
    CONSTRAINT confirmed_before_effect CHECK (
        (status = 'waiting' AND confirmed_at IS NULL)
        OR (status IN ('confirmed', 'done', 'stopped', 'failed') AND confirmed_at IS NOT NULL)
        OR status = 'cancelled'
    ),
    CONSTRAINT ended_has_an_actor CHECK (
        (status IN ('waiting', 'confirmed')) = (ended_at IS NULL)
        AND (ended_at IS NULL) = (ended_by IS NULL)
    )
);
-- One at a time for each customer and contact.
CREATE UNIQUE INDEX contact_changes_open ON contact_changes (customer_id, contact)
    WHERE status IN ('waiting', 'confirmed');
CREATE INDEX contact_changes_by_customer ON contact_changes (customer_id, id);
CREATE INDEX contact_changes_due ON contact_changes (effective_at) WHERE status = 'confirmed';
CREATE TRIGGER contact_changes_keep BEFORE DELETE OR TRUNCATE ON contact_changes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER contact_changes_end_once BEFORE UPDATE ON contact_changes
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_change();
-- Wrong codes are counted in `attempts` and have no entry.
CREATE TRIGGER contact_changes_journal AFTER INSERT OR DELETE OR UPDATE OF id, customer_id, contact,
        old_value, new_value, code_digest, status, confirmed_by, effective_at, ended_by
    ON contact_changes FOR EACH ROW EXECUTE FUNCTION journal_change('contact_change', 'customer_id',
        'contact', 'old_value', 'new_value', 'code_digest', 'status', 'confirmed_by', 'effective_at',
        'ended_by');
