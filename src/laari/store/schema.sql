-- The schema as the migrations leave it. Written by `python -m laari.store.schema`.

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TABLE public.access_tokens (
    digest bytea NOT NULL,
    client_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    issued_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    sandbox_offset_seconds bigint NOT NULL,
    CONSTRAINT access_tokens_check CHECK ((expires_at > issued_at)),
    CONSTRAINT access_tokens_digest_check CHECK ((length(digest) = 32))
);

CREATE TABLE public.authorizations (
    id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    token text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    description text,
    type text NOT NULL,
    currency text DEFAULT 'MVR'::text NOT NULL,
    per_payment bigint,
    period_interval text,
    period_amount bigint,
    total bigint,
    max_payments bigint,
    return_url text,
    created_at timestamp with time zone NOT NULL,
    approval_expires_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    status text NOT NULL,
    account bigint,
    payment_count bigint NOT NULL,
    total_paid numeric NOT NULL,
    period_start date,
    period_paid numeric NOT NULL,
    approved_at timestamp with time zone,
    rejected_at timestamp with time zone,
    revoked_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    last_used_at timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    counted_offset_seconds bigint DEFAULT 0 NOT NULL,
    CONSTRAINT approved_has_account CHECK (((approved_at IS NULL) = (account IS NULL))),
    CONSTRAINT authorizations_description_check CHECK (((char_length(description) >= 1) AND (char_length(description) <= 500))),
    CONSTRAINT authorizations_max_payments_check CHECK (((max_payments >= 1) AND (max_payments <= '4294967295'::bigint))),
    CONSTRAINT authorizations_payment_count_check CHECK (((payment_count >= 0) AND (payment_count <= '4294967295'::bigint))),
    CONSTRAINT authorizations_per_payment_check CHECK (((per_payment >= 1) AND (per_payment <= '999999999999999999'::bigint))),
    CONSTRAINT authorizations_period_amount_check CHECK (((period_amount >= 1) AND (period_amount <= '999999999999999999'::bigint))),
    CONSTRAINT authorizations_period_interval_check CHECK ((period_interval = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'year'::text]))),
    CONSTRAINT authorizations_period_paid_check CHECK ((period_paid >= (0)::numeric)),
    CONSTRAINT authorizations_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 128))),
    CONSTRAINT authorizations_return_url_check CHECK (((octet_length(return_url) >= 1) AND (octet_length(return_url) <= 2048))),
    CONSTRAINT authorizations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'rejected'::text, 'revoked'::text, 'cancelled'::text, 'suspended'::text, 'consumed'::text]))),
    CONSTRAINT authorizations_title_check CHECK (((char_length(title) >= 1) AND (char_length(title) <= 255))),
    CONSTRAINT authorizations_total_check CHECK (((total >= 1) AND (total <= '999999999999999999'::bigint))),
    CONSTRAINT authorizations_total_paid_check CHECK ((total_paid >= (0)::numeric)),
    CONSTRAINT authorizations_type_check CHECK ((type = ANY (ARRAY['recurring'::text, 'unscheduled'::text, 'one_time'::text]))),
    CONSTRAINT one_time_is_one_payment CHECK (((type <> 'one_time'::text) OR ((COALESCE(max_payments, (1)::bigint) = 1) AND (payment_count <= 1)))),
    CONSTRAINT period_amount_needs_interval CHECK (((period_amount IS NULL) OR (period_interval IS NOT NULL))),
    CONSTRAINT times_fit_status CHECK ((((status = 'rejected'::text) = (rejected_at IS NOT NULL)) AND ((status = 'revoked'::text) = (revoked_at IS NOT NULL)) AND ((status = 'cancelled'::text) = (cancelled_at IS NOT NULL)) AND ((status = ANY (ARRAY['active'::text, 'suspended'::text, 'revoked'::text, 'consumed'::text])) = (approved_at IS NOT NULL)))),
    CONSTRAINT within_limits CHECK (((payment_count <= max_payments) AND (total_paid <= (total)::numeric) AND (period_paid <= (period_amount)::numeric)))
)
WITH (fillfactor='85');
ALTER TABLE ONLY public.authorizations ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN token SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN title SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN description SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN type SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN currency SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN per_payment SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN period_interval SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN period_amount SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN total SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN max_payments SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN return_url SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN approval_expires_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN expires_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN payment_count SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN total_paid SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN period_start SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN period_paid SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN approved_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN rejected_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN revoked_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN cancelled_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN last_used_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN updated_at SET STATISTICS 10;
ALTER TABLE ONLY public.authorizations ALTER COLUMN counted_offset_seconds SET STATISTICS 10;

