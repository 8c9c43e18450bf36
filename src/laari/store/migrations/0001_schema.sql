-- The schema of Laari. Read it from top to bottom.
--
-- Amounts are whole laari in `bigint`. Sums that can pass 2^63 are `numeric` without a fraction.
-- Identifiers, references and labels are COLLATE "C": their order does not depend on the locale.
-- Modes, statuses, kinds and types are compared for equality only, which is byte by byte in every
-- collation: some have it and some do not, without a difference.
--
-- The checks repeat the rules of `laari.rules`, so that a defect in the code cannot write a row that
-- breaks them. Only small tables that rarely change have foreign keys. The tables that every
-- payment writes have none: a check would lock the busy merchant's row once per payment.
-- `laari audit` proves those links instead. `device_payments` has two, to rows of the payer, which
-- no other customer's payment locks.
--
-- PostgreSQL reads all checks of a table again for every statement that writes it. In the tables
-- that payments write they are short for this reason: `= ANY ('{a,b}')` takes half as long as
-- `IN ('a', 'b')`, and one check less than two.
--
-- A `digest` of a key, token, link or code is made with the master key, which is not in the database
-- (laari/store/secrets.py). So nobody can write a row for a secret of their own. A `binding`, made in
-- the same way, ties such a digest to its owner: given to another owner, the row opens nothing.
-- laari/store/audit/coverage.py says of each column how a change made in the database is found.
--
-- The order: installation; merchants and their people; customers and wallets; log-ins; payments; the
-- ledger; payouts and the bank; figures; webhooks; messages; the journal; first rows; statistics.

-- For tables whose rows are never changed or deleted.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- The words of a name in small letters, for a search by the beginning of any word. A configuration
-- of text search would split and drop words by rules of a language.
CREATE FUNCTION name_words(name text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(
        array_remove(regexp_split_to_array(lower(name), '[[:space:][:punct:]]+'), '')
    )
$$;

-- == The installation =============================================================================

-- Facts about the whole installation: one row, created when the database is first opened.
CREATE TABLE installation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),  -- so there cannot be a second row
    -- Derived from the master key: a wrong key is refused before it encrypts anything.
    master_key_check bytea NOT NULL CHECK (length(master_key_check) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    public_url text,  -- the last address of the service, for commands that print links
    -- The deliveries of events with lower ids may have been purged.
    deliveries_purged_before uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    -- The last backup and audit by the commands; null if there was none. Other tools are not known
    -- here.
    last_backup_at timestamptz,
    last_audit_at timestamptz,
    last_audit_ok boolean,
    CONSTRAINT audit_has_a_result CHECK ((last_audit_at IS NULL) = (last_audit_ok IS NULL))
);

-- == Merchants: terms, keys and the way from sandbox to live ======================================

-- Times of keys are real time by the database's clock, also in the sandbox.
CREATE TABLE merchants (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),  -- which of its tenants the key opens
    active boolean NOT NULL DEFAULT true,  -- an inactive merchant takes no money
    inactive_reason text CHECK (char_length(inactive_reason) BETWEEN 1 AND 255),  -- for its people
    -- The secret key is looked up by its digest. It also signs webhooks, so it is kept encrypted too.
    secret_digest bytea NOT NULL UNIQUE CHECK (length(secret_digest) = 32),
    secret_encrypted bytea NOT NULL,
    -- The key before the last rotation. It authenticates and signs webhooks until `old_secret_until`;
    -- from then on `secret_encrypted` signs. All three are null if the rotation had no overlap.
    -- A key that is not a merchant's `secret_digest` is looked up here.
    old_secret_digest bytea UNIQUE CHECK (length(old_secret_digest) = 32),
    old_secret_encrypted bytea,  -- because it signs
    old_secret_until timestamptz,  -- no longer valid at this moment
    fee_bps bigint NOT NULL CHECK (fee_bps BETWEEN 0 AND 10000),  -- at most the whole amount
    fee_fixed bigint NOT NULL CHECK (fee_fixed BETWEEN 0 AND 9999999999),
    webhook_url text,
    webhooks_enabled boolean NOT NULL DEFAULT true,
    sandbox_account bigint NOT NULL UNIQUE,  -- the wallet of the merchant's own sandbox customer
    requires_factor boolean NOT NULL DEFAULT false,  -- all its people need a second factor
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT only_inactive_has_a_reason CHECK (inactive_reason IS NULL OR NOT active),
    -- An old key without an end would work for ever.
    CONSTRAINT old_secret_is_complete
        CHECK (num_nonnulls(old_secret_digest, old_secret_encrypted, old_secret_until) IN (0, 3)),
    -- A rotation makes a new key.
    CONSTRAINT old_secret_is_another CHECK (old_secret_digest <> secret_digest)
);
-- For the operator's search. Names are written rarely, so an index entry is added at once and a
-- search never reads a list of waiting entries.
CREATE INDEX merchants_by_name ON merchants USING gin (name_words(name)) WITH (fastupdate = off);

-- A merchant in one mode. Everything a merchant owns belongs to one of its two tenants, so nothing
-- of one mode can show in the other. A merchant with a live tenant is approved for live.
CREATE TABLE tenants (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    clock_offset_seconds bigint NOT NULL DEFAULT 0,
    -- The largest payment of the merchant in this mode, beside the general one; null for no limit.
    max_payment bigint CHECK (max_payment BETWEEN 1 AND 9999999999),
    UNIQUE (merchant_id, mode),  -- one tenant for each mode
    -- Real money has real time.
    CONSTRAINT only_sandboxes_have_a_clock CHECK (mode = 'sandbox' OR clock_offset_seconds = 0)
);

-- A tenant with the facts that every command needs; every request reads it.
CREATE VIEW tenant_details AS
SELECT t.id, t.merchant_id, m.name AS merchant_name, t.mode, m.fee_bps, m.fee_fixed,
       t.clock_offset_seconds, m.sandbox_account, m.active, t.max_payment
FROM tenants t
JOIN merchants m ON m.id = t.merchant_id;

-- The fees of a merchant since a moment, written by a trigger, so that no change is without history.
-- Insert-only and sealed, as the ledger.
CREATE TABLE fee_history (
    recorded bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    since timestamptz NOT NULL,
    fee_bps bigint NOT NULL,
    fee_fixed bigint NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX fee_history_by_merchant ON fee_history (merchant_id, recorded);
CREATE INDEX fee_history_by_xid ON fee_history USING brin (xid) WITH (pages_per_range = 64);
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

-- Fees that begin later. The background process sets them at their moment, so a payment reads
-- the fees of `merchants` only.
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
    -- With the bounds of `bank_accounts`: an approval copies them.
    bank_name text NOT NULL CHECK (char_length(bank_name) BETWEEN 1 AND 70),
    bank_holder text NOT NULL CHECK (char_length(bank_holder) BETWEEN 1 AND 70),
    bank_account text COLLATE "C" NOT NULL CHECK (bank_account ~ '^[0-9]{4,20}$'),
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
    CONSTRAINT refused_for_a_reason CHECK (status <> 'refused' OR reason IS NOT NULL),
    -- Checked after each statement: one statement ends an application and adds the next.
    CONSTRAINT applications_open EXCLUDE (merchant_id WITH =) WHERE (status = 'submitted') DEFERRABLE
);
CREATE INDEX applications_by_merchant ON applications (merchant_id, submitted_at);
CREATE TRIGGER applications_keep BEFORE DELETE OR TRUNCATE ON applications
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER applications_end_once BEFORE UPDATE ON applications
    FOR EACH ROW WHEN (OLD.status <> 'submitted') EXECUTE FUNCTION refuse_change();

-- OAuth clients of a merchant. A scope is written as OAuth does: names with a space between them,
-- '' for none. The secret has 256 random bits, and only its digest is kept.
CREATE TABLE oauth_clients (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^cl_[a-z0-9]{20}$'),
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    secret_digest bytea NOT NULL CHECK (length(secret_digest) = 32),
    name text CHECK (char_length(name) BETWEEN 1 AND 80),  -- for people; null for none
    scope text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- From this moment the client gets no token and its tokens do not work; null for never.
    expires_at timestamptz,
    revoked_at timestamptz,
    -- The last time it got a token or used one, exact to about a minute.
    last_used_at timestamptz,
    CONSTRAINT oauth_clients_expire_later CHECK (expires_at > created_at)
);
CREATE INDEX oauth_clients_by_merchant ON oauth_clients (merchant_id, created_at);

-- Access tokens, by their digests. No foreign key: issuing a token would lock its client's row. A
-- look-up ignores a token whose client is gone or revoked.
CREATE TABLE access_tokens (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    client_id text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CONSTRAINT tokens_expire_later CHECK (expires_at > issued_at),
    sandbox_offset_seconds bigint NOT NULL,  -- of the sandbox's clock when the token was issued
    binding bytea NOT NULL CHECK (length(binding) = 32)  -- to the client and the scope
);
-- For purging.
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

-- Tills of a tenant. A payment names its till by a label, so that programs need no row here.
CREATE TABLE tills (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL REFERENCES tenants,
    -- No two of a tenant differ only by spaces or case: the command decides this, since it knows all
    -- letters.
    name text COLLATE "C" NOT NULL CHECK (char_length(name) BETWEEN 1 AND 10),
    token text COLLATE "C" NOT NULL UNIQUE,  -- of the address of its static code
    created_at timestamptz NOT NULL,
    -- Its devices keep the secret, and check with it that the static code was paid while they have no
    -- connection. A new one with each pairing and each end of a device.
    secret_encrypted bytea NOT NULL,
    active boolean NOT NULL,  -- an inactive till has no devices, and its code takes no payments
    -- The code that pairs the next device, once, before its end.
    pairing_digest bytea UNIQUE CHECK (length(pairing_digest) = 32),
    pairing_expires_at timestamptz,
    UNIQUE (tenant_id, name),
    CONSTRAINT pairing_is_complete
        CHECK ((pairing_digest IS NULL) = (pairing_expires_at IS NULL)),
    CONSTRAINT only_active_is_paired CHECK (active OR pairing_digest IS NULL)
);

-- Devices that were paired with a till, by the digests of their tokens. Ended ones stay.
CREATE TABLE till_devices (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    binding bytea NOT NULL CHECK (length(binding) = 32),  -- to the till
    till_id uuid NOT NULL REFERENCES tills,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 80),  -- for people
    paired_at timestamptz NOT NULL,
    ended_at timestamptz,
    last_seen_at timestamptz  -- exact to about a minute
);
CREATE INDEX till_devices_by_till ON till_devices (till_id);

-- Addresses at which many customers pay, each with a payment of their own. Ended ones stay.
CREATE TABLE reusable_links (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL REFERENCES tenants,
    token text COLLATE "C" NOT NULL UNIQUE,  -- of its address
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
    amount bigint CHECK (amount BETWEEN 1 AND 9999999999),  -- null: the customer types it
    ends_at timestamptz,  -- on the tenant's clock; null for never
    created_at timestamptz NOT NULL,
    ended_at timestamptz  -- by a person
);
CREATE INDEX reusable_links_open ON reusable_links (tenant_id) WHERE ended_at IS NULL;

-- == People: roles, invitations and second factors ================================================
--
-- A person has an email, a password and sessions. A membership gives a person a role at one merchant,
-- or at the operator. One person can work for several merchants with one password. Customers are
-- separate, even with the same email.

-- People who work for merchants or the operator, by their email addresses.
CREATE TABLE persons (
    id uuid PRIMARY KEY,
    email text COLLATE "C" NOT NULL UNIQUE CHECK (email = lower(email)),  -- in one spelling only
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- An operator set the password, and its owner has to change it. One that came with a new account
    -- (`first`) leads to the change; one that was set later (`must_change`) stops everything else.
    password_must_change boolean NOT NULL DEFAULT false,
    password_first boolean NOT NULL DEFAULT false,
    -- False after a sign-up: anybody could have entered the address. Such a person gets no power
    -- at another merchant before an operator or an invitation sets a new password.
    proven boolean NOT NULL
);

-- The role of a person at one place. A membership that ends is deleted.
CREATE TABLE memberships (
    person_id uuid NOT NULL REFERENCES persons,
    merchant_id text COLLATE "C" REFERENCES merchants,  -- null: the operator of the service
    role text NOT NULL,
    -- The label of the payments that a cashier sees and makes.
    till text COLLATE "C" CHECK (char_length(till) BETWEEN 1 AND 10),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz,  -- on this merchant's pages, exact to about a minute
    CONSTRAINT one_role_at_each_place UNIQUE NULLS NOT DISTINCT (person_id, merchant_id),
    CONSTRAINT role_fits_the_place CHECK (
        CASE WHEN merchant_id IS NULL THEN role IN ('admin', 'finance', 'support')
             ELSE role IN ('owner', 'manager', 'accountant', 'cashier') END),
    CONSTRAINT only_cashiers_have_a_till CHECK ((role = 'cashier') = (till IS NOT NULL))
);
CREATE INDEX memberships_by_merchant ON memberships (merchant_id);

