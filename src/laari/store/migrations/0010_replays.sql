-- How often a saved response was given again, and when last, for whoever looks into a payment.
ALTER TABLE saved_responses
    ADD COLUMN replays bigint NOT NULL DEFAULT 0,
    ADD COLUMN last_replayed_at timestamptz,
    ADD CHECK ((replays > 0) = (last_replayed_at IS NOT NULL));
