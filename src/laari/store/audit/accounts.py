"""The accounts of the ledger and their sums, for several checks."""

# Each has one account per mode, live first: fees, outside, in transit, corrections, unallocated.
SERVICE_ACCOUNTS = range(1, 11)
_MODES = ", ".join(
    f"({number}::bigint, '{'live' if number % 2 else 'sandbox'}')" for number in SERVICE_ACCOUNTS
)
MERCHANT, HELD, WALLET = 1_000_000_000, 2_000_000_000, 7_700_000_000_000

# Every account: those of the service, two of each tenant, and the customers' wallets.
ACCOUNTS = f"""accounts (account, mode) AS (
    VALUES {_MODES}
    UNION ALL SELECT {MERCHANT} + id, mode FROM tenants
    UNION ALL SELECT {HELD} + id, mode FROM tenants
    UNION ALL SELECT account, mode FROM wallets
)"""

# Movements of a merchant's money that belong to no payment.
OF_MERCHANTS = "'payout', 'payout_fee', 'payout_returned', 'hold', 'release', 'merchant_adjustment'"
# Movements of a wallet's money: each has a line in its history.
OF_WALLETS = "'payment', 'refund', 'topup', 'adjustment', 'withdrawal'"

# Sums from each account to each other, the balance of each account, each tenant's payments, and its
# movements that belong to no payment.
SUMS = f"""moved_between (debit, credit, kind, amount) AS MATERIALIZED (
    SELECT debit_account, credit_account, kind, sum(amount) FROM transfers
    GROUP BY debit_account, credit_account, kind
), moved (account, amount) AS MATERIALIZED (
    SELECT account, sum(amount) FROM (
        SELECT credit AS account, amount FROM moved_between
        UNION ALL SELECT debit, -amount FROM moved_between
    ) sides GROUP BY account
), earned (tenant_id, net, fees, refunded_fees) AS MATERIALIZED (
    SELECT tenant_id, sum(CASE WHEN status IN ('paid', 'refunded')
            THEN amount - fee - coalesce(refunded_amount, 0) ELSE 0 END),
        sum(fee), coalesce(sum(fee) FILTER (WHERE refunded_amount IS NOT NULL), 0)
    FROM payments GROUP BY tenant_id
), others (tenant_id, amount) AS MATERIALIZED (
    SELECT account - {MERCHANT}, sum(amount) FROM (
        SELECT credit AS account, kind, amount FROM moved_between
        UNION ALL SELECT debit, kind, -amount FROM moved_between
    ) sides
    WHERE kind IN ({OF_MERCHANTS}) AND account BETWEEN {MERCHANT} AND {HELD - 1}
    GROUP BY account
)"""
