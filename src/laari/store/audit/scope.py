"""The rows that the checks read: all, or those written after the last seal.

New rows come with all rows that belong to them, such as a wallet with its history.
"""

from typing import NamedTuple

from asyncpg import Connection

from laari.store.audit.accounts import HELD, MERCHANT
from laari.store.ledger.sealed_rows import SealedPlace

# $1 payments, $2 payment requests, $3 authorizations, $4 wallets, $5 to $8 the last sealed
# transactions of transfers, transactions, events and refunds, $9 payouts.
_PART = f"""
    payments AS (SELECT * FROM public.payments WHERE id = ANY($1::uuid[])),
    payment_requests AS (SELECT * FROM public.payment_requests WHERE id = ANY($2::uuid[])),
    authorizations AS (SELECT * FROM public.authorizations WHERE id = ANY($3::uuid[])),
    charges AS (SELECT * FROM public.payments WHERE authorization_id = ANY($3::uuid[])),
    wallets AS (SELECT * FROM public.wallets WHERE account = ANY($4::bigint[])),
    history AS (SELECT * FROM public.transactions WHERE account = ANY($4::bigint[])),
    refunds AS (
        SELECT * FROM public.refunds WHERE xid > $8
        UNION ALL SELECT * FROM public.refunds WHERE payment_id = ANY($1::uuid[]) AND xid <= $8
    ),
    payouts AS (SELECT * FROM public.payouts WHERE id = ANY($9::uuid[])),
    bank_orders AS (SELECT * FROM public.bank_orders WHERE payout_id = ANY($9::uuid[])),
    transfers AS (
        SELECT * FROM public.transfers WHERE xid > $5
        UNION ALL SELECT * FROM public.transfers
        WHERE payment_id = ANY($1::uuid[]) AND xid <= $5
        UNION ALL SELECT * FROM public.transfers WHERE xid <= $5 AND id = ANY(ARRAY(
            SELECT unnest(ARRAY[transfer_id, cancelled_transfer_id]) FROM payouts
            UNION ALL SELECT unnest(ARRAY[settled_transfer_id, returned_transfer_id])
            FROM bank_orders))
        UNION ALL SELECT t.* FROM payouts p JOIN public.transfers t
            ON CASE WHEN t.debit_account BETWEEN {MERCHANT} AND {HELD - 1} THEN t.debit_account
                ELSE t.credit_account END = {MERCHANT} + p.tenant_id
            AND t.created_at = ANY(ARRAY[p.created_at, p.cancelled_at])
        WHERE t.kind = 'payout_fee' AND t.xid <= $5
    ),
    fund_movements AS (
        SELECT * FROM public.fund_movements WHERE transfer_id = ANY(ARRAY(SELECT id FROM transfers))
    ),
    fee_sweeps AS (
        SELECT * FROM public.fee_sweeps WHERE transfer_id = ANY(ARRAY(SELECT id FROM transfers))
    ),
    transactions AS (
        SELECT * FROM public.transactions WHERE xid > $6
        UNION ALL SELECT * FROM public.transactions
        WHERE tid = ANY(ARRAY(SELECT tid FROM transfers)) AND xid <= $6
    ),
    topup_slips AS (
        SELECT s.* FROM public.topup_slips s JOIN public.transactions x USING (tid)
        WHERE x.xid > $6
    ),
    events AS (
        SELECT * FROM public.events WHERE xid > $7
        UNION ALL SELECT * FROM public.events
        WHERE object_id = ANY($1::uuid[] || $2::uuid[] || $3::uuid[] || $9::uuid[]
            || ARRAY(SELECT id FROM refunds)) AND xid <= $7
    ),
    deliveries AS (
        SELECT * FROM public.deliveries WHERE event_id = ANY(ARRAY(SELECT id FROM events))
    ),
    delivery_attempts AS (
        SELECT * FROM public.delivery_attempts WHERE event_id = ANY(ARRAY(SELECT id FROM events))
    ),
    reference_claims AS (
        SELECT c.* FROM (
            SELECT tenant_id, reference FROM payments
            UNION SELECT tenant_id, reference FROM payment_requests
        ) named CROSS JOIN LATERAL (
            SELECT * FROM public.reference_claims r
            WHERE r.tenant_id = named.tenant_id AND r.reference = named.reference OFFSET 0
        ) c
    )"""

