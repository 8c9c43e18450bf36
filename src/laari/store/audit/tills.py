"""Closings of tills against the ledger."""

from laari.store.audit.difference import Check, shown

_TILL = "tenant_id || ' till ' || till || ' closing ' || number"
_SUMS = """{0}.payments || ', gross ' || {0}.gross || ', fees ' || {0}.fees || ', '
    || {0}.refunds || ' refunds of ' || {0}.refunded"""
# Whether a closing's snapshot shows a transaction. Its own movements belong to the next closing.
_SHOWS = """({0}.xid <> {1}
    AND pg_visible_in_snapshot({1}::text::xid8, {0}.snapshot::pg_snapshot))"""

# Numbers and snapshots of a till grow together. So the first closing that began after a transaction
# has it, unless the transaction was still running: then it is a later one. A window
# over both finds the first; looking through all closings for each movement would take long.
_QUERIES = f"""closings AS MATERIALIZED (
    SELECT *, pg_snapshot_xmax(snapshot::pg_snapshot)::text::bigint AS upto FROM till_closings
), moved AS MATERIALIZED (
    SELECT p.tenant_id, coalesce(p.terminal_label, '') AS till, t.xid,
        count(*) FILTER (WHERE t.kind = 'payment') AS payments,
        coalesce(sum(t.amount) FILTER (WHERE t.kind = 'payment'), 0) AS gross,
        coalesce(sum(t.amount) FILTER (WHERE t.kind = 'fee'), 0) AS fees,
        count(*) FILTER (WHERE t.kind = 'refund') AS refunds,
        coalesce(sum(t.amount) FILTER (WHERE t.kind = 'refund'), 0) AS refunded
    FROM transfers t JOIN payments p ON p.id = t.payment_id
    WHERE (p.tenant_id, coalesce(p.terminal_label, '')) IN (SELECT tenant_id, till FROM closings)
    GROUP BY 1, 2, 3
), placed AS MATERIALIZED (
    SELECT *, min(number) FILTER (WHERE is_closing) OVER (
        PARTITION BY tenant_id, till ORDER BY place DESC, is_closing
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS first
    FROM (
        SELECT tenant_id, till, xid AS place, false AS is_closing, NULL::bigint AS number, xid,
            payments, gross, fees, refunds, refunded FROM moved
        UNION ALL
        SELECT tenant_id, till, upto, true, number, NULL, 0, 0, 0, 0, 0 FROM closings
    ) AS both_kinds
), closed AS MATERIALIZED (
    SELECT m.tenant_id, m.till,
        CASE WHEN {_SHOWS.format("c", "m.xid")} THEN c.number ELSE (
            SELECT min(later.number) FROM closings later
            WHERE later.tenant_id = m.tenant_id AND later.till = m.till
                AND {_SHOWS.format("later", "m.xid")}
        ) END AS number, m.payments, m.gross, m.fees, m.refunds, m.refunded
    FROM placed m JOIN closings c
        ON c.tenant_id = m.tenant_id AND c.till = m.till AND c.number = m.first
    WHERE NOT m.is_closing
), expected AS MATERIALIZED (
    SELECT tenant_id, till, number, sum(payments) AS payments, sum(gross) AS gross,
        sum(fees) AS fees, sum(refunds) AS refunds, sum(refunded) AS refunded
    FROM closed WHERE number IS NOT NULL GROUP BY tenant_id, till, number
)"""

CHECKS = [
    Check(
        "till_closing",
        "A closing of a till does not have the movements since the previous closing.",
        f"""SELECT {_TILL} AS id, coalesce({_SUMS.format("e")}, 'nothing') AS expected,
            coalesce({_SUMS.format("c")}, 'no closing') AS found
        FROM expected e FULL JOIN closings c USING (tenant_id, till, number)
        WHERE (e.payments, e.gross, e.fees, e.refunds, e.refunded)
            IS DISTINCT FROM (c.payments, c.gross, c.fees, c.refunds, c.refunded)""",
        scope="all",
        queries=_QUERIES,
    ),
    Check(
        "till_closing_number",
        "The closings of a till are not numbered in their order.",
        """SELECT tenant_id || ' till ' || till || ' closing ' || number AS id,
            due::text AS expected, number::text AS found
        FROM (
            SELECT *, row_number() OVER (PARTITION BY tenant_id, till ORDER BY xid, number) AS due
            FROM till_closings
        ) AS numbered WHERE number <> due""",
        scope="all",
    ),
    Check(
        "till_closing_transaction",
        "A closing of a till was not written by the transaction that it names.",
        f"""SELECT {shown("tcl", "c.id")} AS id, 'by ' || r.xid AS expected, 'by ' || c.xid AS found
        FROM till_closings c JOIN record_changes r
            ON r.record = 'till_closings' AND r.key = c.id::text
        WHERE c.xid <> r.xid""",
        scope="all",
    ),
]
