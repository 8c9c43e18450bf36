-- Every time a wallet was frozen and let go again; `wallets` holds only how it stands now.
CREATE TABLE wallet_freezes (
    recorded bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL REFERENCES wallets,
    time timestamptz NOT NULL,
    action text NOT NULL CHECK (action IN ('frozen', 'unfrozen')),
    reason text CHECK (char_length(reason) BETWEEN 1 AND 255),
    CONSTRAINT frozen_for_a_reason CHECK ((action = 'frozen') = (reason IS NOT NULL))
);
CREATE INDEX wallet_freezes_by_account ON wallet_freezes (account, recorded);
CREATE TRIGGER wallet_freezes_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON wallet_freezes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

INSERT INTO wallet_freezes (account, time, action, reason)
SELECT account, frozen_at, 'frozen', frozen_reason FROM wallets WHERE frozen_at IS NOT NULL
ORDER BY frozen_at;

-- Why a payment was refunded, if the operator said so.
CREATE TABLE refund_reasons (
    payment_id uuid PRIMARY KEY REFERENCES payments,
    reason text NOT NULL
        CHECK (reason IN ('requested_by_customer', 'duplicate', 'fraudulent', 'other'))
);
CREATE TRIGGER refund_reasons_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON refund_reasons
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
