-- The journal watches invitations and second factors: who invited whom, and who turned a factor off.
--
-- An invitation with the digest of another link would let a stranger in, and a deleted factor would
-- open an account to everybody with its password. So the audit compares them with their last entries.

-- When the present recovery codes were made. Their digests are not watched: each use deletes one.
ALTER TABLE second_factors ADD COLUMN codes_made_at timestamptz;
UPDATE second_factors SET codes_made_at = confirmed_at;

-- As in 0005_journal.sql, with two more tables.
CREATE OR REPLACE FUNCTION journal_change() RETURNS trigger
LANGUAGE plpgsql SET timezone = 'UTC' SET bytea_output = 'hex' AS $$
DECLARE
    actor jsonb := nullif(current_setting('laari.actor', true), '')::jsonb;
    watched text[] := TG_ARGV[1:];
    keys text[] := ARRAY['id', 'name', 'digest', 'person_id', 'merchant_id'];
    found jsonb := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
    state_before jsonb := CASE WHEN TG_OP <> 'INSERT' THEN journal_state(to_jsonb(OLD), watched) END;
    state_after jsonb := CASE WHEN TG_OP <> 'DELETE' THEN journal_state(to_jsonb(NEW), watched) END;
    object text;
    owner text;
    only_in text;
    email jsonb;
BEGIN
    -- Nothing that is watched has changed, and no key.
    IF TG_OP = 'UPDATE' AND state_before = state_after
        AND journal_state(to_jsonb(OLD), keys) = journal_state(found, keys) THEN
        RETURN NULL;
    END IF;
    IF actor IS NULL THEN
        RAISE EXCEPTION 'a change of % needs an actor for the journal', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation', HINT = 'The setting laari.actor names it.';
    END IF;
    CASE TG_TABLE_NAME
        WHEN 'merchants' THEN
            object := found ->> 'id';
            owner := object;
        WHEN 'tenants' THEN
            object := found ->> 'id';
            owner := found ->> 'merchant_id';
            only_in := found ->> 'mode';
        WHEN 'oauth_clients' THEN
            object := found ->> 'id';
            owner := found ->> 'merchant_id';
        WHEN 'tiers' THEN
            object := found ->> 'name';
        WHEN 'customers' THEN
            object := 'cus_' || replace(found ->> 'id', '-', '');
            only_in := found ->> 'mode';
            owner := (SELECT merchant_id FROM tenants WHERE id = (found ->> 'sandbox_of')::bigint);
        WHEN 'wallets' THEN
            object := found ->> 'account';
            only_in := found ->> 'mode';
            owner := (SELECT t.merchant_id FROM customers c JOIN tenants t ON t.id = c.sandbox_of
                WHERE c.id = (found ->> 'customer_id')::uuid);
        WHEN 'persons' THEN
            object := 'per_' || replace(found ->> 'id', '-', '');
        WHEN 'memberships' THEN
            object := 'per_' || replace(found ->> 'person_id', '-', '') || ' '
                || coalesce(found ->> 'merchant_id', 'operator');
            owner := found ->> 'merchant_id';
            -- For readers: the person may be removed later.
            email := jsonb_build_object('email',
                (SELECT p.email FROM persons p WHERE p.id = (found ->> 'person_id')::uuid));
            state_before := state_before || email;
            state_after := state_after || email;
        WHEN 'invitations' THEN
            owner := found ->> 'merchant_id';
            object := owner || ' ' || (found ->> 'email');
        WHEN 'second_factors' THEN
            object := 'per_' || replace(found ->> 'person_id', '-', '');
        WHEN 'wallet_keys' THEN
            object := substr(found ->> 'digest', 3);  -- without \x
            SELECT w.mode, t.merchant_id INTO only_in, owner
            FROM wallets w JOIN customers c ON c.id = w.customer_id
            LEFT JOIN tenants t ON t.id = c.sandbox_of
            WHERE w.account = (found ->> 'account')::bigint;
    END CASE;
    INSERT INTO journal (time, actor_kind, actor_name, actor_role, address, action, object_type,
        object_id, merchant_id, mode, before, after, reason)
    VALUES (now(), actor ->> 'kind', actor ->> 'name', actor ->> 'role', actor ->> 'address',
        actor ->> 'action', TG_ARGV[0], object, owner, only_in, state_before::text,
        state_after::text, actor ->> 'reason');
    RETURN NULL;
END $$;

-- A code updates other columns of a factor, so a log-in fires nothing.
CREATE TRIGGER invitations_journal AFTER INSERT OR DELETE OR UPDATE
    ON invitations FOR EACH ROW EXECUTE FUNCTION journal_change('invitation', 'digest', 'email',
        'role', 'till', 'expires_at', 'proves');
CREATE TRIGGER second_factors_journal AFTER INSERT OR DELETE OR UPDATE OF person_id, created_at,
        confirmed_at, codes_made_at
    ON second_factors FOR EACH ROW EXECUTE FUNCTION journal_change('second_factor', 'created_at',
        'confirmed_at', 'codes_made_at');

-- The state of everything that exists, as the first entry of each object.
DO $$
BEGIN
    SET LOCAL timezone = 'UTC';
    SET LOCAL bytea_output = 'hex';
    INSERT INTO journal (time, actor_kind, actor_name, action, object_type, object_id, merchant_id,
        after)
    SELECT now(), 'service', 'upgrade', 'journal.begin', 'invitation',
        r.merchant_id || ' ' || r.email, r.merchant_id, journal_state(to_jsonb(r),
            ARRAY['digest', 'email', 'role', 'till', 'expires_at', 'proves'])::text
    FROM invitations r
    UNION ALL SELECT now(), 'service', 'upgrade', 'journal.begin', 'second_factor',
        'per_' || encode(uuid_send(r.person_id), 'hex'), NULL, journal_state(to_jsonb(r),
            ARRAY['created_at', 'confirmed_at', 'codes_made_at'])::text
    FROM second_factors r;
END
$$;
