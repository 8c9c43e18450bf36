"""Wallets' history against the ledger."""

from laari.store.audit.difference import Check

# Lines of history that moved money, each with its transfer, where the two are not alike.
_UNLIKE = "(m.type, m.amount, m.account) IS DISTINCT FROM (h.type, h.amount, h.account)"
_MISTIMED = "(m.time, m.xid) <> (h.time, h.xid)"
_LINES = f"""lines AS MATERIALIZED (
    SELECT tid, {_UNLIKE} AS unlike, coalesce({_MISTIMED}, false) AS mistimed,
        m.type || ' of ' || m.amount || ' in ' || m.account AS moved,
        h.type || ' of ' || h.amount || ' in ' || h.account AS told,
        m.time || ' by ' || m.xid AS moved_at, h.time || ' by ' || h.xid AS told_at
    FROM (
        SELECT tid, kind, CASE WHEN incoming THEN amount ELSE -amount END,
            CASE WHEN incoming THEN credit_account ELSE debit_account END, created_at, xid
        FROM (
            SELECT *, kind IN ('refund', 'topup')
                OR kind = 'adjustment' AND debit_account IN (3, 4) AS incoming
            FROM transfers WHERE kind <> 'fee'
        ) t
    ) m (tid, type, amount, account, time, xid)
    FULL JOIN (
        SELECT tid, type, amount, account, time, xid FROM transactions WHERE status = 'success'
    ) h USING (tid)
    WHERE {_UNLIKE} OR {_MISTIMED}
)"""

CHECKS = [
    Check(
        "wallet_history",
        "The wallet's balance is not the sum of its history.",
        """SELECT w.account::text AS id, coalesce(h.amount, 0)::text AS expected,
            w.balance::text AS found
        FROM wallets w LEFT JOIN (
            SELECT account, sum(amount) AS amount FROM history WHERE status = 'success'
            GROUP BY account
        ) h USING (account)
        WHERE w.balance <> coalesce(h.amount, 0)""",
        scope="part",
    ),
    Check(
        "transaction",
        "A successful line of a wallet's history and its transfer do not agree.",
        """SELECT tid AS id, coalesce(moved, 'nothing') AS expected,
            coalesce(told, 'nothing') AS found
        FROM lines WHERE unlike""",
        queries=_LINES,
    ),
    Check(
        "transaction_time",
        "A line of history and its transfer are not of one moment and one transaction.",
        "SELECT tid AS id, moved_at AS expected, told_at AS found FROM lines WHERE mistimed",
        queries=_LINES,
    ),
    Check(
        "topup_slip",
        "A bank slip belongs to no top-up, or to one of another mode.",
        """SELECT s.slip AS id, s.mode || ' topup ' || s.tid AS expected,
            coalesce(w.mode || ' ' || t.type, 'nothing') AS found
        FROM topup_slips s LEFT JOIN transactions t ON t.tid = s.tid
        LEFT JOIN wallets w ON w.account = t.account
        WHERE (t.type, t.status, w.mode) IS DISTINCT FROM ('topup', 'success', s.mode)""",
    ),
    Check(
        "transaction_twice",
        "A transaction reference stands for more than one movement of a wallet's money.",
        """SELECT tid AS id, '1' AS expected, count(*)::text AS found
        FROM transfers WHERE kind <> 'fee' GROUP BY tid HAVING count(*) > 1""",
    ),
    Check(
        "failed_transaction",
        "A failed line of a wallet's history moved money.",
        """SELECT h.tid AS id, 'no transfer' AS expected, t.kind || ' of ' || t.amount AS found
        FROM transactions h JOIN transfers t ON t.tid = h.tid WHERE h.status = 'failed'""",
    ),
    Check(
        "transaction_account",
        "A line of history belongs to no wallet.",
        """SELECT h.tid AS id, h.account::text AS expected, 'no wallet' AS found
        FROM transactions h LEFT JOIN wallets w ON w.account = h.account
        WHERE w.account IS NULL""",
    ),
]
