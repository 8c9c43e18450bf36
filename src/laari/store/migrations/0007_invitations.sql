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
    CONSTRAINT invitations_once UNIQUE (merchant_id, email),  -- a new one replaces the old one
    CONSTRAINT only_cashiers_are_invited_to_a_till CHECK ((role = 'cashier') = (till IS NOT NULL))
);
CREATE INDEX invitations_by_inviter ON invitations (invited_by) WHERE invited_by IS NOT NULL;