-- A merchant with people has an owner. The code decides this under the same lock; the trigger also
-- guards changes that somebody makes by hand. It runs at commit, so that ownership can change hands.
CREATE FUNCTION keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place text;
BEGIN
    FOREACH place IN ARRAY ARRAY[OLD.merchant_id, NEW.merchant_id] LOOP
        PERFORM FROM merchants WHERE id = place FOR NO KEY UPDATE;
        IF (SELECT every(role <> 'owner') FROM memberships WHERE merchant_id = place) THEN
            RAISE EXCEPTION 'merchant % has people but no owner', place
                USING ERRCODE = 'check_violation', CONSTRAINT = 'keep_an_owner';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER keep_an_owner AFTER INSERT OR UPDATE OF merchant_id, role OR DELETE
    ON memberships DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep_an_owner();

-- Invitations: an owner offers a role to an email address. The link works once, for 24 hours. An
-- accepted or withdrawn invitation is deleted.
CREATE TABLE invitations (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),  -- of the token in the link
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    email text COLLATE "C" NOT NULL CHECK (email = lower(email)),
    role text NOT NULL CHECK (role IN ('owner', 'manager', 'accountant', 'cashier')),
    till text COLLATE "C" CHECK (char_length(till) BETWEEN 1 AND 10),
    -- Invitations of a person who leaves end with the person; null for the command line.
    invited_by uuid REFERENCES persons ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CONSTRAINT invitations_expire_later CHECK (expires_at > created_at),
    -- A link that the inviter saw says nothing about the owner of the address: the inviter can open
    -- it. Only a link that went to the address by email, or that an operator forwards, proves the
    -- address and may replace the password of a person who has not proved it.
    proves boolean NOT NULL,
    CONSTRAINT invitations_once UNIQUE (merchant_id, email),  -- a new one replaces the old one
    CONSTRAINT only_cashiers_are_invited_to_a_till CHECK ((role = 'cashier') = (till IS NOT NULL))
);
CREATE INDEX invitations_by_inviter ON invitations (invited_by) WHERE invited_by IS NOT NULL;

-- The second factor of a person (TOTP).
CREATE TABLE second_factors (
    person_id uuid PRIMARY KEY REFERENCES persons ON DELETE CASCADE,
    seed_encrypted bytea NOT NULL,  -- with the master key, bound to the person
    created_at timestamptz NOT NULL,
    -- Null while the person sets it up: it counts from the first code on.
    confirmed_at timestamptz,
    -- The 30-second step of the last accepted code. A code of this step or before is refused.
    last_step bigint NOT NULL DEFAULT 0,
    -- Wrong codes since the last right one. From the fifth on, each makes the person wait longer.
    failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0),
    blocked_until timestamptz,
    codes_made_at timestamptz,  -- the present recovery codes
    -- Digests of codes for a lost phone, made with the master key. A used code leaves the list.
    recovery_codes text[] NOT NULL DEFAULT '{}'
);

-- == Customers and their wallets ==================================================================

-- The limits of a wallet for one payment, a day, a week and a month; null is no limit.
CREATE TABLE tiers (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_-]{0,39}$'),
    per_transaction bigint CHECK (per_transaction >= 0),
    daily bigint CHECK (daily >= 0),
    weekly bigint CHECK (weekly >= 0),
    monthly bigint CHECK (monthly >= 0)
);

-- `sandbox_of` is the tenant whose own sandbox customer this is. Every sandbox has one, so the tests
-- of two merchants never touch.
CREATE TABLE customers (
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    sandbox_of bigint UNIQUE REFERENCES tenants,
    mobile text COLLATE "C",
    email text COLLATE "C" CHECK (email = lower(email)),
    vpa text COLLATE "C" CHECK (vpa = lower(vpa)),  -- virtual payment address
    language text NOT NULL DEFAULT 'en' CHECK (language IN ('en', 'dv')),  -- of messages
    password_hash text,
    created_at timestamptz NOT NULL DEFAULT now(),
    password_must_change boolean NOT NULL DEFAULT false,  -- as for persons
    password_first boolean NOT NULL DEFAULT false,
    CONSTRAINT sandbox_customers_are_of_sandboxes CHECK (sandbox_of IS NULL OR mode = 'sandbox')
);
-- A payment request names its customer by one of these, so each is one customer's in its mode. All
-- sandbox customers of merchants share the designated address and are left out.
CREATE UNIQUE INDEX customers_mobile ON customers (mode, mobile) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX customers_email ON customers (mode, email) WHERE sandbox_of IS NULL;
CREATE UNIQUE INDEX customers_vpa ON customers (mode, vpa) WHERE sandbox_of IS NULL;
-- For the operator's search, as for merchants.
CREATE INDEX customers_by_start ON customers (lower(name) text_pattern_ops);
CREATE INDEX customers_by_name ON customers USING gin (name_words(name)) WITH (fastupdate = off);

-- Document, number, date of birth and address: one value, encrypted with the master key and bound to
-- the customer (laari/rules/people/identities.py). The journal has a digest of the encrypted bytes, so
-- the audit finds a change made in the database.
CREATE TABLE customer_identities (
    customer_id uuid PRIMARY KEY REFERENCES customers,
    encrypted bytea NOT NULL,
    entered_at timestamptz NOT NULL DEFAULT now()
);

-- Sign-ups of customers that wait for the code which was sent to their mobile number. The digest is of
-- the request's secret, which only the browser of the request knows.
CREATE TABLE customer_signups (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    mobile text COLLATE "C" NOT NULL CHECK (mobile <> ''),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    password_hash text NOT NULL,
    language text COLLATE "C" NOT NULL,
    code_digest bytea NOT NULL CHECK (length(code_digest) = 32),
    attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- wrong codes
    expires_at timestamptz NOT NULL
);
CREATE INDEX customer_signups_by_expiry ON customer_signups (expires_at);

-- Changes of customers' mobile numbers and email addresses, which take effect after a delay.
--
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
    lost boolean NOT NULL,  -- the customer has lost the old contact: it gets no link
    requested_at timestamptz NOT NULL,
    requested_by text NOT NULL CHECK (requested_by <> ''),
    -- Of the six digits, made with the master key; null if the service cannot reach the new contact.
    code_digest bytea CHECK (length(code_digest) = 32),
    code_expires_at timestamptz,
    attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- wrong codes
    status text COLLATE "C" NOT NULL DEFAULT 'waiting'
        CHECK (status IN ('waiting', 'confirmed', 'done', 'cancelled', 'stopped', 'failed')),
    confirmed_at timestamptz,
    confirmed_by text,
    -- When it is made, unless it is stopped before.
    effective_at timestamptz CONSTRAINT effect_after_confirmation CHECK (effective_at >= confirmed_at),
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

-- What operators write down about a customer, such as a verified call. Insert-only and sealed, as the
-- ledger.
CREATE TABLE customer_notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id uuid NOT NULL REFERENCES customers,
    time timestamptz NOT NULL DEFAULT now(),
    author text NOT NULL CHECK (author <> ''),
    text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 2000),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX customer_notes_by_xid ON customer_notes USING brin (xid) WITH (pages_per_range = 64);
CREATE INDEX customer_notes_by_customer ON customer_notes (customer_id, id);
CREATE TRIGGER customer_notes_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON customer_notes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- "This was not me": a customer says it about a line of the history, and the operator answers. One for
-- each line. No foreign key to the line, as for all hot tables.
CREATE TABLE cases (
    id uuid PRIMARY KEY,
    customer_id uuid NOT NULL REFERENCES customers,
    tid text COLLATE "C" NOT NULL UNIQUE,
    text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 500),
    opened_at timestamptz NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN ('open', 'resolved', 'rejected')),
    answer text CHECK (char_length(answer) BETWEEN 1 AND 500),
    answered_at timestamptz,
    answered_by text CHECK (answered_by <> ''),
    CONSTRAINT answered_has_an_answer CHECK (
        num_nulls(answer, answered_at, answered_by) = CASE status WHEN 'open' THEN 3 ELSE 0 END
    )
);
CREATE INDEX cases_open ON cases (id) WHERE status = 'open';
CREATE INDEX cases_answered ON cases (answered_at) WHERE status <> 'open';
CREATE INDEX cases_by_customer ON cases (customer_id, id);
CREATE TRIGGER cases_keep BEFORE DELETE OR TRUNCATE ON cases
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER cases_end_once BEFORE UPDATE ON cases
    FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION refuse_change();

-- A trusted person gets messages about the money of the customer who asked for it: payments above an
-- amount, new authorizations and changed bank accounts. One for each customer; the row is used again.
-- If the customer ends it, the messages go on until `ends_at`.
CREATE TABLE trusted_people (
    customer_id uuid PRIMARY KEY REFERENCES customers,
    trusted_id uuid REFERENCES customers  -- null: nobody has the number
        CONSTRAINT trusted_is_another CHECK (trusted_id <> customer_id),
    mobile text COLLATE "C" NOT NULL CHECK (mobile ~ '^[0-9]{7}$'),  -- as it was entered
    -- A payment of more sends a message.
    above bigint NOT NULL CHECK (above BETWEEN 0 AND 999999999999999999),
    asked_at timestamptz NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN ('asked', 'agreed', 'ended')),
    agreed_at timestamptz,
    ends_at timestamptz,
    CONSTRAINT agreed_by_somebody CHECK (status <> 'agreed' OR num_nonnulls(trusted_id, agreed_at) = 2),
    CONSTRAINT ends_after_agreed CHECK (ends_at IS NULL OR status <> 'asked')
);
CREATE INDEX trusted_people_by_trusted ON trusted_people (trusted_id) WHERE status <> 'ended';
CREATE TRIGGER trusted_people_keep BEFORE DELETE OR TRUNCATE ON trusted_people
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Accounts of wallets begin here. The accounts below are those of the service itself and of merchants
-- (see the ledger).
CREATE SEQUENCE wallet_accounts START 7700000000001;

-- The only stored balance, because payments depend on it. The same row has the amounts spent in the
-- current day, week and month, so that one lock guards them all.
CREATE TABLE wallets (
    account bigint PRIMARY KEY DEFAULT nextval('wallet_accounts'),
    customer_id uuid NOT NULL UNIQUE REFERENCES customers,  -- one wallet for each customer
    mode text NOT NULL CHECK (mode = ANY ('{live,sandbox}')),
    tier text COLLATE "C" NOT NULL REFERENCES tiers,
    balance bigint NOT NULL DEFAULT 0,  -- an operator may correct it to below zero
    day_start date NOT NULL DEFAULT '1970-01-01',
    day_spent numeric NOT NULL DEFAULT 0 CHECK (day_spent >= 0),
    week_start date NOT NULL DEFAULT '1970-01-01',
    week_spent numeric NOT NULL DEFAULT 0 CHECK (week_spent >= 0),
    month_start date NOT NULL DEFAULT '1970-01-01',
    month_spent numeric NOT NULL DEFAULT 0 CHECK (month_spent >= 0),
    -- The offset of the sandbox's clock when something was last counted. Another offset means that
    -- the clock was moved since, and not that two servers' clocks differ.
    counted_offset_seconds bigint NOT NULL DEFAULT 0,
    frozen_at timestamptz,
    frozen_reason text CHECK (char_length(frozen_reason) BETWEEN 1 AND 255),
    frozen_silently boolean NOT NULL DEFAULT false,  -- not named on the customer's pages
    -- Nothing leaves a frozen wallet, and there is always a reason. Only a freeze can be silent.
    CONSTRAINT frozen_for_a_reason CHECK (
        (frozen_at IS NULL) = (frozen_reason IS NULL)
        AND (frozen_at IS NOT NULL OR NOT frozen_silently)
    )
) WITH (fillfactor = 80);

-- Every time a wallet was frozen and unfrozen; `wallets` has only the present state. Insert-only and
-- sealed, as the ledger.
CREATE TABLE wallet_freezes (
    recorded bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL REFERENCES wallets,
    time timestamptz NOT NULL,
    action text NOT NULL CHECK (action IN ('frozen', 'unfrozen')),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 255),  -- also of the end of a freeze
    silent boolean NOT NULL DEFAULT false,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT frozen_for_a_reason CHECK (action <> 'frozen' OR reason IS NOT NULL),
    CONSTRAINT silent_is_frozen CHECK (NOT silent OR action = 'frozen')
);
CREATE INDEX wallet_freezes_by_account ON wallet_freezes (account, recorded);
CREATE INDEX wallet_freezes_by_xid ON wallet_freezes USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER wallet_freezes_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON wallet_freezes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The amounts that sandbox wallets (by their customer) and authorizations counted in past periods. A
-- sandbox's clock may be moved back into them. Live rows only go forward and need none.
CREATE TABLE sandbox_periods (
    owner uuid NOT NULL,
    unit text NOT NULL CHECK (unit IN ('day', 'week', 'month', 'year')),
    start date NOT NULL,
    spent numeric NOT NULL CHECK (spent > 0),
    PRIMARY KEY (owner, unit, start)
);

