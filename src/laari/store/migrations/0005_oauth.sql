-- OAuth clients of a merchant and the access tokens they were given. Secrets and tokens are 256
-- random bits and only their digests are kept. A scope is written as OAuth does: names with a space
-- between them, '' for none.
CREATE TABLE oauth_clients (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^cl_[a-z0-9]{20}$'),
    merchant_id text COLLATE "C" NOT NULL REFERENCES merchants,
    secret_digest bytea NOT NULL CHECK (length(secret_digest) = 32),
    scope text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);
CREATE INDEX oauth_clients_by_merchant ON oauth_clients (merchant_id, created_at);

-- No foreign key: issuing a token would lock its client's row. A token whose client is gone or
-- revoked is found by nobody.
CREATE TABLE access_tokens (
    digest bytea PRIMARY KEY CHECK (length(digest) = 32),
    client_id text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL CHECK (expires_at > issued_at),
    sandbox_offset_seconds bigint NOT NULL
);
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);
