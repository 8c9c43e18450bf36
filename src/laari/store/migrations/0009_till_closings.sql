-- Closings of tills: the sums of a till since its previous closing, fixed by a person.

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
    refunds bigint NOT NULL CHECK (refunds >= 0),
    refunded bigint NOT NULL CHECK (refunded >= 0),
    note text CHECK (char_length(note) BETWEEN 1 AND 500),
    actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind <> ''),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    snapshot text COLLATE "C" NOT NULL,  -- a pg_snapshot
    created_at timestamptz NOT NULL,  -- the cut-off, on the tenant's clock
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT till_closings_numbered UNIQUE (tenant_id, till, number),
    CONSTRAINT till_closings_close_something CHECK (payments + refunds > 0)
);
CREATE INDEX till_closings_by_time ON till_closings (tenant_id, created_at, id);

CREATE TRIGGER till_closings_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON till_closings
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON till_closings FROM PUBLIC;