-- Keys of the wallet interface, by their digests.
CREATE TABLE wallet_keys (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    account bigint NOT NULL REFERENCES wallets,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    last_used_at timestamptz  -- exact to about a minute
);
CREATE INDEX wallet_keys_by_account ON wallet_keys (account, created_at);

-- Requests of the wallet interface, counted per account in windows of 60 seconds of real time.
--
-- Unlogged: a count is written with every request and has no use a minute later, so it is not worth
-- a wait for the disk. After a crash of the database the table is empty and new windows open. No
-- foreign key: its check would touch the wallet's row.
CREATE UNLOGGED TABLE wallet_windows (
    account bigint PRIMARY KEY,
    opened_at timestamptz NOT NULL,
    used bigint NOT NULL CHECK (used > 0)
) WITH (fillfactor = 70);

-- == Log-ins of customers and people ==============================================================

-- Log-ins on the pages. The browser's cookie has the token; this table has only its digest.
CREATE TABLE sessions (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),  -- another one while `factor_due`
    binding bytea NOT NULL CHECK (length(binding) = 32),  -- to the customer or person, and the page
    customer_id uuid REFERENCES customers ON DELETE CASCADE,
    person_id uuid REFERENCES persons ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    authenticated_at timestamptz NOT NULL,  -- the last time with a password, passkey or code
    seen_at timestamptz NOT NULL,  -- the last request, exact to about a minute
    page text COLLATE "C",
    -- The person still has to enter a code: it opens no page but the one for the code.
    factor_due boolean NOT NULL DEFAULT false,
    merchant_id text COLLATE "C",  -- the merchant whose pages it opened last
    -- Merchants whose owner ended it: their pages need a new log-in, and other merchants' do not.
    ended_for text[] COLLATE "C" NOT NULL DEFAULT '{}',
    -- Of the log-in.
    address text COLLATE "C" CHECK (char_length(address) BETWEEN 1 AND 64),
    device text CHECK (char_length(device) BETWEEN 1 AND 80),  -- "Firefox on Android"
    CONSTRAINT sessions_of_one CHECK (num_nonnulls(customer_id, person_id) = 1),
    -- A log-in made on a checkout or approval page is good for that page alone; null is everywhere.
    CONSTRAINT only_customers_have_a_page
        CHECK (page IS NULL OR (customer_id IS NOT NULL AND page ~ '^/(pay|approve)/[^/]+$')),
    CONSTRAINT only_people_have_factors CHECK (NOT factor_due OR person_id IS NOT NULL)
);
CREATE INDEX sessions_by_customer ON sessions (customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX sessions_by_person ON sessions (person_id) WHERE person_id IS NOT NULL;
-- For purging.
CREATE INDEX sessions_by_age ON sessions (seen_at);

-- Passkeys of customers: public keys of authenticators, with which they log in without the password.
-- Ended ones stay, so that none of them counts again.
CREATE TABLE passkeys (
    id uuid PRIMARY KEY,
    customer_id uuid NOT NULL REFERENCES customers,
    -- The identifier that the authenticator gave to it.
    credential bytea NOT NULL UNIQUE CHECK (length(credential) BETWEEN 1 AND 1023),
    public_key bytea NOT NULL CHECK (length(public_key) BETWEEN 1 AND 2048),  -- as COSE
    binding bytea NOT NULL CHECK (length(binding) = 32),  -- of both to the customer
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 50),
    added_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- By the authenticator: a copy of it is noticed when one of the two is behind. Some never count.
    counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
    -- When the challenge of the last use was made: an older one is refused, so each counts once.
    challenged_at timestamptz,
    used_at timestamptz
);
CREATE INDEX passkeys_by_customer ON passkeys (customer_id) WHERE ended_at IS NULL;
CREATE TRIGGER passkeys_keep BEFORE DELETE OR TRUNCATE ON passkeys
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER passkeys_end_once BEFORE UPDATE ON passkeys
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_change();

-- Remembered devices: browsers that pay small amounts for a customer without the password, up to a sum
-- of each day. Ended ones stay, because payments name them.
CREATE TABLE remembered_devices (
    id uuid PRIMARY KEY,
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),  -- of the token
    binding bytea NOT NULL CHECK (length(binding) = 32),  -- of the digest to the customer
    customer_id uuid NOT NULL REFERENCES customers,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 50),
    added_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE INDEX remembered_devices_by_customer ON remembered_devices (customer_id)
    WHERE ended_at IS NULL;
CREATE TRIGGER remembered_devices_keep BEFORE DELETE OR TRUNCATE ON remembered_devices
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER remembered_devices_end_once BEFORE UPDATE ON remembered_devices
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_change();

-- What remembered devices paid. Under the lock on the wallet, the sum of a customer and day decides.
CREATE TABLE device_payments (
    payment_id uuid PRIMARY KEY,
    device_id uuid NOT NULL REFERENCES remembered_devices,
    customer_id uuid NOT NULL REFERENCES customers,
    day date NOT NULL,  -- in the Maldives
    amount bigint NOT NULL CHECK (amount > 0)
);
CREATE INDEX device_payments_by_customer ON device_payments (customer_id, day);
CREATE INDEX device_payments_by_device ON device_payments (device_id, day);
CREATE TRIGGER device_payments_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON device_payments
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Links and codes for a forgotten password: one at a time for each customer and person. It is
-- deleted when it is used, and purged when it has expired.
CREATE TABLE password_links (
    whose uuid PRIMARY KEY,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('customer', 'person')),
    digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),  -- of the link, or of the code's request
    binding bytea NOT NULL CHECK (length(binding) = 32),  -- to the customer or person
    -- Of the digits in an SMS, made with the master key; null for a link, which is the secret.
    code_digest bytea CHECK (length(code_digest) = 32),
    expires_at timestamptz NOT NULL,
    attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0)  -- wrong codes
);
CREATE INDEX password_links_by_expiry ON password_links (expires_at);

-- Failed log-ins of a customer or a person, counted by day in Maldives time: an attacker who tries
-- passwords writes one row a day. Identities that nobody has are not stored.
CREATE TABLE failed_logins (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('customer', 'person')),
    whose uuid NOT NULL,
    day date NOT NULL,
    attempts bigint NOT NULL CHECK (attempts > 0),
    last_at timestamptz NOT NULL,
    PRIMARY KEY (kind, whose, day)
);
-- For purging.
CREATE INDEX failed_logins_by_day ON failed_logins (day);

-- == Payments =====================================================================================

-- One name space of references for hosted payments, charges and payment requests of a tenant. The
-- primary key decides which of two requests with one reference came first. It is the only index,
-- because every payment writes it: the operator's search looks a reference up for each tenant.
CREATE TABLE reference_claims (
    tenant_id bigint NOT NULL,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    kind text NOT NULL CHECK (kind = ANY ('{payment,charge,request}')),
    resource_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, reference)
);

-- Payments of all kinds: hosted ones, those made by paying a payment request, and charges of an
-- authorization. Only the columns from `status` on change.
CREATE TABLE payments (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind = ANY ('{hosted,request,charge}')),
    token text COLLATE "C" NOT NULL,  -- of its public address; nobody gets that of a charge
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    title text CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    terminal_label text COLLATE "C" CHECK (char_length(terminal_label) BETWEEN 1 AND 10),
    bill_number text COLLATE "C" CHECK (bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'),
    -- Counted in bytes, except for those that come from a payment request.
    return_url text CONSTRAINT return_url_is_short CHECK (
        char_length(return_url) >= 1
        AND char_length(return_url) <= 2048
        AND (kind = 'request' OR octet_length(return_url) <= 2048)
    ),
    metadata text NOT NULL CHECK (json_typeof(metadata::json) = 'object'),  -- as it was sent
    created_at timestamptz NOT NULL,
    expires_at timestamptz,  -- null for charges, which are paid when they are made
    request_id uuid,
    authorization_id uuid,
    status text NOT NULL
        CHECK (status = ANY ('{pending,paid,rejected,expired,cancelled,refunded}')),
    fee bigint CONSTRAINT fee_fits_amount CHECK (fee BETWEEN 0 AND amount),
    paid_at timestamptz,
    payment_reference text COLLATE "C",
    payer_account bigint,  -- the wallet that paid
    reserved_at timestamptz,  -- an attempt to pay is in progress
    reserved_by bigint,  -- the wallet of the attempt
    cancelled_at timestamptz,
    rejected_at timestamptz,
    refunded_at timestamptz,
    refunded_amount bigint,  -- the refunded part; null instead of 0, so that no payment writes it
    -- Fee, time, receipt and payer are all there once money has moved, and none of them before.
    CONSTRAINT paid_means_settled CHECK (
        num_nulls(fee, paid_at, payment_reference, payer_account)
        = CASE WHEN status = ANY ('{paid,refunded}') THEN 0 ELSE 4 END
    ),
    CONSTRAINT reserved_only_while_pending CHECK (
        (reserved_at IS NULL) = (reserved_by IS NULL)
        AND (reserved_at IS NULL OR status = 'pending')
    ),
    CONSTRAINT end_times_fit_status CHECK (
        (status = 'cancelled') = (cancelled_at IS NOT NULL)
        AND (status = 'rejected') = (rejected_at IS NOT NULL)
        AND (status = 'refunded') = (refunded_at IS NOT NULL)
    ),
    CONSTRAINT kind_fits_links CHECK (
        (kind = 'request') = (request_id IS NOT NULL)
        AND (kind = 'charge') = (authorization_id IS NOT NULL)
    ),
    -- Never more than was paid. A payment stays paid until everything is refunded.
    CONSTRAINT refunded_fits_payment CHECK (
        CASE WHEN refunded_amount IS NULL THEN refunded_at IS NULL
        ELSE refunded_amount BETWEEN 1 AND amount AND paid_at IS NOT NULL
            AND (refunded_amount = amount) = (refunded_at IS NOT NULL) END
    )
);
CREATE UNIQUE INDEX payments_by_token ON payments (token) WHERE kind <> 'charge';
-- Every listing walks one of these backwards from its cursor. A till's payments of one status are
-- one stretch of an index; without a status they are six.
CREATE INDEX payments_by_time ON payments (tenant_id, created_at, id);
CREATE INDEX payments_by_status ON payments (tenant_id, status, created_at, id);
CREATE INDEX payments_by_label_and_status
    ON payments (tenant_id, terminal_label, status, created_at, id)
    WHERE terminal_label IS NOT NULL;
CREATE INDEX payments_by_bill ON payments (tenant_id, bill_number, created_at, id)
    WHERE bill_number IS NOT NULL;
CREATE INDEX payments_by_authorization ON payments (authorization_id, created_at, id)
    WHERE authorization_id IS NOT NULL;
-- A merchant's movements of some days: payments in the order in which they were paid.
CREATE INDEX payments_by_paid ON payments (tenant_id, paid_at, id) WHERE paid_at IS NOT NULL;

-- Requests to a customer to pay. Paying one makes a payment (`payment_id`).
CREATE TABLE payment_requests (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 100),
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    title text CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    terminal_label text COLLATE "C" CHECK (char_length(terminal_label) BETWEEN 1 AND 10),
    bill_number text COLLATE "C" CHECK (bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'),
    return_url text CHECK (char_length(return_url) BETWEEN 1 AND 2048),
    customer_type text NOT NULL CHECK (customer_type IN ('mobile', 'email', 'vpa')),
    customer_value text NOT NULL CHECK (customer_value <> ''),  -- as the merchant wrote it
    account bigint NOT NULL,  -- the only wallet that may pay it
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    status text NOT NULL
        CHECK (status IN ('pending', 'paid', 'rejected', 'expired', 'cancelled', 'refunded')),
    fee bigint CONSTRAINT fee_fits_amount CHECK (fee BETWEEN 0 AND amount),
    paid_at timestamptz,
    payment_id uuid,
    payment_reference text COLLATE "C",
    reserved_at timestamptz,  -- an attempt to pay is in progress, by `account`
    cancelled_at timestamptz,
    rejected_at timestamptz,
    CONSTRAINT paid_means_settled CHECK (
        (status IN ('paid', 'refunded'))
        = (num_nulls(fee, paid_at, payment_id, payment_reference) = 0)
        AND num_nulls(fee, paid_at, payment_id, payment_reference) IN (0, 4)
    ),
    CONSTRAINT reserved_only_while_pending CHECK (reserved_at IS NULL OR status = 'pending'),
    CONSTRAINT end_times_fit_status CHECK (
        (status = 'cancelled') = (cancelled_at IS NOT NULL)
        AND (status = 'rejected') = (rejected_at IS NOT NULL)
    )
);
CREATE INDEX payment_requests_by_time ON payment_requests (tenant_id, created_at, id);
CREATE INDEX payment_requests_by_status ON payment_requests (tenant_id, status, created_at, id);
CREATE INDEX payment_requests_by_label_and_status
    ON payment_requests (tenant_id, terminal_label, status, created_at, id)
    WHERE terminal_label IS NOT NULL;