_TOUCHED = """
WITH moved AS (SELECT * FROM public.transfers WHERE xid > $1),
happened AS (SELECT type, object_id FROM public.events WHERE xid > $3),
paid_out AS (SELECT id FROM moved WHERE starts_with(kind, 'payout')),
requests AS (
    SELECT id, payment_id FROM public.payment_requests WHERE id IN (
        SELECT object_id FROM happened WHERE starts_with(type, 'payment_request.'))
),
paid AS (
    SELECT id, request_id, authorization_id, payer_account FROM public.payments WHERE id IN (
        SELECT payment_id FROM moved UNION SELECT payment_id FROM requests
        UNION SELECT payment_id FROM public.refunds WHERE xid > $4
        UNION SELECT payment_id FROM public.refunds WHERE id IN (SELECT object_id FROM happened)
        UNION SELECT object_id FROM happened WHERE starts_with(type, 'payment.'))
),
granted AS (
    SELECT id, account FROM public.authorizations WHERE id IN (
        SELECT authorization_id FROM paid
        UNION SELECT object_id FROM happened WHERE starts_with(type, 'authorization.'))
)
SELECT ARRAY(SELECT id FROM paid),
    ARRAY(SELECT id FROM requests UNION SELECT request_id FROM paid WHERE request_id IS NOT NULL),
    ARRAY(SELECT id FROM granted),
    ARRAY(
        SELECT account FROM public.transactions WHERE xid > $2
        UNION SELECT debit_account FROM moved UNION SELECT credit_account FROM moved
        UNION SELECT payer_account FROM paid WHERE payer_account IS NOT NULL
        UNION SELECT account FROM granted WHERE account IS NOT NULL
        UNION SELECT account FROM public.payment_requests WHERE id IN (
            SELECT id FROM requests UNION SELECT request_id FROM paid)
    ),
    ARRAY(
        SELECT id FROM public.payouts WHERE xid > $5
        UNION SELECT id FROM public.payouts WHERE id IN (
            SELECT object_id FROM happened WHERE starts_with(type, 'payout.'))
        UNION SELECT id FROM public.payouts WHERE transfer_id IN (SELECT id FROM paid_out)
        UNION SELECT id FROM public.payouts WHERE cancelled_transfer_id IN (SELECT id FROM paid_out)
        UNION SELECT payout_id FROM public.bank_orders
        WHERE settled_transfer_id IN (SELECT id FROM paid_out)
        UNION SELECT payout_id FROM public.bank_orders
        WHERE returned_transfer_id IN (SELECT id FROM paid_out)
    )
"""


class Scope(NamedTuple):
    """Queries to put in front of a check, and their parameters."""

    queries: str
    parameters: tuple[object, ...] = ()

    def apply(self, sql: str) -> str:
        body = sql.lstrip()
        if body.startswith("WITH "):
            return f"WITH {self.queries}, {body.removeprefix('WITH ')}"
        return f"WITH {self.queries} {body}"


EVERYTHING = Scope("""
    history AS NOT MATERIALIZED (SELECT * FROM public.transactions),
    charges AS NOT MATERIALIZED (SELECT * FROM public.payments WHERE kind = 'charge')""")


async def since(connection: Connection, places: dict[str, SealedPlace]) -> Scope:
    """The rows that belong to those written after these places."""
    xids = [places[table].xid for table in ("transfers", "transactions", "events", "refunds")]
    *touched, payouts = await connection.fetchrow(_TOUCHED, *xids, places["payouts"].xid)
    return Scope(_PART, (*touched, *xids, payouts))
