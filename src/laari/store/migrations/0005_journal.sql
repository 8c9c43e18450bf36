-- The journal: who changed what, when, from where and why.
--
-- Commands of the spine add entries with their decision. All other changes of settings are written
-- by a trigger on the table itself, so no code path and no person with `psql` can leave one out. The
-- audit compares every watched value with its last entry (docs/audit.md).

-- Insert-only like the ledger, and sealed unless it is about a sandbox. `time` is real time. An entry
-- about a setting has all watched values of its object in `before` and `after`, also those that stay
-- the same: so the last entry of an object is its present state. `before` is null for a new object,
-- `after` for a deleted one.
CREATE TABLE journal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- in the order of changes of one object
    time timestamptz NOT NULL,
    actor_kind text COLLATE "C" NOT NULL CHECK (
        actor_kind IN ('person', 'operator', 'command_line', 'credential', 'customer', 'service')
    ),
    actor_name text NOT NULL CHECK (actor_name <> ''),
    actor_role text COLLATE "C",
    address text COLLATE "C",  -- of the request; removed after a while, so no seal includes it
    action text COLLATE "C" NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
    object_type text COLLATE "C" NOT NULL CHECK (object_type <> ''),
    object_id text COLLATE "C" NOT NULL CHECK (object_id <> ''),
    merchant_id text COLLATE "C",  -- null for objects of no merchant
    mode text COLLATE "C" CHECK (mode IN ('live', 'sandbox')),  -- null for settings of both modes
    before text COLLATE "C" CHECK (json_typeof(before::json) = 'object'),
    after text COLLATE "C" CHECK (json_typeof(after::json) = 'object'),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 500),
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX journal_by_merchant ON journal (merchant_id, time, id);
CREATE INDEX journal_by_merchant_and_object ON journal (merchant_id, object_id, time, id)
    WHERE merchant_id IS NOT NULL;
CREATE INDEX journal_by_time ON journal (time, id);
CREATE INDEX journal_by_object ON journal (object_type, object_id, id);
CREATE INDEX journal_by_xid ON journal USING brin (xid) WITH (pages_per_range = 64);
-- For purging.
CREATE INDEX journal_by_address ON journal (time) WHERE address IS NOT NULL;

CREATE TRIGGER journal_insert_only
    BEFORE DELETE OR TRUNCATE OR UPDATE OF id, time, actor_kind, actor_name, actor_role, action,
        object_type, object_id, merchant_id, mode, before, after, reason, xid ON journal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- An address may only be removed.
CREATE TRIGGER journal_keeps_addresses BEFORE UPDATE OF address ON journal
    FOR EACH ROW WHEN (NEW.address IS NOT NULL) EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON journal FROM PUBLIC;

ALTER TABLE seals DROP CONSTRAINT seals_subject_check;
ALTER TABLE seals ADD CONSTRAINT seals_subject_check
    CHECK (subject IN ('transfers', 'transactions', 'events', 'journal'));