CREATE INDEX payment_requests_by_bill ON payment_requests (tenant_id, bill_number, created_at, id)
    WHERE bill_number IS NOT NULL;
CREATE INDEX payment_requests_by_account ON payment_requests (account, created_at, id);
-- The next request to expire, tenant by tenant because each has its own clock.
CREATE INDEX payment_requests_due ON payment_requests (tenant_id, expires_at)
    WHERE status = 'pending' AND reserved_at IS NULL;

-- A customer's permission to be charged later. The row contains its usage: one lock guards the
-- limits, and no charge sums history.
CREATE TABLE authorizations (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    token text COLLATE "C" NOT NULL UNIQUE,
    reference text COLLATE "C" NOT NULL CHECK (char_length(reference) BETWEEN 1 AND 128),
    title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
    description text CHECK (char_length(description) BETWEEN 1 AND 500),
    type text NOT NULL CHECK (type = ANY ('{recurring,unscheduled,one_time}')),
    currency text NOT NULL DEFAULT 'MVR',
    -- The limits; null is none.
    per_payment bigint CHECK (per_payment BETWEEN 1 AND 999999999999999999),
    period_interval text CHECK (period_interval = ANY ('{day,week,month,year}')),
    period_amount bigint CHECK (period_amount BETWEEN 1 AND 999999999999999999),
    total bigint CHECK (total BETWEEN 1 AND 999999999999999999),
    max_payments bigint CHECK (max_payments BETWEEN 1 AND 4294967295),
    return_url text CHECK (octet_length(return_url) BETWEEN 1 AND 2048),
    created_at timestamptz NOT NULL,
    approval_expires_at timestamptz NOT NULL,
    expires_at timestamptz,
    status text NOT NULL
        CHECK (status = ANY ('{pending,active,rejected,revoked,cancelled,suspended,consumed}')),
    account bigint,  -- the wallet that approved it, and is charged
    payment_count bigint NOT NULL CHECK (payment_count BETWEEN 0 AND 4294967295),
    total_paid numeric NOT NULL CHECK (total_paid >= 0),
    period_start date,
    period_paid numeric NOT NULL CHECK (period_paid >= 0),
    approved_at timestamptz,
    rejected_at timestamptz,
    revoked_at timestamptz,
    cancelled_at timestamptz,
    last_used_at timestamptz,
    updated_at timestamptz NOT NULL,
    counted_offset_seconds bigint NOT NULL DEFAULT 0,  -- as for wallets
    UNIQUE (tenant_id, reference),  -- separate from the references of payments
    CONSTRAINT period_amount_needs_interval
        CHECK (period_amount IS NULL OR period_interval IS NOT NULL),
    CONSTRAINT one_time_is_one_payment
        CHECK (type <> 'one_time' OR (coalesce(max_payments, 1) = 1 AND payment_count <= 1)),
    CONSTRAINT approved_has_account CHECK ((approved_at IS NULL) = (account IS NULL)),
    -- No charge can exceed a limit. A limit that is null passes this check.
    CONSTRAINT within_limits CHECK (
        payment_count <= max_payments AND total_paid <= total AND period_paid <= period_amount
    ),
    CONSTRAINT times_fit_status CHECK (
        (status = 'rejected') = (rejected_at IS NOT NULL)
        AND (status = 'revoked') = (revoked_at IS NOT NULL)
        AND (status = 'cancelled') = (cancelled_at IS NOT NULL)
        AND (status = ANY ('{active,suspended,revoked,consumed}')) = (approved_at IS NOT NULL)
    )
) WITH (fillfactor = 85);
CREATE INDEX authorizations_by_time ON authorizations (tenant_id, created_at, id);
CREATE INDEX authorizations_by_status ON authorizations (tenant_id, status, created_at, id);
CREATE INDEX authorizations_by_account ON authorizations (account, created_at, id)
    WHERE account IS NOT NULL;
-- A reference without its merchant, as for payments.
CREATE INDEX authorizations_by_reference ON authorizations (reference, tenant_id);

