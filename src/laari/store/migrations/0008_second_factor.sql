-- The second factor of a person (TOTP), recovery codes, and links that set a forgotten password.

CREATE TABLE second_factors (
    person_id uuid PRIMARY KEY REFERENCES persons ON DELETE CASCADE,
    seed_encrypted bytea NOT NULL,  -- with the master key, bound to the person
    created_at timestamptz NOT NULL,
    -- Null while the person sets it up: it counts from the first code on.
    confirmed_at timestamptz,
    -- The 30-second step of the last accepted code. A code of this step or before is refused.
    last_step bigint NOT NULL DEFAULT 0,
    -- Wrong codes since the last right one. From the fifth on, each makes the person wait longer.
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    blocked_until timestamptz
);

-- Digests of codes for a lost phone, made with the master key. A used code is deleted.
CREATE TABLE recovery_codes (
    person_id uuid NOT NULL REFERENCES second_factors ON DELETE CASCADE,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (person_id, digest)
);

-- A session whose person still has to enter a code: it opens no page but the one for the code.
ALTER TABLE sessions ADD COLUMN factor_due boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT only_people_have_factors CHECK (NOT factor_due OR person_id IS NOT NULL);

-- Whether all people of the merchant need a second factor.
ALTER TABLE merchants ADD COLUMN requires_factor boolean NOT NULL DEFAULT false;

-- The journal watches it too, so each merchant gets an entry with the new value.
DROP TRIGGER merchants_journal ON merchants;
CREATE TRIGGER merchants_journal AFTER INSERT OR DELETE OR UPDATE OF id, name, mode, active, fee_bps,
        fee_fixed, webhook_url, webhooks_enabled, secret_digest, old_secret_digest,
        old_secret_until, requires_factor
    ON merchants FOR EACH ROW EXECUTE FUNCTION journal_change('merchant', 'name', 'mode', 'active',
        'fee_bps', 'fee_fixed', 'webhook_url', 'webhooks_enabled', 'secret_digest',
        'old_secret_digest', 'old_secret_until', 'requires_factor');
DO $$
BEGIN
    SET LOCAL timezone = 'UTC';
    SET LOCAL bytea_output = 'hex';
    INSERT INTO journal (time, actor_kind, actor_name, action, object_type, object_id, merchant_id,
        before, after)
    SELECT now(), 'service', 'upgrade', 'journal.extend', 'merchant', m.id, m.id, last.after,
        journal_state(to_jsonb(m), ARRAY['name', 'mode', 'active', 'fee_bps', 'fee_fixed',
            'webhook_url', 'webhooks_enabled', 'secret_digest', 'old_secret_digest',
            'old_secret_until', 'requires_factor'])::text
    FROM merchants m LEFT JOIN LATERAL (
        SELECT j.after FROM journal j WHERE j.object_type = 'merchant' AND j.object_id = m.id
        ORDER BY j.id DESC LIMIT 1) AS last ON true;
END
$$;

-- Links and codes for a forgotten password: one at a time for each customer and person. It is
-- deleted when it is used, and purged when it has expired.
CREATE TABLE password_links (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),  -- of the link, or of the code's request
    customer_id uuid UNIQUE REFERENCES customers ON DELETE CASCADE,
    person_id uuid UNIQUE REFERENCES persons ON DELETE CASCADE,
    -- Of the digits in an SMS, made with the master key; null for a link, which is the secret.
    code_digest bytea CHECK (length(code_digest) = 32),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- wrong codes
    expires_at timestamptz NOT NULL,
    CONSTRAINT password_links_of_one CHECK (num_nonnulls(customer_id, person_id) = 1)
);
CREATE INDEX password_links_by_expiry ON password_links (expires_at);