-- The watched values of a row. A name with a # has the beginning of a digest instead: it shows that
-- a password was changed, and helps nobody to guess it.
CREATE FUNCTION journal_state(found jsonb, watched text[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(
        ltrim(name, '#'),
        CASE
            WHEN name NOT LIKE '#%' THEN found -> name
            ELSE to_jsonb(left(encode(sha256(convert_to(found ->> ltrim(name, '#'), 'UTF8')), 'hex'), 32))
        END
    ) FROM unnest(watched) AS name
$$;

-- Writes the entry for a changed row. The arguments of its trigger are the type of the object and the
-- watched columns. The transaction says who acts, in the setting `laari.actor`
-- (laari/store/people/acting.py). Times and bytes always have the same form.
CREATE FUNCTION journal_change() RETURNS trigger
LANGUAGE plpgsql SET timezone = 'UTC' SET bytea_output = 'hex' AS $$
DECLARE
    actor jsonb := nullif(current_setting('laari.actor', true), '')::jsonb;
    watched text[] := TG_ARGV[1:];
    keys text[] := ARRAY['id', 'name', 'digest', 'person_id', 'merchant_id', 'tenant_id', 'day',
        'customer_id'];
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
        WHEN 'contact_changes' THEN
            object := 'chg_' || replace(found ->> 'id', '-', '');
            only_in := (SELECT mode FROM customers WHERE id = (found ->> 'customer_id')::uuid);
        WHEN 'bank_accounts', 'payout_terms' THEN
            object := coalesce(found ->> 'id', found ->> 'tenant_id');
            SELECT t.merchant_id, t.mode INTO owner, only_in
            FROM tenants t WHERE t.id = (found ->> 'tenant_id')::bigint;
        WHEN 'customer_identities' THEN
            object := 'cus_' || replace(found ->> 'customer_id', '-', '');
            only_in := (SELECT mode FROM customers WHERE id = (found ->> 'customer_id')::uuid);
        WHEN 'bank_holidays' THEN
            object := found ->> 'day';
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

-- Only the columns that are watched fire a trigger: the last use of a key, the clock of a sandbox and
-- the balance of a wallet are none of them, so no payment, charge or request of the APIs does.
CREATE TRIGGER merchants_journal AFTER INSERT OR DELETE OR UPDATE OF id, name, mode, active, fee_bps,
        fee_fixed, webhook_url, webhooks_enabled, secret_digest, old_secret_digest, old_secret_until,
        requires_factor
    ON merchants FOR EACH ROW EXECUTE FUNCTION journal_change('merchant', 'name', 'mode', 'active',
        'fee_bps', 'fee_fixed', 'webhook_url', 'webhooks_enabled', 'secret_digest',
        'old_secret_digest', 'old_secret_until', 'requires_factor');
-- The largest payment of a merchant in this mode, beside the general one; null for no limit.
ALTER TABLE tenants
    ADD COLUMN max_payment bigint CHECK (max_payment BETWEEN 1 AND 9999999999);
CREATE OR REPLACE VIEW tenant_details AS
SELECT t.id, t.merchant_id, m.name AS merchant_name, t.mode, m.fee_bps, m.fee_fixed,
       t.clock_offset_seconds, m.sandbox_account, m.active, t.max_payment
FROM tenants t
JOIN merchants m ON m.id = t.merchant_id;
-- A merchant with a live tenant is approved for live.
CREATE TRIGGER tenants_journal AFTER INSERT OR DELETE OR UPDATE OF id, merchant_id, mode,
        max_payment
    ON tenants FOR EACH ROW EXECUTE FUNCTION journal_change('tenant', 'merchant_id', 'mode',
        'max_payment');
CREATE TRIGGER oauth_clients_journal AFTER INSERT OR DELETE OR UPDATE OF id, merchant_id, name, scope,
        secret_digest, expires_at, revoked_at
    ON oauth_clients FOR EACH ROW EXECUTE FUNCTION journal_change('oauth_client', 'merchant_id',
        'name', 'scope', 'secret_digest', 'expires_at', 'revoked_at');
CREATE TRIGGER tiers_journal AFTER INSERT OR DELETE OR UPDATE
    ON tiers FOR EACH ROW EXECUTE FUNCTION journal_change('tier', 'per_transaction', 'daily',
        'weekly', 'monthly');
CREATE TRIGGER customers_journal AFTER INSERT OR DELETE OR UPDATE OF id, name, mobile, email, vpa,
        language, password_hash
    ON customers FOR EACH ROW EXECUTE FUNCTION journal_change('customer', 'name', 'mobile', 'email',
        'vpa', 'language', '#password_hash');
CREATE TRIGGER persons_journal AFTER INSERT OR DELETE OR UPDATE OF id, email, password_hash, proven
    ON persons FOR EACH ROW EXECUTE FUNCTION journal_change('person', 'email', '#password_hash',
        'proven');
CREATE TRIGGER memberships_journal AFTER INSERT OR DELETE OR UPDATE OF person_id, merchant_id, role,
        till
    ON memberships FOR EACH ROW EXECUTE FUNCTION journal_change('membership', 'role', 'till');
-- An invitation with the digest of another link would let a stranger in, and a deleted factor would
-- open an account to everybody with its password. A code updates other columns of a factor, and the
-- use of a recovery code deletes its digest, so a log-in fires nothing.
CREATE TRIGGER invitations_journal AFTER INSERT OR DELETE OR UPDATE
    ON invitations FOR EACH ROW EXECUTE FUNCTION journal_change('invitation', 'digest', 'email',
        'role', 'till', 'expires_at', 'proves');
CREATE TRIGGER second_factors_journal AFTER INSERT OR DELETE OR UPDATE OF person_id, created_at,
        confirmed_at, codes_made_at
    ON second_factors FOR EACH ROW EXECUTE FUNCTION journal_change('second_factor', 'created_at',
        'confirmed_at', 'codes_made_at');
-- No trigger on updates: every payment updates wallets, with the tier among the columns. Commands of
-- the spine add the entries of tiers and freezes.
CREATE TRIGGER wallets_journal AFTER INSERT OR DELETE
    ON wallets FOR EACH ROW EXECUTE FUNCTION journal_change('wallet', 'tier', 'frozen_at',
        'frozen_reason');
CREATE TRIGGER wallet_keys_journal AFTER INSERT OR DELETE OR UPDATE OF digest, account, name,
        revoked_at
    ON wallet_keys FOR EACH ROW EXECUTE FUNCTION journal_change('wallet_key', 'account', 'name',
        'revoked_at');

-- The state of everything that exists, as the first entry of each object.
DO $$
DECLARE
    source record;
BEGIN
    SET LOCAL timezone = 'UTC';
    SET LOCAL bytea_output = 'hex';
    FOR source IN SELECT * FROM (VALUES
        ('merchants', 'r.id', 'r.id', 'NULL', 'merchants r'),
        ('tenants', 'r.id::text', 'r.merchant_id', 'r.mode', 'tenants r'),
        ('oauth_clients', 'r.id', 'r.merchant_id', 'NULL', 'oauth_clients r'),
        ('tiers', 'r.name', 'NULL', 'NULL', 'tiers r'),
        ('customers', '''cus_'' || encode(uuid_send(r.id), ''hex'')', 't.merchant_id', 'r.mode',
            'customers r LEFT JOIN tenants t ON t.id = r.sandbox_of'),
        ('persons', '''per_'' || encode(uuid_send(r.id), ''hex'')', 'NULL', 'NULL', 'persons r'),
        ('memberships', '''per_'' || encode(uuid_send(r.person_id), ''hex'') || '' '' || '
            'coalesce(r.merchant_id, ''operator'')', 'r.merchant_id', 'NULL', 'memberships r'),
        ('wallets', 'r.account::text', 't.merchant_id', 'r.mode', 'wallets r JOIN customers c '
            'ON c.id = r.customer_id LEFT JOIN tenants t ON t.id = c.sandbox_of'),
        ('wallet_keys', 'encode(r.digest, ''hex'')', 't.merchant_id', 'w.mode', 'wallet_keys r '
            'JOIN wallets w USING (account) JOIN customers c ON c.id = w.customer_id '
            'LEFT JOIN tenants t ON t.id = c.sandbox_of')
    ) AS sources (name, object, owner, mode, rows)
    LOOP
        EXECUTE (
            SELECT format(
                'INSERT INTO journal (time, actor_kind, actor_name, action, object_type, object_id, '
                'merchant_id, mode, after) SELECT now(), ''service'', ''upgrade'', '
                '''journal.begin'', %L, %s, %s, %s, journal_state(to_jsonb(r), %L)::text FROM %s',
                arguments[1], source.object, source.owner, source.mode, arguments[2:], source.rows
            )
            -- The arguments of its trigger, each with a zero byte at its end.
            FROM (SELECT trim_array(string_to_array(encode(tgargs, 'escape'), '\000'), 1) AS arguments
                FROM pg_trigger WHERE tgname = source.name || '_journal') AS found
        );
    END LOOP;
END
$$;

-- Failed log-ins of a customer or a person, counted by day in Maldives time: an attacker who tries
-- passwords writes one row a day. Identities that nobody has are not stored.
CREATE TABLE failed_logins (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('customer', 'person')),
    whose uuid NOT NULL,
    day date NOT NULL,
    attempts bigint NOT NULL CHECK (attempts > 0),
    last_at timestamptz NOT NULL,
    PRIMARY KEY (kind, whose, day)
);
-- For purging.
CREATE INDEX failed_logins_by_day ON failed_logins (day);

-- As for the tables of payments: queries go by keys and whole indexes, so a small sample is enough.
DO $$
DECLARE
    place name;
BEGIN
    FOR place IN
        SELECT attname FROM pg_attribute WHERE attrelid = 'journal'::regclass AND attnum > 0
    LOOP
        EXECUTE format('ALTER TABLE journal ALTER COLUMN %I SET STATISTICS 10', place);
    END LOOP;
END
$$;
