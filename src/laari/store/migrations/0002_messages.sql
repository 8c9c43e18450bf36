-- Messages to people by email and SMS.

-- The language of messages to the customer.
ALTER TABLE customers ADD COLUMN language text NOT NULL DEFAULT 'en'
    CHECK (language IN ('en', 'dv'));

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
    parameters text,  -- JSON: the values for the text
    -- The cause: whose customer received it, and about which resource.
    tenant_id bigint,
    customer_id uuid,
    object_id uuid,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed')),
    attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),  -- since it was written or sent again
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    last_error text CHECK (char_length(last_error) BETWEEN 1 AND 300),
    sent_at timestamptz,
    CONSTRAINT sent_has_a_time CHECK ((status = 'sent') = (sent_at IS NOT NULL)),
    -- They may contain a secret link, so they are removed as soon as nobody needs them.
    CONSTRAINT parameters_until_sent CHECK ((status = 'sent') = (parameters IS NULL))
);
-- Each channel has its own queue: a stalled one does not delay the other.
CREATE INDEX messages_due ON messages (channel, next_attempt_at) WHERE status = 'pending';

-- As for the tables of payments: queries go by keys and whole indexes, so a small sample is enough.
DO $$
DECLARE
    place name;
BEGIN
    FOR place IN
        SELECT attname FROM pg_attribute WHERE attrelid = 'messages'::regclass AND attnum > 0
    LOOP
        EXECUTE format('ALTER TABLE messages ALTER COLUMN %I SET STATISTICS 10', place);
    END LOOP;
END
$$;
