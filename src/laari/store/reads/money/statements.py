"""A merchant's statement: the balance before some days, all movements of them, the balance after.

The opening balance is the present one without everything that moved since. The days of payments and
refunds come from the daily figures, the other kinds from the ledger itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.day_ranges import Days
from laari.rules.ledger import FIRST_MERCHANT_ACCOUNT
from laari.store.reads import figures
from laari.store.reads.figures import DAY, OF_OTHERS, OTHER_ACCOUNT, OTHER_AMOUNT, Figures, Span
from laari.store.reads.money import balances
from laari.store.reads.money.movements import KINDS, SALES, MovementKind

# Along the index `transfers_of_merchants`: payouts, holds and corrections are few.
_OTHERS = f"""
SELECT {DAY}, t.kind, count(*), sum({OTHER_AMOUNT})::bigint FROM transfers t
WHERE {OTHER_ACCOUNT} = {FIRST_MERCHANT_ACCOUNT} + $1::bigint AND {OF_OTHERS}
    AND t.created_at >= $2 AND t.created_at < $3
GROUP BY 1, 2
"""

OTHERS: tuple[MovementKind, ...] = tuple(kind for kind in KINDS if kind not in SALES)


class Moved(NamedTuple):
    """Movements of one kind: their number, and the change of the balance."""

    number: int = 0
    amount: int = 0


class Movements(NamedTuple):
    """Everything that moved on some days."""

    figures: Figures  # of payments and refunds; its `others` is the sum of `others`
    others: dict[MovementKind, Moved]  # by kind; without kinds that did not move

    @property
    def change(self) -> int:
        """Of the balance, by its parts."""
        return self.figures.net + sum(each.amount for each in self.others.values())


class StatementDay(NamedTuple):
    """A day on which money moved."""

    day: date
    opening: int
    moved: Movements

    @property
    def closing(self) -> int:
        return self.opening + self.moved.change


class Statement(NamedTuple):
    days: Days
    opening: int
    moved: Movements  # on all of these days
    by_day: list[StatementDay]
    closing: int


async def of_days(connection: Connection, tenant_id: int, days: Days) -> Statement:
    """The statement of a merchant; all of it from one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        now = await balances.of_tenant(connection, tenant_id)
        within = await figures.of_days(connection, Span(tenant_id, days.first, days.last))
        later = await figures.change_since(connection, tenant_id, days.last + timedelta(days=1))
        found = await connection.fetch(_OTHERS, tenant_id, days.begin, days.end)
    sums: dict[date, Figures] = {}
    for each in within:
        sums[each.day] = sums.get(each.day, Figures()).plus(each.figures)
    others: dict[date, dict[MovementKind, Moved]] = {}
    for day, kind, count, amount in found:
        others.setdefault(day, {})[kind] = Moved(count, amount)
    closing = now.available - later
    opening = closing - sum(each.change for each in sums.values())
    by_day = []
    before = opening
    for day in sorted(sums.keys() | others.keys()):
        moved = Movements(sums.get(day, Figures()), others.get(day, {}))
        by_day.append(StatementDay(day, before, moved))
        before = by_day[-1].closing
    return Statement(days, opening, _total(each.moved for each in by_day), by_day, closing)


def _total(every: Iterable[Movements]) -> Movements:
    figured = Figures()
    others: dict[MovementKind, Moved] = {}
    for moved in every:
        figured = figured.plus(moved.figures)
        for kind, (count, amount) in moved.others.items():
            before = others.get(kind, Moved())
            others[kind] = Moved(before.number + count, before.amount + amount)
    return Movements(figured, others)
