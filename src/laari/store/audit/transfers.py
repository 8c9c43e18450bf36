"""Money: transfers against payments, accounts, balances and the history of wallets."""

from typing import NamedTuple

from laari.store.audit.accounts import ACCOUNTS, OF_WALLETS, SUMS
from laari.store.audit.difference import Check, shown, unguarded


class _Called(NamedTuple):
    """A kind of transfer that some payments need, and its accounts and amount."""

    kind: str
    when: str
    debit: str
    credit: str
    amount: str
    message: str


_MERCHANT = "1000000000 + p.tenant_id"
_FEES = "CASE WHEN p.tenant_id IN (SELECT id FROM tenants WHERE mode = 'live') THEN 1 ELSE 2 END"
_ALL_CALLED = (
    _Called(
        kind="payment",
        when="p.status IN ('paid', 'refunded')",
        debit="p.payer_account",
        credit=_MERCHANT,
        amount="p.amount",
        message="A paid payment moves its amount from the payer to the merchant; "
        "any other moves nothing.",
    ),
    _Called(
        kind="fee",
        when="p.fee > 0",
        debit=_MERCHANT,
        credit=_FEES,
        amount="p.fee",
        message="A payment's fee moves from the merchant to the service; "
        "without a fee nothing does.",
    ),
)

# Refunds are compared with their own rows (`laari.store.audit.refunds`).
_OF_PAYING = "id IS NOT NULL AND kind IN ('payment', 'fee')"
_MISTIMED = f"{_OF_PAYING} AND moved_at IS DISTINCT FROM paid_at"
_MISNAMED = f"{_OF_PAYING} AND tid IS DISTINCT FROM payment_reference"
_RIGHT = " ".join(
    f"WHEN '{each.kind}' THEN {each.when} AND t.debit_account = {each.debit} "
    f"AND t.credit_account = {each.credit} AND t.amount = {each.amount}"
    for each in _ALL_CALLED
)
_COUNTS = " + ".join(f"count(*) FILTER (WHERE {each.when})" for each in _ALL_CALLED)
_KINDS = ", ".join(f"'{each.kind}'" for each in _ALL_CALLED)
# No transfer is missing if each is called for, none is there twice and their number is right. Only
# otherwise the check looks for each of them.
_MOVES = f"""moves AS MATERIALIZED (
    SELECT * FROM (
        SELECT t.id AS transfer_id, t.payment_id, t.kind, t.tid, t.created_at AS moved_at,
            p.id, p.paid_at, p.payment_reference,
            (CASE t.kind {_RIGHT} WHEN 'refund' THEN p.id IS NOT NULL
                ELSE t.payment_id IS NULL END) IS NOT TRUE AS uncalled
        FROM transfers t LEFT JOIN payments p ON p.id = t.payment_id
        WHERE t.payment_id IS NOT NULL OR t.kind IN ({_KINDS})
    ) joined WHERE uncalled OR ({_MISTIMED}) OR ({_MISNAMED})
), gaps (possible) AS MATERIALIZED (
    SELECT {unguarded("transfers_once_per_payment")}
        OR EXISTS (SELECT FROM moves WHERE uncalled) OR (SELECT {_COUNTS} FROM payments p)
        <> (SELECT count(*) FROM transfers WHERE kind IN ({_KINDS}))
)"""


def _called_for(called: _Called) -> Check:
    """Payments against their transfers of one kind, in both directions."""
    kind = called.kind
    described = "{0}.amount || ' from ' || {0}.debit || ' to ' || {0}.credit"
    return Check(
        f"{kind}_transfer",
        called.message,
        f"""SELECT {shown("pay", "coalesce(e.payment_id, f.payment_id)")} AS id,
            coalesce({described.format("e")}, 'no {kind} transfer') AS expected,
            coalesce({described.format("f")}, 'no {kind} transfer') AS found
        FROM (
            SELECT p.id, {called.debit}, {called.credit}, {called.amount}
            FROM payments p WHERE {called.when}
        ) e (payment_id, debit, credit, amount)
        FULL JOIN (
            SELECT payment_id, debit_account, credit_account, amount
            FROM transfers WHERE kind = '{kind}'
        ) f (payment_id, debit, credit, amount) USING (payment_id)
        WHERE (e.debit, e.credit, e.amount) IS DISTINCT FROM (f.debit, f.credit, f.amount)
            AND (SELECT possible FROM gaps)""",
        queries=_MOVES,
    )