CREATE TABLE public.customers (
    id uuid NOT NULL,
    name text NOT NULL,
    mode text NOT NULL,
    sandbox_of bigint,
    mobile text COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    vpa text COLLATE pg_catalog."C",
    password_hash text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    password_must_change boolean DEFAULT false NOT NULL,
    password_first boolean DEFAULT false NOT NULL,
    CONSTRAINT customers_check CHECK (((sandbox_of IS NULL) OR (mode = 'sandbox'::text))),
    CONSTRAINT customers_email_check CHECK ((email = lower(email))),
    CONSTRAINT customers_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'sandbox'::text]))),
    CONSTRAINT customers_name_check CHECK ((name <> ''::text)),
    CONSTRAINT customers_vpa_check CHECK ((vpa = lower(vpa)))
);

CREATE TABLE public.daily_figures (
    tenant_id bigint NOT NULL,
    day date NOT NULL,
    terminal_label text NOT NULL COLLATE pg_catalog."C",
    payments bigint NOT NULL,
    gross bigint NOT NULL,
    fees bigint NOT NULL,
    refunds bigint NOT NULL,
    refunded bigint NOT NULL
);

CREATE TABLE public.deliveries (
    event_id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    failed_attempts bigint DEFAULT 0 NOT NULL,
    claims bigint DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    delivered_at timestamp with time zone,
    CONSTRAINT deliveries_check CHECK (((status = 'delivered'::text) = (delivered_at IS NOT NULL))),
    CONSTRAINT deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.deliveries ALTER COLUMN event_id SET STATISTICS 10;
ALTER TABLE ONLY public.deliveries ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.deliveries ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.deliveries ALTER COLUMN failed_attempts SET STATISTICS 10;
ALTER TABLE ONLY public.deliveries ALTER COLUMN claims SET STATISTICS 10;
ALTER TABLE ONLY public.deliveries ALTER COLUMN next_attempt_at SET STATISTICS 10;
ALTER TABLE ONLY public.deliveries ALTER COLUMN delivered_at SET STATISTICS 10;

CREATE TABLE public.delivery_attempts (
    event_id uuid NOT NULL,
    claim bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms bigint NOT NULL,
    url text NOT NULL,
    http_status bigint,
    error text,
    answer text,
    CONSTRAINT delivery_attempts_duration_ms_check CHECK ((duration_ms >= 0))
);
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN event_id SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN claim SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN started_at SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN duration_ms SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN url SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN http_status SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN error SET STATISTICS 10;
ALTER TABLE ONLY public.delivery_attempts ALTER COLUMN answer SET STATISTICS 10;

CREATE TABLE public.events (
    id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    object_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    xid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL
);
ALTER TABLE ONLY public.events ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN type SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN object_id SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN body SET STATISTICS 10;
ALTER TABLE ONLY public.events ALTER COLUMN xid SET STATISTICS 10;

CREATE TABLE public.figures_upto (
    xid bigint NOT NULL
);

CREATE TABLE public.installation (
    one boolean DEFAULT true NOT NULL,
    master_key_check bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    public_url text,
    deliveries_purged_before uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
    CONSTRAINT installation_master_key_check_check CHECK ((length(master_key_check) = 32)),
    CONSTRAINT installation_one_check CHECK (one)
);

CREATE TABLE public.merchant_users (
    email text NOT NULL COLLATE pg_catalog."C",
    merchant_id text NOT NULL COLLATE pg_catalog."C",
    password_hash text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    password_must_change boolean DEFAULT false NOT NULL,
    password_first boolean DEFAULT false NOT NULL,
    CONSTRAINT merchant_users_email_check CHECK ((email = lower(email)))
);

CREATE TABLE public.merchants (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    mode text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    secret_digest bytea NOT NULL,
    secret_encrypted bytea NOT NULL,
    fee_bps bigint NOT NULL,
    fee_fixed bigint NOT NULL,
    webhook_url text,
    webhooks_enabled boolean DEFAULT true NOT NULL,
    sandbox_account bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT merchants_fee_bps_check CHECK (((fee_bps >= 0) AND (fee_bps <= 10000))),
    CONSTRAINT merchants_fee_fixed_check CHECK (((fee_fixed >= 0) AND (fee_fixed <= '9999999999'::bigint))),
    CONSTRAINT merchants_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'sandbox'::text]))),
    CONSTRAINT merchants_name_check CHECK ((name <> ''::text)),
    CONSTRAINT merchants_secret_digest_check CHECK ((length(secret_digest) = 32))
);

CREATE TABLE public.oauth_clients (
    id text NOT NULL COLLATE pg_catalog."C",
    merchant_id text NOT NULL COLLATE pg_catalog."C",
    secret_digest bytea NOT NULL,
    scope text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT oauth_clients_id_check CHECK ((id ~ '^cl_[a-z0-9]{20}$'::text)),
    CONSTRAINT oauth_clients_secret_digest_check CHECK ((length(secret_digest) = 32))
);

