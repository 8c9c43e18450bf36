"""Compares the sums that wallets and authorizations keep of their periods with the ledger.

In live mode everything recorded after a row's latest period began counts in it, even from a server
whose clock is behind. In a sandbox each payment counts in the period of its own time, unless two
servers' clocks could disagree about it.
"""

from laari.store.audit.difference import Check, shown

NEAR = "interval '10 minutes'"  # servers whose clocks differ by more have other troubles

# The calendar of the Maldives: a week begins on Sunday.
_LOCAL = "{} AT TIME ZONE interval '5 hours'"
_DAY = f"({_LOCAL.format('p.paid_at')})::date"
_START = f"""CASE a.period_interval WHEN 'day' THEN {_DAY}
    WHEN 'week' THEN {_DAY} - extract(dow FROM {_DAY})::int
    ELSE date_trunc(a.period_interval, {_DAY})::date END"""

CHECKS = [
    Check(
        "wallet_period",
        "What a live wallet has counted in a period is not what it has spent.",
        f"""WITH spent AS MATERIALIZED (
            SELECT x.account, x.recorded, -x.amount AS amount,
                ({_LOCAL.format("x.time")})::date AS day
            FROM history x JOIN wallets w ON w.account = x.account AND w.mode = 'live'
            WHERE x.type = 'payment' AND x.status = 'success'
        ), newest AS MATERIALIZED (
            SELECT account, max(day) AS day, max(day) - extract(dow FROM max(day))::int AS week,
                date_trunc('month', max(day))::date AS month
            FROM spent GROUP BY account
        ), first AS MATERIALIZED (
            SELECT account, n.day, n.week, n.month,
                min(s.recorded) FILTER (WHERE s.day >= n.day) AS in_day,
                min(s.recorded) FILTER (WHERE s.day >= n.week) AS in_week,
                min(s.recorded) FILTER (WHERE s.day >= n.month) AS in_month
            FROM spent s JOIN newest n USING (account) WHERE s.day >= least(n.week, n.month)
            GROUP BY account, n.day, n.week, n.month
        ), counted AS MATERIALIZED (
            SELECT account, f.day, f.week, f.month,
                coalesce(sum(s.amount) FILTER (WHERE s.recorded >= in_day), 0) AS in_day,
                coalesce(sum(s.amount) FILTER (WHERE s.recorded >= in_week), 0) AS in_week,
                coalesce(sum(s.amount) FILTER (WHERE s.recorded >= in_month), 0) AS in_month
            FROM spent s JOIN first f USING (account) WHERE s.recorded >= least(in_week, in_month)
            GROUP BY account, f.day, f.week, f.month
        )
        SELECT w.account || ' ' || p.unit AS id, p.expected || ' from ' || p.expected_start
                AS expected,
            p.found || ' from ' || p.found_start AS found
        FROM wallets w LEFT JOIN counted c USING (account)
        CROSS JOIN LATERAL (VALUES
            ('day', coalesce(c.day, '1970-01-01'), coalesce(c.in_day, 0), w.day_start, w.day_spent),
            ('week', coalesce(c.week, '1970-01-01'), coalesce(c.in_week, 0), w.week_start,
                w.week_spent),
            ('month', coalesce(c.month, '1970-01-01'), coalesce(c.in_month, 0), w.month_start,
                w.month_spent)
        ) AS p (unit, expected_start, expected, found_start, found)
        WHERE w.mode = 'live'
            AND (w.day_start, w.day_spent, w.week_start, w.week_spent, w.month_start, w.month_spent)
            IS DISTINCT FROM (coalesce(c.day, '1970-01-01'), coalesce(c.in_day, 0),
                coalesce(c.week, '1970-01-01'), coalesce(c.in_week, 0),
                coalesce(c.month, '1970-01-01'), coalesce(c.in_month, 0))
            AND (p.expected_start, p.expected) <> (p.found_start, p.found)""",
    ),
    Check(
        "sandbox_period",
        "What a sandbox's wallet has counted in a period is not what it has spent.",
        f"""WITH spent AS MATERIALIZED (
            SELECT w.customer_id AS owner, -x.amount AS amount, x.time
            FROM history x JOIN wallets w ON w.account = x.account AND w.mode = 'sandbox'
            WHERE x.type = 'payment' AND x.status = 'success'
        ), held AS (
            SELECT w.account, w.customer_id AS owner, p.unit, p.start, p.spent
            FROM wallets w CROSS JOIN LATERAL (VALUES ('day', w.day_start, w.day_spent),
                ('week', w.week_start, w.week_spent), ('month', w.month_start, w.month_spent)
            ) AS p (unit, start, spent) WHERE w.mode = 'sandbox'
        ), kept AS (
            SELECT * FROM held
            UNION ALL
            SELECT h.account, h.owner, a.unit, a.start, a.spent FROM held h
            JOIN sandbox_periods a ON a.owner = h.owner AND a.unit = h.unit AND a.start <> h.start
        )
        SELECT account || ' ' || unit AS id, coalesce(own, 0) || ' from ' || start AS expected,
            spent || ' from ' || start AS found
        FROM (
            SELECT k.account, k.unit, k.start, k.spent,
                count(s.time) FILTER (WHERE s.time >= began) AS lines,
                sum(s.amount) FILTER (WHERE s.time >= began) AS own,
                sum(s.amount) FILTER (WHERE s.time >= began AND s.time >= ended - {NEAR})
                    AS perhaps_later,
                sum(s.amount) FILTER (WHERE s.time < began) AS late
            FROM (
                SELECT *, start::timestamp AT TIME ZONE interval '5 hours' AS began,
                    (start + ('1 ' || unit)::interval) AT TIME ZONE interval '5 hours' AS ended
                FROM kept
            ) k
            LEFT JOIN spent s ON s.owner = k.owner AND s.time >= began - {NEAR} AND s.time < ended
            GROUP BY k.account, k.unit, k.start, k.spent
        ) c
        WHERE spent < coalesce(own, 0) - coalesce(perhaps_later, 0)
            OR spent > coalesce(own, 0) + coalesce(late, 0)
            OR start > '1970-01-01' AND lines = 0""",
    ),
    Check(
        "authorization_period",
        "What an authorization has counted in its period is not what it was charged.",
        f"""WITH charged AS MATERIALIZED (
            SELECT a.id, p.amount, x.recorded,
                {_START} AS start
            FROM authorizations a JOIN tenants t ON t.id = a.tenant_id AND t.mode = 'live'
            JOIN charges p ON p.authorization_id = a.id
            JOIN history x ON x.tid = p.payment_reference
            WHERE a.period_amount IS NOT NULL
        ), newest AS MATERIALIZED (SELECT id, max(start) AS start FROM charged GROUP BY id),
        first AS MATERIALIZED (
            SELECT id, n.start, min(c.recorded) AS recorded
            FROM charged c JOIN newest n USING (id) WHERE c.start = n.start GROUP BY id, n.start
        ), counted AS MATERIALIZED (
            SELECT id, f.start, sum(c.amount) AS amount
            FROM charged c JOIN first f USING (id) WHERE c.recorded >= f.recorded
            GROUP BY id, f.start
        )
        SELECT {shown("auth", "a.id")} AS id,
            coalesce(c.amount || ' from ' || c.start, 'nothing') AS expected,
            a.period_paid || ' from ' || coalesce(a.period_start::text, 'no day') AS found
        FROM authorizations a JOIN tenants t ON t.id = a.tenant_id AND t.mode = 'live'
        LEFT JOIN counted c ON c.id = a.id
        WHERE (a.period_start, a.period_paid) IS DISTINCT FROM (c.start, coalesce(c.amount, 0))""",
    ),
    Check(
        "sandbox_authorization_period",
        "What a sandbox's authorization has counted in its period is not what it was charged.",
        f"""SELECT {shown("auth", "a.id")} AS id,
            coalesce(c.own, 0) || ' from ' || coalesce(a.period_start::text, 'no day') AS expected,
            a.period_paid || ' from ' || coalesce(a.period_start::text, 'no day') AS found
        FROM authorizations a JOIN tenants t ON t.id = a.tenant_id AND t.mode = 'sandbox'
        CROSS JOIN LATERAL (
            SELECT a.period_start::timestamp AT TIME ZONE interval '5 hours' AS began,
                (a.period_start + ('1 ' || a.period_interval)::interval)
                    AT TIME ZONE interval '5 hours' AS ended
        ) b
        LEFT JOIN LATERAL (
            SELECT count(*) AS lines, sum(amount) FILTER (WHERE within) AS own,
                count(*) FILTER (WHERE within) AS in_period,
                sum(amount) FILTER (WHERE within AND p.paid_at >= ended - {NEAR}) AS perhaps_later,
                sum(amount) FILTER (WHERE p.paid_at < began AND p.paid_at >= began - {NEAR}) AS late
            FROM charges p CROSS JOIN LATERAL (
                SELECT p.paid_at >= began AND p.paid_at < ended AS within
            ) AS w
            WHERE p.authorization_id = a.id
        ) c ON true
        WHERE a.period_amount IS NULL AND (a.period_start IS NOT NULL OR a.period_paid <> 0)
            OR a.period_amount IS NOT NULL AND (
                a.period_start IS NULL AND (c.lines > 0 OR a.period_paid <> 0)
                OR a.period_start IS NOT NULL AND (
                    c.in_period = 0
                    OR a.period_paid < coalesce(c.own, 0) - coalesce(c.perhaps_later, 0)
                    OR a.period_paid > coalesce(c.own, 0) + coalesce(c.late, 0)))""",
    ),
]