# Lines of history that moved money and are not like their transfers.
_UNLIKE = "(m.type, m.amount, m.account) IS DISTINCT FROM (h.type, h.amount, h.account)"
_OTHER_TIME = "(m.time, m.xid) <> (h.time, h.xid)"
_LINES = f"""lines AS MATERIALIZED (
    SELECT tid, {_UNLIKE} AS unlike, coalesce({_OTHER_TIME}, false) AS mistimed,
        m.type || ' of ' || m.amount || ' in ' || m.account AS moved,
        h.type || ' of ' || h.amount || ' in ' || h.account AS told,
        m.time || ' by ' || m.xid AS moved_at, h.time || ' by ' || h.xid AS told_at
    FROM (
        SELECT tid, CASE kind WHEN 'withdrawal' THEN 'withdraw' ELSE kind END,
            CASE WHEN incoming THEN amount ELSE -amount END,
            CASE WHEN incoming THEN credit_account ELSE debit_account END, created_at, xid
        FROM (
            SELECT *, kind IN ('refund', 'topup') OR kind IN ('adjustment', 'withdrawal')
                AND debit_account IN (3, 4, 5, 6, 7, 8) AS incoming
            FROM transfers WHERE kind IN ({OF_WALLETS})
        ) t
    ) m (tid, type, amount, account, time, xid)
    FULL JOIN (
        SELECT tid, type, amount, account, time, xid FROM transactions WHERE status = 'success'
    ) h USING (tid)
    WHERE {_UNLIKE} OR {_OTHER_TIME}
)"""

CHECKS = [
    Check(
        "wallet_balance",
        "The wallet's balance is not the sum of its transfers.",
        """SELECT w.account::text AS id, coalesce(m.amount, 0)::text AS expected,
            w.balance::text AS found
        FROM wallets w LEFT JOIN moved m USING (account)
        WHERE w.balance <> coalesce(m.amount, 0)""",
        scope="all",
        queries=SUMS,
    ),
    Check(
        "transfer_account",
        "Transfers name an account that does not exist.",
        f"""WITH {ACCOUNTS}
        SELECT m.account::text AS id, 'an account' AS expected,
            'none, with ' || m.amount AS found
        FROM moved m LEFT JOIN accounts a USING (account) WHERE a.account IS NULL""",
        queries=SUMS,
    ),
    Check(
        "transfer_mode",
        "The transfer moves money between the modes.",
        f"""WITH {ACCOUNTS}, crossed AS MATERIALIZED (
            SELECT DISTINCT debit, credit, d.mode AS expected, c.mode AS found
            FROM moved_between m JOIN accounts d ON d.account = m.debit
            JOIN accounts c ON c.account = m.credit
            WHERE d.mode <> c.mode
        )
        SELECT t.id::text AS id, c.expected, c.found
        FROM transfers t JOIN crossed c ON c.debit = t.debit_account AND c.credit = t.credit_account
        WHERE EXISTS (SELECT FROM crossed)  -- otherwise the transfers are not even sorted
        """,
        queries=SUMS,
    ),
    Check(
        "transfer_twice",
        "A payment has the same kind of transfer more than once.",
        f"""SELECT {shown("pay", "payment_id")} AS id, '1 ' || kind AS expected,
            count(*) || ' ' || kind AS found
        FROM transfers WHERE kind IN ({_KINDS})
        GROUP BY payment_id, kind HAVING count(*) > 1""",
    ),
    *map(_called_for, _ALL_CALLED),
    Check(
        "transfer_payment",
        "The transfer belongs to a payment that does not exist.",
        f"""SELECT transfer_id::text AS id, {shown("pay", "payment_id")} AS expected,
            'no payment' AS found
        FROM moves WHERE payment_id IS NOT NULL AND id IS NULL""",
        queries=_MOVES,
    ),
    Check(
        "transfer_time",
        "A payment and its transfers have different times.",
        f"""SELECT {shown("pay", "id")} AS id,
            kind || ' at ' || coalesce(paid_at::text, 'no time') AS expected,
            kind || ' at ' || moved_at AS found
        FROM moves WHERE {_MISTIMED}""",
        queries=_MOVES,
    ),
    Check(
        "payment_reference",
        "A paid payment and its transfers carry one transaction reference.",
        f"""SELECT {shown("pay", "id")} AS id, payment_reference AS expected, tid AS found
        FROM moves WHERE {_MISNAMED}""",
        queries=_MOVES,
    ),
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
        "A line of history and its transfer differ in time or transaction.",
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
        "A transaction reference has more than one movement of a wallet's money.",
        """SELECT tid AS id, '1' AS expected, count(*)::text AS found
        FROM transfers WHERE kind NOT IN ('fee', 'payout_fee')
        GROUP BY tid HAVING count(*) > 1""",
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