CREATE TABLE public.payment_requests (
    id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    reference text NOT NULL COLLATE pg_catalog."C",
    amount bigint NOT NULL,
    title text,
    description text,
    terminal_label text COLLATE pg_catalog."C",
    bill_number text COLLATE pg_catalog."C",
    return_url text,
    customer_type text NOT NULL,
    customer_value text NOT NULL,
    account bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    status text NOT NULL,
    fee bigint,
    paid_at timestamp with time zone,
    payment_id uuid,
    payment_reference text COLLATE pg_catalog."C",
    reserved_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    rejected_at timestamp with time zone,
    CONSTRAINT end_times_fit_status CHECK ((((status = 'cancelled'::text) = (cancelled_at IS NOT NULL)) AND ((status = 'rejected'::text) = (rejected_at IS NOT NULL)))),
    CONSTRAINT paid_means_settled CHECK ((((status = ANY (ARRAY['paid'::text, 'refunded'::text])) = (num_nulls(fee, paid_at, payment_id, payment_reference) = 0)) AND (num_nulls(fee, paid_at, payment_id, payment_reference) = ANY (ARRAY[0, 4])))),
    CONSTRAINT payment_requests_amount_check CHECK (((amount >= 1) AND (amount <= '9999999999'::bigint))),
    CONSTRAINT payment_requests_bill_number_check CHECK ((bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'::text)),
    CONSTRAINT payment_requests_check CHECK (((fee >= 0) AND (fee <= amount))),
    CONSTRAINT payment_requests_customer_type_check CHECK ((customer_type = ANY (ARRAY['mobile'::text, 'email'::text, 'vpa'::text]))),
    CONSTRAINT payment_requests_customer_value_check CHECK ((customer_value <> ''::text)),
    CONSTRAINT payment_requests_description_check CHECK (((char_length(description) >= 1) AND (char_length(description) <= 500))),
    CONSTRAINT payment_requests_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 100))),
    CONSTRAINT payment_requests_return_url_check CHECK (((char_length(return_url) >= 1) AND (char_length(return_url) <= 2048))),
    CONSTRAINT payment_requests_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'paid'::text, 'rejected'::text, 'expired'::text, 'cancelled'::text, 'refunded'::text]))),
    CONSTRAINT payment_requests_terminal_label_check CHECK (((char_length(terminal_label) >= 1) AND (char_length(terminal_label) <= 10))),
    CONSTRAINT payment_requests_title_check CHECK (((char_length(title) >= 1) AND (char_length(title) <= 255))),
    CONSTRAINT reserved_only_while_pending CHECK (((reserved_at IS NULL) OR (status = 'pending'::text)))
);
ALTER TABLE ONLY public.payment_requests ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN amount SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN title SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN description SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN terminal_label SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN bill_number SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN return_url SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN customer_type SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN customer_value SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN expires_at SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN fee SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN paid_at SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN payment_id SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN payment_reference SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN reserved_at SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN cancelled_at SET STATISTICS 10;
ALTER TABLE ONLY public.payment_requests ALTER COLUMN rejected_at SET STATISTICS 10;

