"""The live bank account by the bank's day: the books, and the balances of the statement.

A movement that a line of the statement shows counts on the day of that line, not of its booking. A
movement that no line shows counts on the day of its booking. So a statement that is imported the
next morning belongs to its own day, and the closings of that day are equal.
"""

from datetime import date, timedelta
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.banking.bank_balances import DayBalances, Followed, follow
from laari.rules.banking.bank_days import cut_off_of
from laari.rules.records.bank import FloatSignoff
from laari.store.tables import FLOAT_SIGNOFFS

FOLLOWED_DAYS = 14  # whose gaps are shown with a day


class FloatDay(NamedTuple):
    """One day of the bank account, as the books have it. Sums by the kind of movement.

    `unused` is the sum of all lines up to this day that wait for a person, `unshown` that of all
    movements that no line shows: together they explain a difference to the bank.
    """

    day: date
    opening: int
    came_in: dict[str, int]
    went_out: dict[str, int]
    unused: int
    unshown: int
    statement: Followed
    is_covered: bool  # by a line of this day or later
    signed: FloatSignoff | None

    @property
    def closing(self) -> int:
        return self.opening + sum(self.came_in.values()) - sum(self.went_out.values())

    @property
    def bank_closing(self) -> int | None:
        """The closing balance in the bank's own statement, if it reaches this day."""
        return self.statement.closing if self.is_covered else None


# The account is debited if money comes in, because it is outside of the books.
_BEFORE = """
SELECT coalesce(sum(CASE WHEN debit_account = 3 THEN amount ELSE -amount END), 0)::bigint
FROM transfers WHERE (debit_account = 3 OR credit_account = 3) AND created_at < $1
"""
_DURING = """
SELECT debit_account = 3, kind, sum(amount)::bigint
FROM transfers WHERE (debit_account = 3 OR credit_account = 3)
    AND created_at >= $1 AND created_at < $2
GROUP BY 1, 2
"""
# Lines of earlier days that were booked later or never, and the opposite.
_MOVED_BEFORE = """
SELECT coalesce(sum(CASE WHEN day < $1 THEN amount ELSE -amount END), 0)::bigint
FROM bank_lines WHERE use <> 'none' AND CASE WHEN day < $1
    THEN booked_at IS NULL OR booked_at >= $2 ELSE booked_at < $2 END
"""
# The same of one day, by the kinds of their transfers.
_MOVED_DURING = """
SELECT l.amount > 0, CASE l.use
        WHEN 'topup' THEN 'topup'
        WHEN 'charge' THEN 'bank_charge'
        WHEN 'settled' THEN 'payout_settled'
        WHEN 'returned' THEN
            CASE WHEN p.account IS NULL THEN 'payout_returned' ELSE 'withdrawal' END
        WHEN 'matched' THEN CASE
            WHEN l.order_reference IS NOT NULL THEN 'payout_settled'
            WHEN EXISTS (SELECT FROM bank_lines s WHERE s.use = 'sent_back'
                AND s.amount = -l.amount AND s.tid = l.tid) THEN 'receipt'
            ELSE 'sweep' END
        ELSE 'receipt' END,
    sum(CASE WHEN l.day = $1 THEN abs(l.amount) ELSE -abs(l.amount) END)::bigint
FROM bank_lines l
LEFT JOIN bank_orders o ON o.reference = l.order_reference
LEFT JOIN payouts p ON p.id = o.payout_id
WHERE l.use <> 'none' AND (
    l.day = $1 AND (l.booked_at IS NULL OR l.booked_at < $2 OR l.booked_at >= $3)
    OR l.day <> $1 AND l.booked_at >= $2 AND l.booked_at < $3
)
GROUP BY 1, 2
"""
_UNUSED = """
SELECT coalesce(sum(amount), 0)::bigint FROM bank_lines WHERE use = 'none' AND day <= $1
"""
_SHOWN = "SELECT coalesce(sum(amount), 0)::bigint FROM bank_lines WHERE booked_at < $1"


async def float_of(connection: Connection, day: date) -> FloatDay:
    start, end = cut_off_of(day - timedelta(days=1)), cut_off_of(day)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        booked = await connection.fetchval(_BEFORE, start)
        moved = await connection.fetchval(_MOVED_BEFORE, day, start)
        rows = await connection.fetch(_DURING, start, end)
        rows += await connection.fetch(_MOVED_DURING, day, start, end)
        unused = await connection.fetchval(_UNUSED, day)
        shown = await connection.fetchval(_SHOWN, end)
        days = await day_balances(connection, day - timedelta(days=FOLLOWED_DAYS), day)
        is_covered = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM bank_lines WHERE day >= $1 AND balance IS NOT NULL)", day
        )
        signed = await last_signoff(connection, day)
        closed = await connection.fetchval(_BEFORE, end)
    sums: dict[tuple[bool, str], int] = {}
    for is_in, kind, amount in rows:
        sums[is_in, kind] = sums.get((is_in, kind), 0) + amount
    came_in, went_out = (
        {kind: amount for (is_in, kind), amount in sorted(sums.items()) if amount and is_in is each}
        for each in (True, False)
    )
    return FloatDay(
        day=day,
        opening=booked + moved,
        came_in=came_in,
        went_out=went_out,
        unused=unused,
        unshown=closed - shown,
        statement=follow(days),
        is_covered=is_covered,
        signed=signed,
    )


async def last_signoff(connection: Connection, day: date) -> FloatSignoff | None:
    row = await connection.fetchrow(
        f"{FLOAT_SIGNOFFS.select} WHERE day = $1 ORDER BY created_at DESC, id DESC LIMIT 1", day
    )
    return None if row is None else FLOAT_SIGNOFFS.read(row)


# A balance at which as many lines end as begin lies within the path of its day.
_BALANCES = """
WITH ends AS (
    SELECT day, balance, amount FROM bank_lines
    WHERE balance IS NOT NULL AND day <= $2 AND day >= coalesce(
        (SELECT max(day) FROM bank_lines WHERE day < $1 AND balance IS NOT NULL), $1)
), counted AS (
    SELECT day, value, sum(sign) AS many FROM (
        SELECT day, balance AS value, 1 AS sign FROM ends
        UNION ALL
        SELECT day, balance - amount, -1 FROM ends
    ) AS sides GROUP BY day, value
)
SELECT day, array_agg(value) FILTER (WHERE many <> 0), array_agg(many) FILTER (WHERE many <> 0),
    CASE WHEN bool_and(many = 0) THEN array_agg(value) END
FROM counted GROUP BY day ORDER BY day
"""


async def day_balances(connection: Connection, first: date, last: date) -> list[DayBalances]:
    """The stored balances of these days, and of the last day with lines before them."""
    found = []
    for day, values, counts, around in await connection.fetch(_BALANCES, first, last):
        pairs = [(value, int(many)) for value, many in zip(values or (), counts or (), strict=True)]
        found.append(
            DayBalances(
                day,
                begins=[value for value, many in pairs for _ in range(-many)],
                ends=[value for value, many in pairs for _ in range(many)],
                around=frozenset(around or ()),
            )
        )
    return found
