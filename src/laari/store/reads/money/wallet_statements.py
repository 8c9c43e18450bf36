"""A customer's statement: the balance before some days, what moved on them, the balance after.

Balances follow from the present one, by the lines since. Failed lines moved no money.
"""

from typing import NamedTuple

from asyncpg import Connection

from laari.rules.day_ranges import Days
from laari.rules.records.wallets import Transaction
from laari.store.tables import TRANSACTIONS

_SUMS = """
SELECT
    w.balance - coalesce(sum(t.amount) FILTER (WHERE t.time >= $3), 0)::bigint AS closing,
    coalesce(sum(t.amount) FILTER (WHERE t.time < $3 AND t.amount > 0), 0)::bigint AS came_in,
    coalesce(-sum(t.amount) FILTER (WHERE t.time < $3 AND t.amount < 0), 0)::bigint AS went_out,
    count(t.tid) FILTER (WHERE t.time < $3) AS number
FROM wallets w
LEFT JOIN transactions t
    ON t.account = w.account AND t.status = 'success' AND t.time >= $2
WHERE w.account = $1 GROUP BY w.account
"""
_LINES = (
    f"SELECT recorded, {TRANSACTIONS.columns} FROM transactions WHERE account = $1 "
    "AND status = 'success' AND time >= $2 AND time < $3 AND recorded > $4 "
    "ORDER BY recorded LIMIT $5"
)


class Sums(NamedTuple):
    closing: int
    came_in: int
    went_out: int
    number: int  # of lines

    @property
    def opening(self) -> int:
        return self.closing - self.came_in + self.went_out


class Line(NamedTuple):
    """A line, and the balance after it."""

    line: Transaction
    balance: int


class Place(NamedTuple):
    """The end of a page of lines: the next one begins after it."""

    recorded: int
    balance: int


async def of_days(
    connection: Connection, account: int, days: Days, most: int
) -> tuple[Sums, list[Line]]:
    """The sums and the first lines, from one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        sums = await _sums(connection, account, days)
        lines, _ = await _lines(connection, account, days, Place(0, sums.opening), most)
    return sums, lines


async def page(
    connection: Connection, account: int, days: Days, after: Place | None, most: int
) -> tuple[list[Line], Place | None]:
    """Some lines, the oldest first, and the end of them if there are more."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if after is None:
            after = Place(0, (await _sums(connection, account, days)).opening)
        return await _lines(connection, account, days, after, most)


async def _sums(connection: Connection, account: int, days: Days) -> Sums:
    return Sums(**await connection.fetchrow(_SUMS, account, days.begin, days.end))


async def _lines(
    connection: Connection, account: int, days: Days, after: Place, most: int
) -> tuple[list[Line], Place | None]:
    rows = await connection.fetch(_LINES, account, days.begin, days.end, after.recorded, most + 1)
    lines, end = [], after
    for row in rows[:most]:
        fields = dict(row)
        recorded = fields.pop("recorded")
        line = Transaction(**fields)
        end = Place(recorded, end.balance + line.amount)
        lines.append(Line(line, end.balance))
    return lines, end if len(rows) > most else None