CREATE TABLE public.payments (
    id uuid NOT NULL,
    tenant_id bigint NOT NULL,
    kind text NOT NULL,
    token text NOT NULL COLLATE pg_catalog."C",
    reference text NOT NULL COLLATE pg_catalog."C",
    amount bigint NOT NULL,
    title text,
    description text,
    terminal_label text COLLATE pg_catalog."C",
    bill_number text COLLATE pg_catalog."C",
    return_url text,
    metadata text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    request_id uuid,
    authorization_id uuid,
    status text NOT NULL,
    fee bigint,
    paid_at timestamp with time zone,
    payment_reference text COLLATE pg_catalog."C",
    payer_account bigint,
    reserved_at timestamp with time zone,
    reserved_by bigint,
    cancelled_at timestamp with time zone,
    rejected_at timestamp with time zone,
    refunded_at timestamp with time zone,
    CONSTRAINT end_times_fit_status CHECK ((((status = 'cancelled'::text) = (cancelled_at IS NOT NULL)) AND ((status = 'rejected'::text) = (rejected_at IS NOT NULL)) AND ((status = 'refunded'::text) = (refunded_at IS NOT NULL)))),
    CONSTRAINT kind_fits_links CHECK ((((kind = 'request'::text) = (request_id IS NOT NULL)) AND ((kind = 'charge'::text) = (authorization_id IS NOT NULL)))),
    CONSTRAINT paid_means_settled CHECK ((((status = ANY (ARRAY['paid'::text, 'refunded'::text])) = (num_nulls(fee, paid_at, payment_reference, payer_account) = 0)) AND (num_nulls(fee, paid_at, payment_reference, payer_account) = ANY (ARRAY[0, 4])))),
    CONSTRAINT payments_amount_check CHECK (((amount >= 1) AND (amount <= '9999999999'::bigint))),
    CONSTRAINT payments_bill_number_check CHECK ((bill_number ~ '^[A-Za-z0-9 ._/-]{1,25}$'::text)),
    CONSTRAINT payments_check CHECK (((char_length(return_url) >= 1) AND (char_length(return_url) <= 2048) AND ((kind = 'request'::text) OR (octet_length(return_url) <= 2048)))),
    CONSTRAINT payments_check1 CHECK (((fee >= 0) AND (fee <= amount))),
    CONSTRAINT payments_description_check CHECK (((char_length(description) >= 1) AND (char_length(description) <= 500))),
    CONSTRAINT payments_kind_check CHECK ((kind = ANY (ARRAY['hosted'::text, 'request'::text, 'charge'::text]))),
    CONSTRAINT payments_metadata_check CHECK ((json_typeof((metadata)::json) = 'object'::text)),
    CONSTRAINT payments_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 100))),
    CONSTRAINT payments_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'paid'::text, 'rejected'::text, 'expired'::text, 'cancelled'::text, 'refunded'::text]))),
    CONSTRAINT payments_terminal_label_check CHECK (((char_length(terminal_label) >= 1) AND (char_length(terminal_label) <= 10))),
    CONSTRAINT payments_title_check CHECK (((char_length(title) >= 1) AND (char_length(title) <= 255))),
    CONSTRAINT reserved_only_while_pending CHECK (((num_nulls(reserved_at, reserved_by) = ANY (ARRAY[0, 2])) AND ((reserved_at IS NULL) OR (status = 'pending'::text))))
);
ALTER TABLE ONLY public.payments ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN token SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN amount SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN title SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN description SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN terminal_label SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN bill_number SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN return_url SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN metadata SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN expires_at SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN request_id SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN authorization_id SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN fee SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN paid_at SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN payment_reference SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN payer_account SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN reserved_at SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN reserved_by SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN cancelled_at SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN rejected_at SET STATISTICS 10;
ALTER TABLE ONLY public.payments ALTER COLUMN refunded_at SET STATISTICS 10;

CREATE TABLE public.reference_claims (
    tenant_id bigint NOT NULL,
    reference text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    resource_id uuid NOT NULL,
    CONSTRAINT reference_claims_kind_check CHECK ((kind = ANY (ARRAY['payment'::text, 'charge'::text, 'request'::text]))),
    CONSTRAINT reference_claims_reference_check CHECK (((char_length(reference) >= 1) AND (char_length(reference) <= 100)))
);
ALTER TABLE ONLY public.reference_claims ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.reference_claims ALTER COLUMN reference SET STATISTICS 10;
ALTER TABLE ONLY public.reference_claims ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.reference_claims ALTER COLUMN resource_id SET STATISTICS 10;

CREATE TABLE public.refund_reasons (
    payment_id uuid NOT NULL,
    reason text NOT NULL,
    CONSTRAINT refund_reasons_reason_check CHECK ((reason = ANY (ARRAY['requested_by_customer'::text, 'duplicate'::text, 'fraudulent'::text, 'other'::text])))
);

CREATE TABLE public.sandbox_periods (
    owner uuid NOT NULL,
    unit text NOT NULL,
    start date NOT NULL,
    spent numeric NOT NULL,
    CONSTRAINT sandbox_periods_spent_check CHECK ((spent > (0)::numeric)),
    CONSTRAINT sandbox_periods_unit_check CHECK ((unit = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'year'::text])))
);

CREATE TABLE public.saved_responses (
    tenant_id bigint NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    fingerprint bytea NOT NULL,
    status bigint NOT NULL,
    body bytea NOT NULL,
    completed_at timestamp with time zone NOT NULL,
    replays bigint DEFAULT 0 NOT NULL,
    last_replayed_at timestamp with time zone,
    resource_id uuid,
    CONSTRAINT saved_responses_check CHECK (((replays > 0) = (last_replayed_at IS NOT NULL))),
    CONSTRAINT saved_responses_fingerprint_check CHECK ((length(fingerprint) = 32)),
    CONSTRAINT saved_responses_key_check CHECK ((key ~ '^[!-~]{1,255}$'::text))
);
ALTER TABLE ONLY public.saved_responses ALTER COLUMN tenant_id SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN operation SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN key SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN fingerprint SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN body SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN completed_at SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN replays SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN last_replayed_at SET STATISTICS 10;
ALTER TABLE ONLY public.saved_responses ALTER COLUMN resource_id SET STATISTICS 10;

