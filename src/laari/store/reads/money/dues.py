"""The money of merchants for a payout: of one of them or of all in a single statement.

The sums of whole days come from the daily figures, so that a payout reads none of the history.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.calendar import local_day, start_of
from laari.rules.ledger import FIRST_MERCHANT_ACCOUNT
from laari.rules.records.payouts import Due
from laari.store.reads.figures import LEAVES, OF_OTHERS, OTHER_ACCOUNT, OTHER_AMOUNT

_NEVER = datetime(1, 1, 2, tzinfo=UTC)

# Payouts and their fees are no movements of later payouts.
MOVES = f"NOT (t.kind = 'payout' OR t.kind = 'payout_fee' AND {LEAVES})"
_OWN = f"{OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + w.tenant_id AND {OF_OTHERS}"
_PART = "{0} >= w.since AND {0} < w.first_moment"

# One statement, so that everything is of one snapshot: the balance, the sum of movements from the
# cut-off on, and the time of the last movement. `since` is the cut-off; null is now. The figures
# count from the first whole day after it.
_DUES = f"""
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[])
        WITH ORDINALITY AS w (tenant_id, since, first_moment, place)
), newer AS MATERIALIZED (
    SELECT w.place, sum(side.amount) AS amount,
        sum(side.amount) FILTER (WHERE t.created_at >= w.first_moment) AS later
    FROM transfers t CROSS JOIN LATERAL (
        VALUES (t.credit_account, t.amount), (t.debit_account, -t.amount)
    ) AS side (account, amount)
    JOIN wanted w ON side.account = {FIRST_MERCHANT_ACCOUNT} + w.tenant_id
    WHERE t.xid > (SELECT xid FROM figures_upto)
    GROUP BY w.place
)
SELECT pg_current_snapshot()::text,
    (coalesce(m.available, 0) + coalesce(n.amount, 0))::bigint,
    (CASE WHEN w.since IS NULL THEN 0 ELSE
        coalesce((SELECT sum(f.gross - f.fees - f.refunded + f.others) FROM daily_figures f
            WHERE f.tenant_id = w.tenant_id
                AND f.day >= (w.first_moment AT TIME ZONE interval '5 hours')::date), 0)
        + coalesce(n.later, 0)
        - coalesce((SELECT sum({OTHER_AMOUNT}) FROM transfers t
            WHERE {_OWN} AND t.created_at >= w.first_moment AND NOT ({MOVES})), 0)
        + coalesce((SELECT sum(amount - fee) FROM payments
            WHERE tenant_id = w.tenant_id AND {_PART.format("paid_at")}), 0)
        - coalesce((SELECT sum(amount) FROM refunds
            WHERE tenant_id = w.tenant_id AND {_PART.format("created_at")}), 0)
        + coalesce((SELECT sum({OTHER_AMOUNT}) FROM transfers t
            WHERE {_OWN} AND {_PART.format("t.created_at")} AND {MOVES}), 0)
    END)::bigint,
    CASE WHEN w.since IS NULL THEN greatest(
        (SELECT max(paid_at) FROM payments WHERE tenant_id = w.tenant_id),
        (SELECT max(created_at) FROM refunds WHERE tenant_id = w.tenant_id),
        (SELECT max(t.created_at) FROM transfers t WHERE {_OWN} AND {MOVES})
    ) + interval '1 microsecond' END
FROM wanted w
LEFT JOIN merchant_totals m ON m.tenant_id = w.tenant_id
LEFT JOIN newer n ON n.place = w.place
ORDER BY w.place
"""


class Wanted(NamedTuple):
    """A payout of a tenant; without a cut-off, all movements are before it."""

    tenant_id: int
    cut_off: datetime | None
    paid_out_upto: datetime | None = None

    @property
    def since(self) -> datetime | None:
        """Cut-offs never go back."""
        if self.cut_off is None or self.paid_out_upto is None:
            return self.cut_off
        return max(self.cut_off, self.paid_out_upto)


async def of(connection: Connection, wanted: Sequence[Wanted]) -> list[Due]:
    """The money for each of these payouts, in their order."""
    since = [each.since for each in wanted]
    rows = await connection.fetch(
        _DUES,
        [each.tenant_id for each in wanted],
        since,
        [None if each is None else _whole_day_from(each) for each in since],
    )
    found = []
    for each, (snapshot, balance, later, after_all) in zip(wanted, rows, strict=True):
        bounds = (moment for moment in (each.since, after_all, each.paid_out_upto) if moment)
        found.append(Due(balance, later, max(bounds, default=_NEVER), snapshot))
    return found


def _whole_day_from(moment: datetime) -> datetime:
    """The start of this day if the moment is its first, or else of the next one."""
    return start_of(local_day(moment - timedelta.resolution) + timedelta(days=1))
