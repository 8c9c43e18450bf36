-- Where the service is reached, for commands that are not told: links in what they print and announce.
ALTER TABLE installation ADD COLUMN public_url text;