CREATE TABLE public.schema_migrations (
    version bigint NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.seals (
    number bigint NOT NULL,
    subject text NOT NULL,
    from_xid bigint NOT NULL,
    from_key text COLLATE pg_catalog."C",
    upto_xid bigint NOT NULL,
    upto_key text COLLATE pg_catalog."C",
    row_count bigint NOT NULL,
    deliveries bigint NOT NULL,
    content bytea NOT NULL,
    sealed_at timestamp with time zone NOT NULL,
    mac bytea NOT NULL,
    CONSTRAINT seals_check CHECK ((upto_xid >= from_xid)),
    CONSTRAINT seals_content_check CHECK ((length(content) = 32)),
    CONSTRAINT seals_deliveries_check CHECK ((deliveries >= 0)),
    CONSTRAINT seals_mac_check CHECK ((length(mac) = 32)),
    CONSTRAINT seals_number_check CHECK ((number >= 1)),
    CONSTRAINT seals_row_count_check CHECK ((row_count >= 0)),
    CONSTRAINT seals_subject_check CHECK ((subject = ANY (ARRAY['transfers'::text, 'transactions'::text, 'events'::text])))
);

CREATE TABLE public.sessions (
    digest bytea NOT NULL,
    customer_id uuid,
    email text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    authenticated_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    page text COLLATE pg_catalog."C",
    CONSTRAINT sessions_check CHECK ((num_nonnulls(customer_id, email) = 1)),
    CONSTRAINT sessions_digest_check CHECK ((length(digest) = 32)),
    CONSTRAINT sessions_page_check CHECK (((page IS NULL) OR ((customer_id IS NOT NULL) AND (page ~ '^/(pay|approve)/[^/]+$'::text))))
);

CREATE TABLE public.tenants (
    id bigint NOT NULL,
    merchant_id text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL,
    clock_offset_seconds bigint DEFAULT 0 NOT NULL,
    CONSTRAINT tenants_check CHECK (((mode = 'sandbox'::text) OR (clock_offset_seconds = 0))),
    CONSTRAINT tenants_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'sandbox'::text])))
);

CREATE VIEW public.tenant_details AS
 SELECT t.id,
    t.merchant_id,
    m.name AS merchant_name,
    t.mode,
    m.fee_bps,
    m.fee_fixed,
    t.clock_offset_seconds,
    m.sandbox_account,
    m.active
   FROM (public.tenants t
     JOIN public.merchants m ON ((m.id = t.merchant_id)));

ALTER TABLE public.tenants ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.tenants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.tiers (
    name text NOT NULL COLLATE pg_catalog."C",
    per_transaction bigint,
    daily bigint,
    weekly bigint,
    monthly bigint,
    CONSTRAINT tiers_daily_check CHECK ((daily >= 0)),
    CONSTRAINT tiers_monthly_check CHECK ((monthly >= 0)),
    CONSTRAINT tiers_name_check CHECK ((name ~ '^[a-z][a-z0-9_-]{0,39}$'::text)),
    CONSTRAINT tiers_per_transaction_check CHECK ((per_transaction >= 0)),
    CONSTRAINT tiers_weekly_check CHECK ((weekly >= 0))
);

CREATE TABLE public.topup_slips (
    mode text NOT NULL,
    slip text NOT NULL COLLATE pg_catalog."C",
    tid text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT topup_slips_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'sandbox'::text]))),
    CONSTRAINT topup_slips_slip_check CHECK (((char_length(slip) >= 1) AND (char_length(slip) <= 100)))
);

CREATE TABLE public.transactions (
    tid text NOT NULL COLLATE pg_catalog."C",
    account bigint NOT NULL,
    recorded bigint NOT NULL,
    "time" timestamp with time zone NOT NULL,
    type text NOT NULL,
    name text NOT NULL,
    details text NOT NULL,
    amount bigint NOT NULL,
    status text NOT NULL,
    xid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    CONSTRAINT transactions_amount_check CHECK ((amount <> 0)),
    CONSTRAINT transactions_status_check CHECK ((status = ANY (ARRAY['success'::text, 'failed'::text]))),
    CONSTRAINT transactions_type_check CHECK ((type = ANY (ARRAY['topup'::text, 'payment'::text, 'refund'::text, 'transfer'::text, 'withdraw'::text, 'adjustment'::text])))
);
ALTER TABLE ONLY public.transactions ALTER COLUMN tid SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN recorded SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN "time" SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN type SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN name SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN details SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN amount SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN status SET STATISTICS 10;
ALTER TABLE ONLY public.transactions ALTER COLUMN xid SET STATISTICS 10;

