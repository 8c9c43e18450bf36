-- What is true of the whole installation: one row, made when it is first opened.
CREATE TABLE installation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    master_key_check bytea NOT NULL CHECK (length(master_key_check) = 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
