-- Keys: a secret key can work for a while after its rotation, and an OAuth client has a name, an
-- expiry and a last use. All of this is real time by the database's clock, also in the sandbox.

-- The key before the last rotation. It authenticates and signs webhooks until `old_secret_until`;
-- from then on `secret_encrypted` signs. All three are null if the rotation had no overlap.
ALTER TABLE merchants
    -- A key that is not a merchant's `secret_digest` is looked up here.
    ADD COLUMN old_secret_digest bytea UNIQUE CHECK (length(old_secret_digest) = 32),
    ADD COLUMN old_secret_encrypted bytea,  -- because it signs
    ADD COLUMN old_secret_until timestamptz,  -- no longer valid at this moment
    -- An old key without an end would work for ever.
    ADD CONSTRAINT old_secret_is_complete
        CHECK (num_nonnulls(old_secret_digest, old_secret_encrypted, old_secret_until) IN (0, 3)),
    -- A rotation makes a new key.
    ADD CONSTRAINT old_secret_is_another CHECK (old_secret_digest <> secret_digest);

ALTER TABLE oauth_clients
    ADD COLUMN name text CHECK (char_length(name) BETWEEN 1 AND 80),  -- for people; null for none
    -- From this moment the client gets no token and its tokens do not work; null for never.
    ADD COLUMN expires_at timestamptz,
    -- The last time it got a token or used one, exact to about a minute.
    ADD COLUMN last_used_at timestamptz,
    ADD CONSTRAINT oauth_clients_expire_later CHECK (expires_at > created_at);