-- Every refund of a payment, in part or whole. No foreign keys, as for transfers.
CREATE TABLE refunds (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    payment_id uuid NOT NULL,
    amount bigint NOT NULL CHECK (amount BETWEEN 1 AND 9999999999),
    reason text CHECK (reason IN ('requested_by_customer', 'duplicate', 'fraudulent', 'other')),
    note text CHECK (char_length(note) BETWEEN 1 AND 500),
    -- The person, operator or credential that made it.
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    tid text COLLATE "C" NOT NULL UNIQUE,  -- of its transfer, and of the line of history
    created_at timestamptz NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX refunds_by_payment ON refunds (payment_id, created_at, id);
CREATE INDEX refunds_by_time ON refunds (tenant_id, created_at, id);
CREATE INDEX refunds_by_xid ON refunds USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER refunds_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refunds
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Responses to requests with an idempotency key. A repeated request gets the same response.
CREATE TABLE saved_responses (
    tenant_id bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL CHECK (key ~ '^[!-~]{1,255}$'),
    fingerprint bytea NOT NULL CHECK (length(fingerprint) = 32),  -- of the request's content
    status bigint NOT NULL,  -- of HTTP
    code text COLLATE "C" NOT NULL,  -- of the refusal; empty if it is none
    body bytea NOT NULL,
    completed_at timestamptz NOT NULL,
    replays bigint NOT NULL DEFAULT 0,  -- how often it was sent again
    last_replayed_at timestamptz,
    resource_id uuid,  -- the resource in the response
    PRIMARY KEY (tenant_id, operation, key),  -- a key means one request
    CONSTRAINT replayed_has_a_time CHECK ((replays > 0) = (last_replayed_at IS NOT NULL))
);
CREATE INDEX saved_responses_by_resource ON saved_responses (resource_id)
    WHERE resource_id IS NOT NULL;
-- For purging, tenant by tenant, each by its own clock. Of an expression, so that no look-up by a
-- key is ever planned along all responses of a tenant.
CREATE INDEX saved_responses_by_age_of_tenant ON saved_responses ((tenant_id | 0), completed_at);

-- == The ledger, history and events: rows that never change =======================================
--
-- Each row has the number of the transaction that wrote it (`xid`). Rows below the oldest running
-- transaction are complete and can be sealed (docs/audit.md). Rows are appended, so a BRIN
-- index finds the newest of them and costs a write almost nothing.

-- The ledger: every row has two sides, so the books balance by construction. A correction is a new
-- transfer.
--
-- The service's own accounts are 1 to 10, live and sandbox in turn: fees, outside (the bank account),
-- in transit (sent to the bank, not confirmed), corrections, and unallocated (received, not yet
-- assigned). A merchant's account is 1,000,000,000 and the tenant's number; its held money is on
-- 2,000,000,000 and the tenant's number. Accounts of wallets come from `wallet_accounts`.
CREATE TABLE transfers (
    id uuid PRIMARY KEY,
    -- The fee of a payout moves from the merchant to the service, and back if the payout is cancelled.
    kind text NOT NULL CHECK (kind = ANY (
        '{payment,fee,refund,topup,adjustment,payout,payout_fee,payout_settled,payout_returned,hold,'
        'release,merchant_adjustment,receipt,withdrawal,sweep,bank_charge}'
    )),
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    payment_id uuid,  -- of a payment, its fee and its refunds
    tid text COLLATE "C" NOT NULL,  -- the line of history that shows it
    created_at timestamptz NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT payment_fits_kind
        CHECK ((kind = ANY ('{payment,fee,refund}')) = (payment_id IS NOT NULL)),
    -- An adjustment moves no money in or out of the bank, so its other side is the corrections
    -- account.
    CONSTRAINT accounts_fit_kind CHECK (
        debit_account <> credit_account
        AND (kind <> 'adjustment' OR debit_account = ANY ('{7,8}') OR credit_account = ANY ('{7,8}'))
    )
);
-- A payment is paid and charged a fee once. It may be refunded several times, each time under
-- another reference. One index serves both, because every payment writes it.
CREATE UNIQUE INDEX transfers_once_per_payment
    ON transfers (payment_id, (CASE kind WHEN 'refund' THEN tid ELSE kind COLLATE "C" END))
    WHERE payment_id IS NOT NULL;
CREATE INDEX transfers_by_xid ON transfers USING brin (xid) WITH (pages_per_range = 64);
-- The few movements of a merchant's money that are neither payments nor refunds, in their order.
CREATE INDEX transfers_of_merchants ON transfers ((
    CASE WHEN debit_account BETWEEN 1000000000 AND 1999999999 THEN debit_account
    ELSE credit_account END
), created_at, id)
    WHERE kind IN (
        'payout', 'payout_fee', 'payout_returned', 'hold', 'release', 'merchant_adjustment'
    );
-- Movements of the live bank account, for its daily figures. Payments never touch it.
CREATE INDEX transfers_of_the_bank ON transfers (created_at)
    WHERE debit_account = 3 OR credit_account = 3;
-- The operator's movements of a day, newest last: ids begin with their time. Payments are not in it.
CREATE INDEX transfers_from_outside ON transfers (id) WHERE kind IN ('topup', 'adjustment');
CREATE TRIGGER transfers_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The history of wallets, failed attempts included; `recorded` is the order it is read in.
CREATE TABLE transactions (
    tid text COLLATE "C" PRIMARY KEY,
    account bigint NOT NULL,
    recorded bigint GENERATED ALWAYS AS IDENTITY,
    time timestamptz NOT NULL,
    type text NOT NULL
        CHECK (type = ANY ('{topup,payment,refund,transfer,withdraw,adjustment}')),
    name text NOT NULL,  -- of the other side, as the customer reads it
    details text NOT NULL,  -- what it was for, as the customer reads it
    amount bigint NOT NULL CHECK (amount <> 0),
    status text NOT NULL CHECK (status = ANY ('{success,failed}')),
    -- Why an attempt to pay failed: the balance was too low, a limit would have been exceeded, or the
    -- wallet was frozen.
    failure text COLLATE "C" CONSTRAINT failure_of_failed CHECK (
        failure IS NULL OR status = 'failed'
        AND failure = ANY ('{insufficient_balance,per_transaction,daily,weekly,monthly,frozen}')
    ),
    -- Of a failed attempt: the payment or payment request that stayed unpaid.
    unpaid_id uuid CONSTRAINT unpaid_of_failed CHECK (unpaid_id IS NULL OR status = 'failed'),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX transactions_by_account ON transactions (account, recorded);
CREATE INDEX transactions_unpaid ON transactions (unpaid_id, recorded) WHERE unpaid_id IS NOT NULL;
CREATE INDEX transactions_by_xid ON transactions USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER transactions_insert_only BEFORE UPDATE OR TRUNCATE ON transactions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Failed lines of a sandbox may be purged. A line that moved money is never deleted.
CREATE TRIGGER transactions_keep_money BEFORE DELETE ON transactions
    FOR EACH ROW WHEN (OLD.status <> 'failed') EXECUTE FUNCTION refuse_change();

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

-- Events for merchants, with their exact bytes; written in the transaction that causes them.
CREATE TABLE events (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    object_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    body bytea NOT NULL,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
-- An event of a type happens to an object once. But a payout of several orders can come back in
-- parts: the audit counts those. One expression instead of a third column, because every payment
-- writes it.
CREATE UNIQUE INDEX events_once
    ON events (object_id, (CASE type WHEN 'payout.returned' THEN id::text COLLATE "C" ELSE type END));
CREATE INDEX events_by_time ON events (tenant_id, created_at, id);
CREATE INDEX events_by_xid ON events USING brin (xid) WITH (pages_per_range = 64);
-- Events of a sandbox may be purged.
CREATE TRIGGER events_never_change BEFORE UPDATE OR TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The chain over live rows of the tables that `subject` names. A seal covers the rows of one table
-- after (from_xid, from_key) up to (upto_xid, upto_key). Without a key a transaction is covered whole;
-- one with very many rows is covered in pieces. The MAC takes in the seal before it.
CREATE TABLE seals (
    number bigint PRIMARY KEY CHECK (number >= 1),
    subject text NOT NULL CHECK (
        subject IN (
            'transfers', 'transactions', 'events', 'journal', 'refunds', 'payouts', 'bank_accounts',
            'record_changes', 'wallet_freezes', 'customer_notes', 'fee_history'
        )
    ),
    from_xid bigint NOT NULL,
    from_key text COLLATE "C",
    upto_xid bigint NOT NULL,
    upto_key text COLLATE "C",
    row_count bigint NOT NULL CHECK (row_count >= 0),
    deliveries bigint NOT NULL CHECK (deliveries >= 0),  -- of these events, when they were sealed
    -- The digest of the rows. Who changes rows can make another; the `mac` needs the master key.
    content bytea NOT NULL CHECK (length(content) = 32),
    sealed_at timestamptz NOT NULL,
    mac bytea NOT NULL CHECK (length(mac) = 32),
    CONSTRAINT seals_go_forward CHECK (upto_xid >= from_xid)
);
CREATE INDEX seals_by_subject ON seals (subject, number);
CREATE TRIGGER seals_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- == Payouts, withdrawals and the money of merchants ==============================================

-- One row for each tenant, locked by every movement that takes money from a merchant: refund,
-- payout, hold, adjustment. So these wait for each other, and payments, which only add, never do.
-- A statement after the lock reads the balance.
--
-- Fees are not returned. So the balance may fall to the fees of all payments that were refunded, in
-- part or whole, below zero.
CREATE TABLE merchant_funds (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    refunded_fees numeric NOT NULL DEFAULT 0 CHECK (refunded_fees >= 0),
    -- The number of the merchant's last payout, and its cut-off. The lock on the row also decides
    -- which of two payouts comes first.
    last_payout bigint NOT NULL DEFAULT 0,
    paid_out_upto timestamptz,
    CONSTRAINT last_payout_has_a_cut_off CHECK ((last_payout = 0) = (paid_out_upto IS NULL))
);
-- Every tenant has its row from the beginning.
CREATE FUNCTION add_merchant_funds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.merchant_funds (tenant_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER tenants_have_funds AFTER INSERT ON tenants
    FOR EACH ROW EXECUTE FUNCTION add_merchant_funds();

-- Why the operator held, released or corrected money of a merchant.
CREATE TABLE fund_movements (
    transfer_id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    reason text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 255),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    created_at timestamptz NOT NULL,
    -- For the audit, which finds it by the key: no index.
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX fund_movements_by_time ON fund_movements (tenant_id, created_at, transfer_id);
CREATE TRIGGER fund_movements_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON fund_movements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The bank accounts of merchants and of wallets. A row is never changed: the newest one whose time
-- has come is in effect. The first one that the owner enters is so at once; a later one, and each one
-- that the operator enters, after 48 hours, so that the owners can object. The actor entered it.
CREATE TABLE bank_accounts (
    id uuid PRIMARY KEY,
    tenant_id bigint REFERENCES tenants,
    account bigint REFERENCES wallets,  -- a wallet
    holder text NOT NULL CHECK (char_length(holder) BETWEEN 1 AND 70),
    bank text NOT NULL CHECK (char_length(bank) BETWEEN 1 AND 70),
    account_number text COLLATE "C" NOT NULL CHECK (account_number ~ '^[0-9]{4,20}$'),
    created_at timestamptz NOT NULL,
    effective_at timestamptz NOT NULL CONSTRAINT effect_after_entry CHECK (effective_at >= created_at),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT bank_accounts_owner CHECK (num_nonnulls(tenant_id, account) = 1)
);
CREATE INDEX bank_accounts_by_xid ON bank_accounts USING brin (xid) WITH (pages_per_range = 64);
CREATE INDEX bank_accounts_by_tenant ON bank_accounts (tenant_id, effective_at);
CREATE INDEX bank_accounts_by_account ON bank_accounts (account, effective_at);
CREATE TRIGGER bank_accounts_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_accounts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The operator's agreement with a merchant about payouts. A tenant without a row has the defaults.
CREATE TABLE payout_terms (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    minimum bigint NOT NULL DEFAULT 1 CHECK (minimum BETWEEN 1 AND 999999999999999999),
    fee bigint NOT NULL DEFAULT 0 CHECK (fee BETWEEN 0 AND 9999999999),
    on_request boolean NOT NULL DEFAULT false,  -- its people may ask for a payout
    paused_reason text CHECK (char_length(paused_reason) BETWEEN 1 AND 255)  -- no payouts if set
);

-- Days on which banks do not work, besides Friday and Saturday.
CREATE TABLE bank_holidays (
    day date PRIMARY KEY,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100)
);

-- A run sends the payouts of one file. Its number is part of the references in the bank's statement.
CREATE TABLE payout_runs (
    id uuid PRIMARY KEY,
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    number bigint NOT NULL CHECK (number BETWEEN 1 AND 999999),
    day date NOT NULL,  -- the last day whose movements it pays out
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    status text NOT NULL CHECK (status IN ('requested', 'approved', 'sent', 'cancelled')),
    approved_at timestamptz,
    approved_by text,
    sent_at timestamptz,
    sent_by text,
    CONSTRAINT payout_runs_numbered UNIQUE (mode, number),
    CONSTRAINT approved_has_a_person
        CHECK (status NOT IN ('approved', 'sent') OR num_nulls(approved_at, approved_by) = 0),
    CONSTRAINT sent_has_a_person CHECK ((status = 'sent') = (num_nulls(sent_at, sent_by) = 0))
);
-- One run at a time is filled.
CREATE UNIQUE INDEX payout_runs_one_open ON payout_runs (mode) WHERE status = 'requested';
CREATE TRIGGER payout_runs_keep BEFORE DELETE OR TRUNCATE ON payout_runs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The bytes that were made for the bank, once for each run.
CREATE TABLE bank_files (
    run_id uuid PRIMARY KEY REFERENCES payout_runs,
    value_date date NOT NULL,  -- on which the bank pays
    order_count bigint NOT NULL CHECK (order_count > 0),
    total bigint NOT NULL CHECK (total > 0),
    digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    content bytea NOT NULL
);
CREATE TRIGGER bank_files_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_files
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A payout consists of the movements of its merchant since the previous payout. A movement belongs
-- to the first payout whose `cut_off` is later than its time and whose `snapshot` shows its
-- transaction. Cut-offs and snapshots only grow, so each movement belongs to one payout, also if it
-- was committed late or a sandbox's clock was moved. The fee of the payout is one of its movements.
-- Only the columns from `status` on change.
--
-- A withdrawal is a payout of a wallet instead of a tenant. It has an amount, and no movements.
CREATE TABLE payouts (
    id uuid PRIMARY KEY,
    tenant_id bigint,
    account bigint,
    number bigint NOT NULL CHECK (number >= 1),  -- counts the payouts of the owner, without gaps
    amount bigint NOT NULL CHECK (amount > 0),
    fee bigint NOT NULL CHECK (fee >= 0),
    cut_off timestamptz NOT NULL,
    snapshot text COLLATE "C" NOT NULL,  -- a pg_snapshot
    transfer_id uuid NOT NULL UNIQUE,  -- which took the amount from its owner
    created_at timestamptz NOT NULL,
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    status text NOT NULL
        CHECK (status IN ('requested', 'approved', 'sent', 'settled', 'returned', 'cancelled')),
    run_id uuid,
    bank_account_id uuid,
    returned_amount bigint NOT NULL DEFAULT 0
        CONSTRAINT returned_fits_amount CHECK (returned_amount BETWEEN 0 AND amount),
    approved_at timestamptz,
    sent_at timestamptz,
    settled_at timestamptz,
    returned_at timestamptz,
    cancelled_at timestamptz,
    cancelled_transfer_id uuid UNIQUE,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT payouts_times_fit_status CHECK (
        (status = 'cancelled') = (num_nulls(cancelled_at, cancelled_transfer_id) = 0)
        AND num_nulls(cancelled_at, cancelled_transfer_id) IN (0, 2)
        AND (status = 'returned') = (returned_at IS NOT NULL)
        AND (status IN ('sent', 'settled', 'returned')) = (sent_at IS NOT NULL)
        AND (status <> 'settled' OR settled_at IS NOT NULL)
        AND (status <> 'approved' OR approved_at IS NOT NULL)
    ),
    CONSTRAINT payouts_come_back_when_sent
        CHECK (returned_amount = 0 OR status IN ('sent', 'returned')),
    CONSTRAINT payouts_owner CHECK (num_nonnulls(tenant_id, account) = 1),
    CONSTRAINT payouts_numbered UNIQUE (tenant_id, number),
    CONSTRAINT withdrawals_numbered UNIQUE (account, number),
    CONSTRAINT withdrawals_are_free CHECK (account IS NULL OR fee = 0)
);
CREATE INDEX payouts_by_cut_off ON payouts (tenant_id, cut_off, number);
CREATE INDEX payouts_by_time ON payouts (tenant_id, created_at, id);
CREATE INDEX payouts_by_status ON payouts (tenant_id, status, created_at, id);
CREATE INDEX payouts_by_run ON payouts (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX payouts_by_bank_account ON payouts (bank_account_id) WHERE bank_account_id IS NOT NULL;
CREATE INDEX payouts_without_run ON payouts (created_at, id)
    WHERE run_id IS NULL AND status = 'requested';
CREATE INDEX payouts_by_xid ON payouts USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER payouts_keep BEFORE DELETE OR TRUNCATE ON payouts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The orders to the bank: a payout above the bank's limit has several. The bank answers each.
CREATE TABLE bank_orders (
    reference text COLLATE "C" PRIMARY KEY,
    payout_id uuid NOT NULL,
    place bigint NOT NULL CHECK (place >= 1),  -- among the orders of the payout
    amount bigint NOT NULL CHECK (amount > 0),
    status text NOT NULL CHECK (status IN ('sent', 'settled', 'returned')),
    settled_at timestamptz,
    returned_at timestamptz,
    settled_transfer_id uuid UNIQUE,
    returned_transfer_id uuid UNIQUE,
    -- The bank's words: of its line, or as a person recorded them. The owner reads them.
    return_reason text CHECK (char_length(return_reason) BETWEEN 1 AND 500),
    UNIQUE (payout_id, place),
    CONSTRAINT settlement_is_complete CHECK (num_nulls(settled_at, settled_transfer_id) IN (0, 2)),
    CONSTRAINT return_is_complete
        CHECK (num_nulls(returned_at, returned_transfer_id, return_reason) IN (0, 3)),
    CONSTRAINT returned_has_a_time CHECK ((status = 'returned') = (returned_at IS NOT NULL)),
    CONSTRAINT settled_has_a_time CHECK (status <> 'settled' OR settled_at IS NOT NULL)
);
CREATE TRIGGER bank_orders_keep BEFORE DELETE OR TRUNCATE ON bank_orders
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Transfers that were added up after a payout although their time is before its cut-off. They may
-- belong to the next one, which finds them here instead of in the whole history.
CREATE TABLE late_transfers (
    tenant_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    transfer_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, created_at, transfer_id)
);
CREATE TRIGGER late_transfers_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON late_transfers
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- == Money from the bank, and movements by operators ==============================================

-- The lines of the bank's statement, each once by the bank's own reference. `use` says what a line
-- stands for: a top-up, a receipt that waits to be assigned or sent back, the answer to an order, a
-- charge of the bank, or nothing. A line can also be matched with a movement that a person recorded
-- earlier: a receipt that was sent back, a sweep of fees, or an order of which the books have only
-- the return. Then nothing is booked.
--
-- Only the columns from `use` on change.
CREATE TABLE bank_lines (
    reference text COLLATE "C" PRIMARY KEY CHECK (char_length(reference) BETWEEN 1 AND 100),
    day date NOT NULL,
    description text NOT NULL CHECK (char_length(description) BETWEEN 1 AND 500),
    amount bigint NOT NULL CHECK (amount <> 0),  -- negative if money left the account
    balance bigint,  -- after it, as the bank says; null if the statement has none
    imported_at timestamptz NOT NULL,
    imported_by text NOT NULL,
    movement_id uuid,  -- of the import that a second person confirmed
    use text NOT NULL CHECK (use IN
        ('topup', 'receipt', 'assigned', 'sent_back', 'settled', 'returned', 'charge', 'matched',
        'none')),
    account bigint,  -- the wallet that it was added to
    order_reference text COLLATE "C",
    -- The last movement of its money. An answer to an order may have been recorded by hand.
    tid text COLLATE "C",
    -- When the bank account moved in the books for this line, which may be before or after its day:
    -- the float takes that movement to the bank's day. It did not move for an open line, and not for
    -- an order that came back before the books had settled it.
    booked_at timestamptz,
    handled_at timestamptz,  -- by a person: assigned, sent back, booked or matched
    handled_by text,
    CONSTRAINT wallets_get_topups CHECK ((use IN ('topup', 'assigned')) = (account IS NOT NULL)),
    CONSTRAINT answers_have_an_order CHECK (
        (use IN ('settled', 'returned')) = (order_reference IS NOT NULL) OR use = 'matched'
    ),
    CONSTRAINT receipts_come_in CHECK (
        use NOT IN ('topup', 'receipt', 'assigned', 'sent_back') OR tid IS NOT NULL AND amount > 0
    ),
    CONSTRAINT charges_go_out CHECK (use <> 'charge' OR tid IS NOT NULL AND amount < 0),
    CONSTRAINT matched_with_one
        CHECK (use <> 'matched' OR num_nulls(tid, order_reference) = 1 AND amount < 0),
    CONSTRAINT unexplained_is_not_booked
        CHECK (use <> 'none' OR num_nulls(tid, booked_at) = 2 AND amount < 0),
    CONSTRAINT explained_is_booked CHECK (
        use IN ('none', 'settled', 'returned') OR order_reference IS NOT NULL
        OR booked_at IS NOT NULL
    ),
    CONSTRAINT handled_by_a_person CHECK (
        (use IN ('assigned', 'sent_back', 'charge', 'matched'))
        = (num_nulls(handled_at, handled_by) = 0)
    )
);
-- An order is confirmed and returned by one line each.
CREATE UNIQUE INDEX bank_lines_answer_once ON bank_lines (order_reference, use)
    WHERE order_reference IS NOT NULL;
CREATE INDEX bank_lines_by_day ON bank_lines (day, reference);
CREATE INDEX bank_lines_by_movement ON bank_lines (movement_id) WHERE movement_id IS NOT NULL;
CREATE INDEX bank_lines_by_booking ON bank_lines (booked_at, day);
CREATE INDEX bank_lines_open ON bank_lines (day, reference) WHERE use IN ('receipt', 'none');
-- A movement is matched by one line.
CREATE UNIQUE INDEX bank_lines_matched_once ON bank_lines (tid) WHERE use = 'matched';
CREATE INDEX bank_lines_sent_back ON bank_lines (amount) WHERE use = 'sent_back';
CREATE TRIGGER bank_lines_keep BEFORE DELETE OR TRUNCATE ON bank_lines
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Statements that a person has uploaded, by the SHA-256 digest of their bytes. What is booked is exactly
-- what was checked, and what a second person confirmed. One that nobody waits for is deleted later.
CREATE TABLE bank_statements (
    digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    content bytea NOT NULL,
    stored_at timestamptz NOT NULL
);
CREATE INDEX bank_statements_by_time ON bank_statements (stored_at);

-- Fees that the operator took out of the bank account. The number decides which of two is first, so
-- that both together never take more than there is.
CREATE TABLE fee_sweeps (
    mode text NOT NULL CHECK (mode IN ('live', 'sandbox')),
    number bigint NOT NULL CHECK (number >= 1),
    transfer_id uuid NOT NULL UNIQUE,
    amount bigint NOT NULL CHECK (amount > 0),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (mode, number)
);
CREATE TRIGGER fee_sweeps_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON fee_sweeps
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A person compared a day of the books with the bank's closing balance. The newest row counts.
CREATE TABLE float_signoffs (
    id uuid PRIMARY KEY,
    day date NOT NULL,
    closing bigint NOT NULL,  -- of the books
    bank_closing bigint NOT NULL,
    note text CHECK (char_length(note) BETWEEN 1 AND 500),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    created_at timestamptz NOT NULL,
    CONSTRAINT difference_has_an_explanation CHECK (closing = bank_closing OR note IS NOT NULL)
);
CREATE INDEX float_signoffs_by_day ON float_signoffs (day, created_at);
CREATE TRIGGER float_signoffs_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON float_signoffs
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What a person of the operator moved alone, as the sum of the last day on which they did. A command
-- that moves live money locks the row, so that two at once cannot both pass the limit
-- (laari/rules/banking/second_person.py). `person` is the name before the @, in small letters, so it is
-- the same on the desk and on the command line.
CREATE TABLE person_days (
    person text COLLATE "C" PRIMARY KEY CHECK (person <> ''),
    day date NOT NULL,  -- in Maldivian time
    alone bigint NOT NULL CHECK (alone >= 0),
    -- All that the person ever moved or asked for, in both modes: a form that names the number that
    -- its page showed acts once.
    movements bigint NOT NULL CHECK (movements >= 0)
);

-- Movements above the limit wait here for a second person. The movement itself is one transaction
-- with its row's end (laari/rules/banking/waiting_movements.py).
CREATE TABLE pending_movements (
    id uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    requested_by text NOT NULL CHECK (requested_by LIKE '_% _%'),  -- kind and name of the actor
    kind text COLLATE "C" NOT NULL CHECK (kind IN (
        'topup', 'adjustment', 'refund', 'release', 'merchant_adjustment', 'assign', 'send_back',
        'charge', 'sweep', 'return', 'bank_account', 'import'
    )),
    amount bigint NOT NULL
        CONSTRAINT only_a_bank_account_has_no_amount CHECK ((amount = 0) = (kind = 'bank_account')),
    -- What it is for, as the second person reads it.
    details text NOT NULL CHECK (details <> ''),
    account bigint REFERENCES wallets,
    tenant_id bigint REFERENCES tenants,
    payout_id uuid REFERENCES payouts,
    -- Of the slip, the bank's line, the payment that is refunded, or the order or payout that was
    -- returned. Of a statement that is imported, the digest: `amount` is the most that its lines may
    -- credit.
    reference text COLLATE "C" CHECK (char_length(reference) BETWEEN 1 AND 100),
    below_zero boolean NOT NULL,  -- the balance may fall below zero
    refund_reason text COLLATE "C",  -- as in refunds, with the next
    refund_note text,
    matches text COLLATE "C",  -- of a statement: the digest of what its lines become
    holder text,  -- of a bank account, with the next two
    bank text,
    account_number text COLLATE "C",
    status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'refused')),
    decided_at timestamptz,
    decided_by text,
    reason text CHECK (char_length(reason) BETWEEN 1 AND 255),  -- of a refusal
    tid text COLLATE "C",  -- of the line of history
    CONSTRAINT decided_has_a_person CHECK (
        (status = 'waiting') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)
    ),
    CONSTRAINT done_has_a_line CHECK (
        (status = 'done' AND kind NOT IN ('bank_account', 'import')) = (tid IS NOT NULL)
    ),
    CONSTRAINT only_a_bank_account_has_details CHECK (
        num_nonnulls(holder, bank, account_number) = CASE kind WHEN 'bank_account' THEN 3 ELSE 0 END
    ),
    CONSTRAINT only_a_refund_has_a_note
        CHECK (kind = 'refund' OR num_nonnulls(refund_reason, refund_note) = 0),
    CONSTRAINT only_a_statement_has_matches CHECK ((kind = 'import') = (matches IS NOT NULL)),
    CONSTRAINT refused_for_a_reason CHECK ((status = 'refused') = (reason IS NOT NULL)),
    -- The person who asks may withdraw a movement, and never make it.
    CONSTRAINT second_person CHECK (
        status <> 'done'
        OR lower(substr(decided_by, strpos(decided_by, ' ')))
            <> lower(substr(requested_by, strpos(requested_by, ' ')))
    ),
    CONSTRAINT names_its_object CHECK (
        CASE
            WHEN kind IN ('topup', 'adjustment', 'bank_account') THEN account IS NOT NULL
            WHEN kind IN ('release', 'merchant_adjustment') THEN tenant_id IS NOT NULL
            WHEN kind = 'refund' THEN tenant_id IS NOT NULL AND reference IS NOT NULL
            WHEN kind = 'assign' THEN account IS NOT NULL AND reference IS NOT NULL
            WHEN kind IN ('send_back', 'charge', 'import') THEN reference IS NOT NULL
            WHEN kind = 'return' THEN payout_id IS NOT NULL AND reference IS NOT NULL
            ELSE true
        END
    )
);
-- One movement at a time waits for a slip, a line or an order.
CREATE UNIQUE INDEX pending_movements_by_reference ON pending_movements (reference)
    WHERE status = 'waiting';
