-- A link that the inviter saw says nothing about the owner of the address: the inviter can open it.
-- Only a link that went to the address by email, or that an operator forwards, proves the address
-- and may replace the password of a person who has not proved it.

ALTER TABLE invitations ADD COLUMN proves boolean;
UPDATE invitations SET proves = invited_by IS NULL;
ALTER TABLE invitations ALTER COLUMN proves SET NOT NULL;
