-- Deliveries of events to merchants' webhooks, and every attempt that was made.

-- Written in the transaction of its event, where the merchant has webhooks switched on and a URL.
-- While an attempt is under way `next_attempt_at` lies a lease ahead: an attempt whose process was
-- killed is made again when the lease has run out. `claims` counts the times it was taken up; an
-- outcome that comes after the lease, when somebody else has taken it up, changes nothing.
CREATE TABLE deliveries (
    event_id uuid PRIMARY KEY,
    tenant_id bigint NOT NULL,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    failed_attempts bigint NOT NULL DEFAULT 0,  -- since it was first sent, or last sent again
    claims bigint NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    CHECK ((status = 'delivered') = (delivered_at IS NOT NULL))
) WITH (fillfactor = 70);
-- Each tenant's queue is a range of its own, so a long one is no longer way for the others.
CREATE INDEX deliveries_due ON deliveries (tenant_id, next_attempt_at) WHERE status = 'pending';

CREATE TABLE delivery_attempts (
    event_id uuid NOT NULL,
    claim bigint NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms bigint NOT NULL CHECK (duration_ms >= 0),
    url text NOT NULL,
    http_status bigint,
    error text,
    answer text,  -- the first KiB
    PRIMARY KEY (event_id, claim)
);