CREATE INDEX pending_movements_waiting ON pending_movements (id) WHERE status = 'waiting';
CREATE INDEX pending_movements_of_imports ON pending_movements (reference, id) WHERE kind = 'import';
CREATE TRIGGER pending_movements_keep BEFORE DELETE OR TRUNCATE ON pending_movements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- A movement that was decided never changes.
CREATE TRIGGER pending_movements_end_once BEFORE UPDATE ON pending_movements
    FOR EACH ROW WHEN (OLD.status <> 'waiting') EXECUTE FUNCTION refuse_change();

-- Each change of a record by a command, with all its values before and after: of runs, payouts,
-- orders, lines of the bank, closings of tills and others that laari/rules/world.py names as `kept`.
-- The service writes it with the change, so a change that somebody makes in the database has none.
-- Insert-only and sealed, as the ledger. `before` is null for a new record.
CREATE TABLE record_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- in the order of changes of one record
    record text COLLATE "C" NOT NULL CHECK (record <> ''),  -- the name of its table
    key text COLLATE "C" NOT NULL CHECK (key <> ''),
    before text COLLATE "C" CHECK (json_typeof(before::json) = 'object'),
    after text COLLATE "C" NOT NULL CHECK (json_typeof(after::json) = 'object'),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX record_changes_by_key ON record_changes (record, key, id);
CREATE INDEX record_changes_by_xid ON record_changes USING brin (xid) WITH (pages_per_range = 64);
CREATE TRIGGER record_changes_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON record_changes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- == Figures and closings of tills ================================================================

-- The totals of each day, by merchant and till. The background process writes them shortly after the
-- ledger, so that no payment waits for a row that all of them change. `figures_upto` is the last
-- transaction that they include; readers add the later ones.
CREATE TABLE daily_figures (
    tenant_id bigint NOT NULL REFERENCES tenants,
    day date NOT NULL,
    terminal_label text NOT NULL COLLATE "C",  -- empty if a payment names none
    payments bigint NOT NULL,
    gross bigint NOT NULL,
    fees bigint NOT NULL,
    refunds bigint NOT NULL,  -- how many
    refunded bigint NOT NULL,  -- their sum
    others bigint NOT NULL DEFAULT 0,  -- neither payments nor refunds, under the empty label
    PRIMARY KEY (tenant_id, day, terminal_label)
);

-- One row: the last transaction in `daily_figures` and `merchant_totals`.
CREATE TABLE figures_upto (
    xid bigint NOT NULL
);
CREATE UNIQUE INDEX figures_upto_one ON figures_upto ((true));  -- one row
INSERT INTO figures_upto SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1;

-- The balance of each merchant up to the transaction in `figures_upto`, written with the figures of
-- days. Readers add the later transfers.
CREATE TABLE merchant_totals (
    tenant_id bigint PRIMARY KEY REFERENCES tenants,
    available numeric NOT NULL,
    held numeric NOT NULL
);

-- The sums of a till since its previous closing, fixed by a person.
--
-- A closing has all movements of its till that `snapshot` shows and the previous closing did not
-- have, whatever their day. Movements of the closing's own transaction belong to the next one. So
-- each movement belongs to one closing, also if it was committed late or a sandbox's clock was moved.
-- Insert-only, and each has an entry in the journal, which is sealed. No foreign keys, as for
-- transfers.
CREATE TABLE till_closings (
    id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    till text COLLATE "C" NOT NULL CHECK (char_length(till) <= 10),  -- empty for payments that name none
    number bigint NOT NULL CHECK (number >= 1),  -- counts the closings of the till, without gaps
    payments bigint NOT NULL CHECK (payments >= 0),
    gross bigint NOT NULL CHECK (gross >= 0),
    fees bigint NOT NULL CHECK (fees >= 0),
    refunds bigint NOT NULL CHECK (refunds >= 0),  -- how many
    refunded bigint NOT NULL CHECK (refunded >= 0),  -- their sum
    note text CHECK (char_length(note) BETWEEN 1 AND 500),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    snapshot text COLLATE "C" NOT NULL,  -- a pg_snapshot
    created_at timestamptz NOT NULL,  -- the cut-off, on the tenant's clock
    -- For the audit, which finds it by the key: no index.
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT till_closings_numbered UNIQUE (tenant_id, till, number),
    CONSTRAINT till_closings_close_something CHECK (payments + refunds > 0)
);
CREATE INDEX till_closings_by_time ON till_closings (tenant_id, created_at, id);
CREATE TRIGGER till_closings_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON till_closings
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- == Webhooks =====================================================================================

-- Deliveries of events to merchants' webhooks. Written in the transaction of the event, if the
-- merchant has webhooks switched on and a URL. While an attempt is under way `next_attempt_at` lies
-- a lease ahead: if its process is killed, the attempt is repeated after the lease. `leases` counts
-- them. An outcome that arrives after the next lease has begun changes nothing.
CREATE TABLE deliveries (
    event_id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    failed_attempts bigint NOT NULL DEFAULT 0,  -- since it was first sent, or last sent again
    leases bigint NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    CONSTRAINT delivered_has_a_time CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
) WITH (fillfactor = 70);
-- Each tenant's queue is a separate range, so a long queue does not delay the others.
CREATE INDEX deliveries_due ON deliveries (tenant_id, next_attempt_at) WHERE status = 'pending';
-- Those that were given up, oldest first, for the merchant and the person on call.
CREATE INDEX deliveries_failed ON deliveries (tenant_id, event_id) WHERE status = 'failed';