ALTER TABLE public.transactions ALTER COLUMN recorded ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.transactions_recorded_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.transfers (
    id uuid NOT NULL,
    kind text NOT NULL,
    debit_account bigint NOT NULL,
    credit_account bigint NOT NULL,
    amount bigint NOT NULL,
    payment_id uuid,
    tid text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    xid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    CONSTRAINT transfers_amount_check CHECK ((amount > 0)),
    CONSTRAINT transfers_check CHECK ((debit_account <> credit_account)),
    CONSTRAINT transfers_check1 CHECK (((kind = ANY (ARRAY['payment'::text, 'fee'::text, 'refund'::text])) = (payment_id IS NOT NULL))),
    CONSTRAINT transfers_kind_check CHECK ((kind = ANY (ARRAY['payment'::text, 'fee'::text, 'refund'::text, 'topup'::text, 'adjustment'::text])))
);
ALTER TABLE ONLY public.transfers ALTER COLUMN id SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN kind SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN debit_account SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN credit_account SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN amount SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN payment_id SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN tid SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN created_at SET STATISTICS 10;
ALTER TABLE ONLY public.transfers ALTER COLUMN xid SET STATISTICS 10;

CREATE SEQUENCE public.wallet_accounts
    START WITH 7700000000001
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.wallet_freezes (
    recorded bigint NOT NULL,
    account bigint NOT NULL,
    "time" timestamp with time zone NOT NULL,
    action text NOT NULL,
    reason text,
    CONSTRAINT frozen_for_a_reason CHECK (((action = 'frozen'::text) = (reason IS NOT NULL))),
    CONSTRAINT wallet_freezes_action_check CHECK ((action = ANY (ARRAY['frozen'::text, 'unfrozen'::text]))),
    CONSTRAINT wallet_freezes_reason_check CHECK (((char_length(reason) >= 1) AND (char_length(reason) <= 255)))
);

ALTER TABLE public.wallet_freezes ALTER COLUMN recorded ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.wallet_freezes_recorded_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.wallet_keys (
    digest bytea NOT NULL,
    account bigint NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT wallet_keys_digest_check CHECK ((length(digest) = 32))
);

CREATE UNLOGGED TABLE public.wallet_windows (
    account bigint NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    used bigint NOT NULL,
    CONSTRAINT wallet_windows_used_check CHECK ((used > 0))
)
WITH (fillfactor='70');
ALTER TABLE ONLY public.wallet_windows ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.wallet_windows ALTER COLUMN opened_at SET STATISTICS 10;
ALTER TABLE ONLY public.wallet_windows ALTER COLUMN used SET STATISTICS 10;

CREATE TABLE public.wallets (
    account bigint DEFAULT nextval('public.wallet_accounts'::regclass) NOT NULL,
    customer_id uuid NOT NULL,
    mode text NOT NULL,
    tier text NOT NULL COLLATE pg_catalog."C",
    balance bigint DEFAULT 0 NOT NULL,
    day_start date DEFAULT '1970-01-01'::date NOT NULL,
    day_spent numeric DEFAULT 0 NOT NULL,
    week_start date DEFAULT '1970-01-01'::date NOT NULL,
    week_spent numeric DEFAULT 0 NOT NULL,
    month_start date DEFAULT '1970-01-01'::date NOT NULL,
    month_spent numeric DEFAULT 0 NOT NULL,
    counted_offset_seconds bigint DEFAULT 0 NOT NULL,
    frozen_at timestamp with time zone,
    frozen_reason text,
    CONSTRAINT frozen_for_a_reason CHECK ((num_nonnulls(frozen_at, frozen_reason) = ANY (ARRAY[0, 2]))),
    CONSTRAINT wallets_day_spent_check CHECK ((day_spent >= (0)::numeric)),
    CONSTRAINT wallets_frozen_reason_check CHECK (((char_length(frozen_reason) >= 1) AND (char_length(frozen_reason) <= 255))),
    CONSTRAINT wallets_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'sandbox'::text]))),
    CONSTRAINT wallets_month_spent_check CHECK ((month_spent >= (0)::numeric)),
    CONSTRAINT wallets_week_spent_check CHECK ((week_spent >= (0)::numeric))
)
WITH (fillfactor='80');
ALTER TABLE ONLY public.wallets ALTER COLUMN account SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN customer_id SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN mode SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN tier SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN balance SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN day_start SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN day_spent SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN week_start SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN week_spent SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN month_start SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN month_spent SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN counted_offset_seconds SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN frozen_at SET STATISTICS 10;
ALTER TABLE ONLY public.wallets ALTER COLUMN frozen_reason SET STATISTICS 10;

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT access_tokens_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_tenant_id_reference_key UNIQUE (tenant_id, reference);

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_token_key UNIQUE (token);

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_sandbox_of_key UNIQUE (sandbox_of);

