-- When a key of the wallet interface was last used, about a minute exact, and a wallet's keys.
ALTER TABLE wallet_keys ADD COLUMN last_used_at timestamptz;
CREATE INDEX wallet_keys_by_account ON wallet_keys (account, created_at);