-- Every attempt that was made, under the number of its lease.
CREATE TABLE delivery_attempts (
    event_id uuid NOT NULL,
    lease bigint NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms bigint NOT NULL CHECK (duration_ms >= 0),
    url text NOT NULL,
    http_status bigint,
    error text,
    answer text,  -- the first KiB
    PRIMARY KEY (event_id, lease)  -- an outcome is recorded once
);

-- == Messages to people by email and SMS ==========================================================

-- The outbox. A row is written in the transaction of its cause, and only if the service has a
-- transport for its channel, so that nothing piles up without one. The background process sends it.
-- While an attempt is in progress, `next_attempt_at` is a lease ahead: if its process is killed, the
-- message is sent again when the lease has expired. `attempts` is also the number of the lease.
--
-- No foreign keys, as for events: their checks would lock the merchant's row.
CREATE TABLE messages (
    id uuid PRIMARY KEY,  -- also the Message-ID of an email, so a second copy is recognisable
    created_at timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind <> ''),  -- the rules have the list
    channel text NOT NULL CHECK (channel IN ('email', 'sms')),
    recipient text COLLATE "C" NOT NULL CHECK (recipient <> ''),  -- an address, or +960 and digits
    language text NOT NULL CHECK (language IN ('en', 'dv')),
    -- JSON: the values for the text. Encrypted with the master key for this kind, channel, recipient
    -- and language: they may contain a secret link, and sent to somebody else they do not open.
    parameters bytea,
    -- The cause: whose customer received it, and about which resource.
    tenant_id bigint,
    customer_id uuid,
    object_id uuid,
    -- Suppressed: not sent, because it has expired or its recipient had enough of its kind.
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'sent', 'failed', 'suppressed')),
    attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- since it was written or sent again
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text CHECK (char_length(last_error) BETWEEN 1 AND 300),
    sent_at timestamptz,
    CONSTRAINT sent_has_a_time CHECK ((status = 'sent') = (sent_at IS NOT NULL)),
    -- They are removed as soon as nobody needs them.
    CONSTRAINT parameters_until_sent
        CHECK ((status IN ('sent', 'suppressed')) = (parameters IS NULL))
);
-- Each channel has its own queue: a stalled one does not delay the other.
CREATE INDEX messages_due ON messages (channel, next_attempt_at) WHERE status = 'pending';
-- Those that were given up, for the person on call. They are few.
CREATE INDEX messages_failed ON messages (id) WHERE status = 'failed';
-- For the bounds: of one merchant or of none to one customer, of a kind to one recipient, of SMS in an hour.
CREATE INDEX messages_of_merchant ON messages (customer_id, tenant_id, kind, id)
    WHERE customer_id IS NOT NULL AND tenant_id IS NOT NULL;
CREATE INDEX messages_of_no_merchant ON messages (customer_id, kind, id)
    WHERE customer_id IS NOT NULL AND tenant_id IS NULL;
CREATE INDEX messages_of_recipient ON messages (recipient, kind, created_at);
-- Receipts that a customer asked for in a day.
CREATE INDEX messages_of_receipts ON messages (customer_id, created_at) WHERE kind = 'receipt';
CREATE INDEX messages_by_sms ON messages (sent_at) WHERE channel = 'sms' AND status = 'sent';
-- One about webhooks in a day for each merchant.
CREATE INDEX messages_of_webhooks ON messages (tenant_id, created_at)
    WHERE kind = 'webhook_given_up';

-- Messages about movements and decisions are written behind the writers, so that no payment pays for
-- one (laari/store/movement_messages.py). This is the last transaction whose messages are written. It
-- changes in the transaction of the messages, so none is lost and none is written twice.
CREATE TABLE messages_upto (
    xid bigint NOT NULL
);
CREATE UNIQUE INDEX messages_upto_one ON messages_upto ((true));  -- one row
INSERT INTO messages_upto SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1;

-- Which messages about movements a customer or a person wants. Without a row, they get all of them.
-- Messages about security and decisions ignore it.
CREATE TABLE message_choices (
    customer_id uuid UNIQUE REFERENCES customers,
    person_id uuid UNIQUE REFERENCES persons ON DELETE CASCADE,
    channel text CHECK (channel IN ('email', 'sms', 'none')),  -- null: an email, or else an SMS
    least bigint NOT NULL CHECK (least >= 0),  -- no message about a smaller movement
    CONSTRAINT message_choices_owner CHECK (num_nonnulls(customer_id, person_id) = 1)
);

-- == The journal: who changed what, when, from where and why ======================================
--
-- Commands add entries with their decision. A trigger on each table of settings refuses a change
-- without an entry; for other code that names its actor it writes the entry. So no code path and no
-- person with `psql` leaves one out by mistake. Only updates of `wallets` have no trigger. The audit
-- compares every watched value with its last entry (docs/audit.md).

-- Insert-only like the ledger, and sealed unless it is about a sandbox. `time` is real time. An entry
-- about a setting has all watched values of its object in `before` and `after`, also those that stay
-- the same: so the last entry of an object is its present state. `before` is null for a new object,
-- `after` for a deleted one.
CREATE TABLE journal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- in the order of changes of one object
    time timestamptz NOT NULL,
    actor_kind text COLLATE "C" NOT NULL CHECK (
        actor_kind IN (
            'person', 'operator', 'command_line', 'credential', 'customer', 'till', 'service'
        )
    ),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    actor_role text COLLATE "C",
    address text COLLATE "C",  -- of the request; removed after a while, so no seal includes it
    action text COLLATE "C" NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
    object_type text COLLATE "C" NOT NULL CHECK (object_type <> ''),
    object_id text COLLATE "C" NOT NULL CHECK (object_id <> ''),
    merchant_id text COLLATE "C",  -- null for objects of no merchant
    mode text COLLATE "C" CHECK (mode IN ('live', 'sandbox')),  -- null for settings of both modes
    before text COLLATE "C" CHECK (json_typeof(before::json) = 'object'),
    after text COLLATE "C" CHECK (json_typeof(after::json) = 'object'),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 500),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX journal_by_merchant ON journal (merchant_id, time, id);
CREATE INDEX journal_by_merchant_and_object ON journal (merchant_id, object_id, time, id)
    WHERE merchant_id IS NOT NULL;
CREATE INDEX journal_by_time ON journal (time, id);
CREATE INDEX journal_by_object ON journal (object_type, object_id, id);
CREATE INDEX journal_by_xid ON journal USING brin (xid) WITH (pages_per_range = 64);
-- For the second person: who gave whom a log-in in the last 30 days.
CREATE INDEX journal_log_ins ON journal (time) WHERE object_type = 'log_in';
-- For purging.
CREATE INDEX journal_by_address ON journal (time) WHERE address IS NOT NULL;

CREATE TRIGGER journal_insert_only
    BEFORE DELETE OR TRUNCATE OR UPDATE OF id, time, actor_kind, actor_name, actor_role, action,
        object_type, object_id, merchant_id, mode, before, after, reason, xid ON journal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- An address may only be removed.
CREATE TRIGGER journal_keeps_addresses BEFORE UPDATE OF address ON journal
    FOR EACH ROW WHEN (NEW.address IS NOT NULL) EXECUTE FUNCTION refuse_change();