ALTER TABLE ONLY public.daily_figures
    ADD CONSTRAINT daily_figures_pkey PRIMARY KEY (tenant_id, day, terminal_label);

ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY public.delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (event_id, claim);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (one);

ALTER TABLE ONLY public.merchant_users
    ADD CONSTRAINT merchant_users_pkey PRIMARY KEY (email);

ALTER TABLE ONLY public.merchants
    ADD CONSTRAINT merchants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.merchants
    ADD CONSTRAINT merchants_sandbox_account_key UNIQUE (sandbox_account);

ALTER TABLE ONLY public.merchants
    ADD CONSTRAINT merchants_secret_digest_key UNIQUE (secret_digest);

ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.payment_requests
    ADD CONSTRAINT payment_requests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.payments
    ADD CONSTRAINT payments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.payments
    ADD CONSTRAINT payments_token_key UNIQUE (token);

ALTER TABLE ONLY public.reference_claims
    ADD CONSTRAINT reference_claims_pkey PRIMARY KEY (tenant_id, reference);

ALTER TABLE ONLY public.refund_reasons
    ADD CONSTRAINT refund_reasons_pkey PRIMARY KEY (payment_id);

ALTER TABLE ONLY public.sandbox_periods
    ADD CONSTRAINT sandbox_periods_pkey PRIMARY KEY (owner, unit, start);

ALTER TABLE ONLY public.saved_responses
    ADD CONSTRAINT saved_responses_pkey PRIMARY KEY (tenant_id, operation, key);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.seals
    ADD CONSTRAINT seals_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_merchant_id_mode_key UNIQUE (merchant_id, mode);

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tiers
    ADD CONSTRAINT tiers_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.topup_slips
    ADD CONSTRAINT topup_slips_pkey PRIMARY KEY (mode, slip);

ALTER TABLE ONLY public.topup_slips
    ADD CONSTRAINT topup_slips_tid_key UNIQUE (tid);

ALTER TABLE ONLY public.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (tid);

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.wallet_freezes
    ADD CONSTRAINT wallet_freezes_pkey PRIMARY KEY (recorded);

ALTER TABLE ONLY public.wallet_keys
    ADD CONSTRAINT wallet_keys_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.wallet_windows
    ADD CONSTRAINT wallet_windows_pkey PRIMARY KEY (account);

ALTER TABLE ONLY public.wallets
    ADD CONSTRAINT wallets_customer_id_key UNIQUE (customer_id);

ALTER TABLE ONLY public.wallets
    ADD CONSTRAINT wallets_pkey PRIMARY KEY (account);

CREATE INDEX access_tokens_by_expiry ON public.access_tokens USING btree (expires_at);

CREATE INDEX authorizations_by_account ON public.authorizations USING btree (account, created_at, id) WHERE (account IS NOT NULL);

CREATE INDEX authorizations_by_status ON public.authorizations USING btree (tenant_id, status, created_at, id);

CREATE INDEX authorizations_by_time ON public.authorizations USING btree (tenant_id, created_at, id);

CREATE UNIQUE INDEX customers_email ON public.customers USING btree (mode, email) WHERE (sandbox_of IS NULL);

CREATE UNIQUE INDEX customers_mobile ON public.customers USING btree (mode, mobile) WHERE (sandbox_of IS NULL);

CREATE UNIQUE INDEX customers_vpa ON public.customers USING btree (mode, vpa) WHERE (sandbox_of IS NULL);

CREATE INDEX deliveries_due ON public.deliveries USING btree (tenant_id, next_attempt_at) WHERE (status = 'pending'::text);

CREATE INDEX events_by_time ON public.events USING btree (tenant_id, created_at, id);

CREATE INDEX events_by_xid ON public.events USING brin (xid) WITH (pages_per_range='64');

CREATE UNIQUE INDEX events_once ON public.events USING btree (object_id, type);

CREATE UNIQUE INDEX figures_upto_one ON public.figures_upto USING btree ((true));

CREATE INDEX oauth_clients_by_merchant ON public.oauth_clients USING btree (merchant_id, created_at);

CREATE INDEX payment_requests_by_account ON public.payment_requests USING btree (account, created_at, id);

CREATE INDEX payment_requests_by_bill ON public.payment_requests USING btree (tenant_id, bill_number, created_at, id) WHERE (bill_number IS NOT NULL);

CREATE INDEX payment_requests_by_label_and_status ON public.payment_requests USING btree (tenant_id, terminal_label, status, created_at, id) WHERE (terminal_label IS NOT NULL);

CREATE INDEX payment_requests_by_status ON public.payment_requests USING btree (tenant_id, status, created_at, id);

CREATE INDEX payment_requests_by_time ON public.payment_requests USING btree (tenant_id, created_at, id);

