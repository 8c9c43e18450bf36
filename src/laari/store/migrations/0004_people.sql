-- People: a person has an email, a password and sessions. A membership gives a person a role at one
-- merchant, or at the operator. One person can work for several merchants with one password.
-- Customers are separate, even with the same email. Then their invitations, second factors and links
-- for a forgotten password.

CREATE TABLE persons (
    id uuid PRIMARY KEY,
    email text COLLATE "C" NOT NULL UNIQUE CHECK (email = lower(email)),  -- in one spelling only
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    password_must_change boolean NOT NULL DEFAULT false,  -- as for customers
    password_first boolean NOT NULL DEFAULT false,
    -- False after a sign-up: anybody could have entered the address. Such a person gets no power
    -- at another merchant before an operator or an invitation sets a new password.
    proven boolean NOT NULL
);

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

-- Everybody who logged in to a merchant could do everything there: they are its owners. A merchant
-- without a live side came by sign-up, so nobody has proved the addresses of its people.
INSERT INTO persons (id, email, password_hash, created_at, password_must_change, password_first,
                     proven)
SELECT gen_random_uuid(), email, password_hash, created_at, password_must_change, password_first,
       EXISTS (SELECT FROM tenants t WHERE t.merchant_id = u.merchant_id AND t.mode = 'live')
FROM merchant_users u;

INSERT INTO memberships (person_id, merchant_id, role, created_at)
SELECT p.id, u.merchant_id, 'owner', u.created_at
FROM merchant_users u JOIN persons p USING (email);

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

-- Sessions of people refer to the person. All sessions name the address and device of the log-in.
ALTER TABLE sessions
    ADD COLUMN person_id uuid REFERENCES persons ON DELETE CASCADE,
    ADD COLUMN merchant_id text COLLATE "C",  -- the merchant whose pages it opened last
    -- Merchants whose owner ended it: their pages need a new log-in, and other merchants' do not.
    ADD COLUMN ended_for text[] COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN address text COLLATE "C" CHECK (char_length(address) BETWEEN 1 AND 64),
    ADD COLUMN device text CHECK (char_length(device) BETWEEN 1 AND 80);  -- "Firefox on Android"
UPDATE sessions s SET person_id = p.id FROM persons p WHERE p.email = s.email;
ALTER TABLE sessions
    DROP COLUMN email,  -- with its checks and its index
    ADD CONSTRAINT sessions_of_one CHECK (num_nonnulls(customer_id, person_id) = 1);
CREATE INDEX sessions_by_person ON sessions (person_id) WHERE person_id IS NOT NULL;

DROP TABLE merchant_users;

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
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at),
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
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    blocked_until timestamptz,
    codes_made_at timestamptz  -- the present recovery codes
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