-- The watched values of a row. A name with a # has the beginning of a digest instead: it shows that
-- a password was changed, and helps nobody to guess it.
CREATE FUNCTION journal_state(found jsonb, watched text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(
        ltrim(name, '#'),
        CASE
            WHEN name NOT LIKE '#%' THEN found -> name
            ELSE to_jsonb(left(encode(sha256(convert_to(found ->> ltrim(name, '#'), 'UTF8')), 'hex'), 32))
        END
    ) FROM unnest(watched) AS name
$$;

-- Refuses a changed row without an entry. The arguments of its trigger are the type of the object and
-- the watched columns.
--
-- A command adds its entries in the statement that writes its rows (laari/rules/journal.py). The last
-- entry of the object has to be of this transaction, with the new values of the row and its owner. For
-- other code, such as the first tiers below, the trigger writes the entry itself: the transaction says
-- who acts, in the setting `laari.actor`. Times and bytes always have the same form.
CREATE FUNCTION journal_change() RETURNS trigger
LANGUAGE plpgsql SET timezone = 'UTC' SET bytea_output = 'hex' AS $$
DECLARE
    actor jsonb := nullif(current_setting('laari.actor', true), '')::jsonb;
    watched text[] := TG_ARGV[1:];
    keys text[] := ARRAY['id', 'name', 'digest', 'person_id', 'merchant_id', 'tenant_id', 'day',
        'customer_id', 'starts_at'];
    found jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
    state_before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN journal_state(to_jsonb(OLD), watched) END;
    state_after jsonb := CASE WHEN TG_OP <> 'DELETE' THEN journal_state(to_jsonb(NEW), watched) END;
    object text;
    owner text;
    only_in text;
    email jsonb := '{}';
    noted record;
BEGIN
    -- Nothing that is watched has changed, and no key.
    IF TG_OP = 'UPDATE' AND state_before = state_after
        AND journal_state(to_jsonb(OLD), keys) = journal_state(found, keys) THEN
        RETURN NULL;
    END IF;
    CASE TG_TABLE_NAME
        WHEN 'merchants' THEN
            object := found ->> 'id';
            owner := object;
        WHEN 'applications' THEN
            object := 'app_' || replace(found ->> 'id', '-', '');
            owner := found ->> 'merchant_id';
        WHEN 'scheduled_fees' THEN
            owner := found ->> 'merchant_id';
            object := owner || ' '
                || floor(extract(epoch FROM (found ->> 'starts_at')::timestamptz))::bigint;
        WHEN 'tenants' THEN
            object := found ->> 'id';
            owner := found ->> 'merchant_id';
            only_in := found ->> 'mode';
        WHEN 'oauth_clients' THEN
            object := found ->> 'id';
            owner := found ->> 'merchant_id';
        WHEN 'tiers' THEN
            object := found ->> 'name';
        WHEN 'customers' THEN
            object := 'cus_' || replace(found ->> 'id', '-', '');
            only_in := found ->> 'mode';
            owner := (SELECT merchant_id FROM tenants WHERE id = (found ->> 'sandbox_of')::bigint);
        WHEN 'wallets' THEN
            object := found ->> 'account';
            only_in := found ->> 'mode';
            owner := (SELECT t.merchant_id FROM customers c JOIN tenants t ON t.id = c.sandbox_of
                WHERE c.id = (found ->> 'customer_id')::uuid);
        WHEN 'persons' THEN
            object := 'per_' || replace(found ->> 'id', '-', '');
        WHEN 'memberships' THEN
            object := 'per_' || replace(found ->> 'person_id', '-', '') || ' '
                || coalesce(found ->> 'merchant_id', 'operator');
            owner := found ->> 'merchant_id';
            -- For readers: the person may be removed later.
            email := jsonb_build_object('email',
                (SELECT p.email FROM persons p WHERE p.id = (found ->> 'person_id')::uuid));
        WHEN 'invitations' THEN
            owner := found ->> 'merchant_id';
            object := owner || ' ' || (found ->> 'email');
        WHEN 'second_factors' THEN
            object := 'per_' || replace(found ->> 'person_id', '-', '');
        WHEN 'contact_changes' THEN
            object := 'chg_' || replace(found ->> 'id', '-', '');
            only_in := (SELECT mode FROM customers WHERE id = (found ->> 'customer_id')::uuid);
        WHEN 'cases' THEN
            object := 'case_' || replace(found ->> 'id', '-', '');
            only_in := (SELECT mode FROM customers WHERE id = (found ->> 'customer_id')::uuid);
        WHEN 'trusted_people' THEN
            object := 'cus_' || replace(found ->> 'customer_id', '-', '');
            only_in := 'live';
        WHEN 'payout_terms' THEN
            object := found ->> 'tenant_id';
            SELECT t.merchant_id, t.mode INTO owner, only_in
            FROM tenants t WHERE t.id = (found ->> 'tenant_id')::bigint;
        WHEN 'customer_identities' THEN
            object := 'cus_' || replace(found ->> 'customer_id', '-', '');
            only_in := (SELECT mode FROM customers WHERE id = (found ->> 'customer_id')::uuid);
        WHEN 'bank_holidays' THEN
            object := found ->> 'day';
        WHEN 'tills' THEN
            object := 'till_' || replace(found ->> 'id', '-', '');
            SELECT t.merchant_id, t.mode INTO owner, only_in
            FROM tenants t WHERE t.id = (found ->> 'tenant_id')::bigint;
        WHEN 'reusable_links' THEN
            object := 'link_' || replace(found ->> 'id', '-', '');
            SELECT t.merchant_id, t.mode INTO owner, only_in
            FROM tenants t WHERE t.id = (found ->> 'tenant_id')::bigint;
        WHEN 'till_devices' THEN
            object := substr(found ->> 'digest', 3);  -- without \x
            SELECT t.merchant_id, t.mode INTO owner, only_in
            FROM tills d JOIN tenants t ON t.id = d.tenant_id
            WHERE d.id = (found ->> 'till_id')::uuid;
        WHEN 'passkeys' THEN
            object := 'psk_' || replace(found ->> 'id', '-', '');
            SELECT c.mode, t.merchant_id INTO only_in, owner
            FROM customers c LEFT JOIN tenants t ON t.id = c.sandbox_of
            WHERE c.id = (found ->> 'customer_id')::uuid;
        WHEN 'remembered_devices' THEN
            object := 'dev_' || replace(found ->> 'id', '-', '');
            only_in := 'live';
        WHEN 'wallet_keys' THEN
            object := substr(found ->> 'digest', 3);  -- without \x
            SELECT w.mode, t.merchant_id INTO only_in, owner
            FROM wallets w JOIN customers c ON c.id = w.customer_id
            LEFT JOIN tenants t ON t.id = c.sandbox_of
            WHERE w.account = (found ->> 'account')::bigint;
    END CASE;
    SELECT j.xid, j.merchant_id, j.mode, j.after::jsonb AS after INTO noted FROM journal j
    WHERE j.object_type = TG_ARGV[0] AND j.object_id = object ORDER BY j.id DESC LIMIT 1;
    IF noted.xid = pg_current_xact_id()::text::bigint
        AND (noted.merchant_id, noted.mode) IS NOT DISTINCT FROM (owner, only_in)
        AND coalesce(noted.after @> state_after, noted.after IS NULL AND state_after IS NULL)
    THEN
        RETURN NULL;
    END IF;
    IF actor IS NULL THEN
        RAISE EXCEPTION 'a change of % needs an actor for the journal', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation',
                HINT = 'A command adds an entry with the new values; other code sets laari.actor.';
    END IF;
    INSERT INTO journal (time, actor_kind, actor_name, actor_role, address, action, object_type,
        object_id, merchant_id, mode, before, after, reason)
    VALUES (now(), actor ->> 'kind', actor ->> 'name', actor ->> 'role', actor ->> 'address',
        actor ->> 'action', TG_ARGV[0], object, owner, only_in,
        (state_before || email)::text, (state_after || email)::text, actor ->> 'reason');
    RETURN NULL;
END $$;

-- Only the columns that are watched fire a trigger: the last use of a key, the clock of a sandbox and
-- the balance of a wallet are none of them, so no payment, charge or request of the APIs does.
CREATE TRIGGER merchants_journal AFTER INSERT OR DELETE OR UPDATE OF id, name, mode, active, fee_bps,
        fee_fixed, webhook_url, webhooks_enabled, secret_digest, old_secret_digest, old_secret_until,
        requires_factor, inactive_reason, sandbox_account, created_at
    ON merchants FOR EACH ROW EXECUTE FUNCTION journal_change('merchant', 'name', 'mode', 'active',
        'fee_bps', 'fee_fixed', 'webhook_url', 'webhooks_enabled', 'secret_digest',
        'old_secret_digest', 'old_secret_until', 'requires_factor', 'inactive_reason',
        'sandbox_account', 'created_at');
CREATE TRIGGER applications_journal AFTER INSERT OR DELETE OR UPDATE
    ON applications FOR EACH ROW EXECUTE FUNCTION journal_change('application', 'merchant_id',
        'submitted_at', 'submitted_by', 'legal_name', 'registration_number', 'tax_number', 'address',
        'bank_name', 'bank_holder', 'bank_account', 'monthly_volume', 'contact', 'status',
        'decided_at', 'decided_by', 'reason');
CREATE TRIGGER scheduled_fees_journal AFTER INSERT OR DELETE OR UPDATE
    ON scheduled_fees FOR EACH ROW EXECUTE FUNCTION journal_change('scheduled_fees', 'starts_at',
        'fee_bps', 'fee_fixed', 'scheduled_by', 'scheduled_at');
CREATE TRIGGER tenants_journal AFTER INSERT OR DELETE OR UPDATE OF id, merchant_id, mode,
        max_payment
    ON tenants FOR EACH ROW EXECUTE FUNCTION journal_change('tenant', 'merchant_id', 'mode',
        'max_payment');
CREATE TRIGGER oauth_clients_journal AFTER INSERT OR DELETE OR UPDATE OF id, merchant_id, name, scope,
        secret_digest, created_at, expires_at, revoked_at
    ON oauth_clients FOR EACH ROW EXECUTE FUNCTION journal_change('oauth_client', 'merchant_id',
        'name', 'scope', 'secret_digest', 'created_at', 'expires_at', 'revoked_at');
CREATE TRIGGER tiers_journal AFTER INSERT OR DELETE OR UPDATE
    ON tiers FOR EACH ROW EXECUTE FUNCTION journal_change('tier', 'per_transaction', 'daily',
        'weekly', 'monthly');
CREATE TRIGGER customers_journal AFTER INSERT OR DELETE OR UPDATE
    ON customers FOR EACH ROW EXECUTE FUNCTION journal_change('customer', 'name', 'mode',
        'sandbox_of', 'mobile', 'email', 'vpa', 'language', '#password_hash', 'created_at',
        'password_must_change', 'password_first');
CREATE TRIGGER persons_journal AFTER INSERT OR DELETE OR UPDATE
    ON persons FOR EACH ROW EXECUTE FUNCTION journal_change('person', 'email', '#password_hash',
        'created_at', 'password_must_change', 'password_first', 'proven');
CREATE TRIGGER memberships_journal AFTER INSERT OR DELETE OR UPDATE OF person_id, merchant_id, role,
        till, created_at
    ON memberships FOR EACH ROW EXECUTE FUNCTION journal_change('membership', 'role', 'till',
        'created_at');
-- An invitation with the digest of another link would let a stranger in, and a deleted factor would
-- open an account to everybody with its password. A code changes other columns of a factor.
CREATE TRIGGER invitations_journal AFTER INSERT OR DELETE OR UPDATE
    ON invitations FOR EACH ROW EXECUTE FUNCTION journal_change('invitation', 'digest', 'email',
        'role', 'till', 'invited_by', 'created_at', 'expires_at', 'proves');
CREATE TRIGGER second_factors_journal AFTER INSERT OR DELETE OR UPDATE
    ON second_factors FOR EACH ROW EXECUTE FUNCTION journal_change('second_factor', 'created_at',
        'confirmed_at', 'codes_made_at');
-- No trigger on updates: every payment updates wallets, with the tier among the columns. Commands of
-- the spine add the entries of tiers and freezes.
CREATE TRIGGER wallets_journal AFTER INSERT OR DELETE
    ON wallets FOR EACH ROW EXECUTE FUNCTION journal_change('wallet', 'customer_id', 'mode', 'tier',
        'frozen_at', 'frozen_reason', 'frozen_silently');
CREATE TRIGGER wallet_keys_journal AFTER INSERT OR DELETE OR UPDATE OF digest, account, name,
        created_at, revoked_at
    ON wallet_keys FOR EACH ROW EXECUTE FUNCTION journal_change('wallet_key', 'account', 'name',
        'created_at', 'revoked_at');
-- A use changes the counter and the times of the last one, and has no entry.
CREATE TRIGGER passkeys_journal AFTER INSERT OR DELETE OR UPDATE OF id, customer_id, credential,
        public_key, name, added_at, ended_at
    ON passkeys FOR EACH ROW EXECUTE FUNCTION journal_change('passkey', 'customer_id', '#credential',
        '#public_key', 'name', 'added_at', 'ended_at');

CREATE TRIGGER remembered_devices_journal AFTER INSERT OR DELETE OR UPDATE OF id, customer_id,
        digest, name, added_at, ended_at
    ON remembered_devices FOR EACH ROW EXECUTE FUNCTION journal_change('remembered_device',
        'customer_id', '#digest', 'name', 'added_at', 'ended_at');

CREATE TRIGGER tills_journal AFTER INSERT OR DELETE OR UPDATE
    ON tills FOR EACH ROW EXECUTE FUNCTION journal_change('till', 'tenant_id', 'name', 'token',
        'created_at', '#secret_encrypted', 'active', 'pairing_digest', 'pairing_expires_at');
CREATE TRIGGER reusable_links_journal AFTER INSERT OR DELETE OR UPDATE
    ON reusable_links FOR EACH ROW EXECUTE FUNCTION journal_change('reusable_link', 'tenant_id',
        'token', 'title', 'amount', 'ends_at', 'created_at', 'ended_at');
CREATE TRIGGER till_devices_journal AFTER INSERT OR DELETE OR UPDATE OF digest, till_id, name,
        paired_at, ended_at
    ON till_devices FOR EACH ROW EXECUTE FUNCTION journal_change('till_device', 'till_id', 'name',
        'paired_at', 'ended_at');
CREATE TRIGGER payout_terms_journal AFTER INSERT OR UPDATE OR DELETE ON payout_terms FOR EACH ROW
    EXECUTE FUNCTION journal_change('payout_terms', 'minimum', 'fee', 'on_request',
        'paused_reason');
CREATE TRIGGER bank_holidays_journal AFTER INSERT OR UPDATE OR DELETE ON bank_holidays FOR EACH ROW
    EXECUTE FUNCTION journal_change('bank_holiday', 'name');
-- Wrong codes are counted in `attempts` and have no entry.
CREATE TRIGGER contact_changes_journal AFTER INSERT OR DELETE OR UPDATE
    ON contact_changes FOR EACH ROW EXECUTE FUNCTION journal_change('contact_change', 'customer_id',
        'contact', 'old_value', 'new_value', 'reason', 'lost', 'requested_at', 'requested_by',
        'code_digest', 'code_expires_at', 'status', 'confirmed_at', 'confirmed_by', 'effective_at', 'stop_digest',
        'ended_at', 'ended_by', 'end_reason');
CREATE TRIGGER cases_journal AFTER INSERT OR DELETE OR UPDATE
    ON cases FOR EACH ROW EXECUTE FUNCTION journal_change('case', 'customer_id', 'tid', 'text',
        'opened_at', 'status', 'answer', 'answered_at', 'answered_by');
CREATE TRIGGER trusted_people_journal AFTER INSERT OR DELETE OR UPDATE
    ON trusted_people FOR EACH ROW EXECUTE FUNCTION journal_change('trusted_person', 'trusted_id',
        'mobile', 'above', 'asked_at', 'status', 'agreed_at', 'ends_at');
CREATE TRIGGER customer_identities_journal AFTER INSERT OR UPDATE OR DELETE ON customer_identities
    FOR EACH ROW EXECUTE FUNCTION journal_change('identity', '#encrypted', 'entered_at');

-- == First rows ===================================================================================

-- The tiers of a new installation: `DEFAULT_TIERS` of rules/limits/default_tiers.py, in laari. Their entries in the journal name the schema as the actor.
SELECT set_config(
    'laari.actor', '{"kind": "service", "name": "schema", "action": "tier.create"}', true
);
INSERT INTO tiers (name, per_transaction, daily, weekly, monthly) VALUES
    ('basic', 500000, 1000000, 3000000, 5000000),
    ('verified', 5000000, 10000000, 30000000, 50000000),
    ('business', NULL, NULL, NULL, NULL);

-- == Statistics ===================================================================================

-- Autovacuum analyzes the tables of payments, messages and the journal again and again while they
-- grow. It reads as many random pages as the largest target of their columns asks for: 30,000 with
-- the default of 100, beside the commits. Their queries go by keys and by whole indexes, so a tenth
-- is enough to plan them.
DO $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT attrelid::regclass AS name, attname
        FROM pg_attribute
        WHERE attnum > 0 AND NOT attisdropped AND attrelid = ANY (ARRAY[
            'authorizations', 'deliveries', 'delivery_attempts', 'device_payments', 'events', 'journal',
            'messages', 'payment_requests', 'payments', 'reference_claims', 'refunds', 'saved_responses',
            'transactions', 'transfers', 'wallet_windows', 'wallets'
        ]::regclass[])
        ORDER BY attrelid, attnum
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 10', place.name, place.attname);
    END LOOP;
END
$$;
ALTER INDEX saved_responses_by_age_of_tenant ALTER COLUMN 1 SET STATISTICS 10;
ALTER INDEX events_once ALTER COLUMN 2 SET STATISTICS 10;
ALTER INDEX transfers_once_per_payment ALTER COLUMN 2 SET STATISTICS 10;
ALTER INDEX transfers_of_merchants ALTER COLUMN 1 SET STATISTICS 10;