CREATE INDEX payment_requests_due ON public.payment_requests USING btree (tenant_id, expires_at) WHERE ((status = 'pending'::text) AND (reserved_at IS NULL));

CREATE INDEX payments_by_authorization ON public.payments USING btree (authorization_id, created_at, id) WHERE (authorization_id IS NOT NULL);

CREATE INDEX payments_by_bill ON public.payments USING btree (tenant_id, bill_number, created_at, id) WHERE (bill_number IS NOT NULL);

CREATE INDEX payments_by_label_and_status ON public.payments USING btree (tenant_id, terminal_label, status, created_at, id) WHERE (terminal_label IS NOT NULL);

CREATE INDEX payments_by_paid ON public.payments USING btree (tenant_id, paid_at, id) WHERE (paid_at IS NOT NULL);

CREATE INDEX payments_by_refunded ON public.payments USING btree (tenant_id, refunded_at, id) WHERE (refunded_at IS NOT NULL);

CREATE INDEX payments_by_status ON public.payments USING btree (tenant_id, status, created_at, id);

CREATE INDEX payments_by_time ON public.payments USING btree (tenant_id, created_at, id);

CREATE INDEX saved_responses_by_age_of_tenant ON public.saved_responses USING btree (((tenant_id | (0)::bigint)), completed_at);
ALTER INDEX public.saved_responses_by_age_of_tenant ALTER COLUMN 1 SET STATISTICS 10;

CREATE INDEX saved_responses_by_resource ON public.saved_responses USING btree (resource_id) WHERE (resource_id IS NOT NULL);

CREATE INDEX seals_by_subject ON public.seals USING btree (subject, number);

CREATE INDEX sessions_by_age ON public.sessions USING btree (seen_at);

CREATE INDEX sessions_by_customer ON public.sessions USING btree (customer_id) WHERE (customer_id IS NOT NULL);

CREATE INDEX sessions_by_email ON public.sessions USING btree (email) WHERE (email IS NOT NULL);

CREATE INDEX topup_slips_by_slip ON public.topup_slips USING btree (slip);

CREATE INDEX transactions_by_account ON public.transactions USING btree (account, recorded);

CREATE INDEX transactions_by_xid ON public.transactions USING brin (xid) WITH (pages_per_range='64');

CREATE INDEX transfers_by_xid ON public.transfers USING brin (xid) WITH (pages_per_range='64');

CREATE UNIQUE INDEX transfers_once_per_payment ON public.transfers USING btree (payment_id, kind) WHERE (payment_id IS NOT NULL);

CREATE INDEX wallet_freezes_by_account ON public.wallet_freezes USING btree (account, recorded);

CREATE INDEX wallet_keys_by_account ON public.wallet_keys USING btree (account, created_at);

CREATE TRIGGER refund_reasons_insert_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.refund_reasons FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER seals_insert_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.seals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER topup_slips_insert_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.topup_slips FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER transactions_insert_only BEFORE UPDATE OR TRUNCATE ON public.transactions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER transactions_keep_money BEFORE DELETE ON public.transactions FOR EACH ROW WHEN ((old.status <> 'failed'::text)) EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER transfers_insert_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.transfers FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER wallet_freezes_insert_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.wallet_freezes FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

ALTER TABLE ONLY public.customers
    ADD CONSTRAINT customers_sandbox_of_fkey FOREIGN KEY (sandbox_of) REFERENCES public.tenants(id);

ALTER TABLE ONLY public.daily_figures
    ADD CONSTRAINT daily_figures_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenants(id);

ALTER TABLE ONLY public.merchant_users
    ADD CONSTRAINT merchant_users_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);

ALTER TABLE ONLY public.oauth_clients
    ADD CONSTRAINT oauth_clients_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);

ALTER TABLE ONLY public.refund_reasons
    ADD CONSTRAINT refund_reasons_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES public.payments(id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES public.customers(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_email_fkey FOREIGN KEY (email) REFERENCES public.merchant_users(email) ON DELETE CASCADE;

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT tenants_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES public.merchants(id);

ALTER TABLE ONLY public.wallet_freezes
    ADD CONSTRAINT wallet_freezes_account_fkey FOREIGN KEY (account) REFERENCES public.wallets(account);

ALTER TABLE ONLY public.wallet_keys
    ADD CONSTRAINT wallet_keys_account_fkey FOREIGN KEY (account) REFERENCES public.wallets(account);

ALTER TABLE ONLY public.wallets
    ADD CONSTRAINT wallets_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES public.customers(id);

ALTER TABLE ONLY public.wallets
    ADD CONSTRAINT wallets_tier_fkey FOREIGN KEY (tier) REFERENCES public.tiers(name);
