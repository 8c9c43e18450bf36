-- What a saved response is about, for whoever looks into a payment. Responses that were saved before
-- name nothing; they are kept for a day at most.
ALTER TABLE saved_responses ADD COLUMN resource_id uuid;
CREATE INDEX saved_responses_by_resource ON saved_responses (resource_id)
    WHERE resource_id IS NOT NULL;
