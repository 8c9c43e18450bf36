"""A merchant's movements: payments by the day they were paid, refunds by their own day.

Their sums are those of `figures` for the same days.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID

from asyncpg import Connection

from laari.rules.calendar import MALDIVES
from laari.rules.records import Payment
from laari.store.reads.figures import Span
from laari.store.tables import PAYMENTS


class Movement(NamedTuple):
    payment: Payment
    is_refund: bool

    @property
    def at(self) -> datetime:
        moment = self.payment.refunded_at if self.is_refund else self.payment.paid_at
        assert moment is not None
        return moment

    @property
    def effect(self) -> int:
        """The change of the merchant's balance. A refund does not return the fee."""
        if self.is_refund:
            return -self.payment.amount
        return self.payment.amount - (self.payment.fee or 0)

    @property
    def place(self) -> MovementPlace:
        return MovementPlace(self.at, self.payment.id, self.is_refund)


class MovementPlace(NamedTuple):
    """A place in the list; a payment and its refund may have the same time."""

    at: datetime
    id: UUID
    is_refund: bool


class Movements(NamedTuple):
    rows: list[Movement]
    next: MovementPlace | None  # None if nothing older remains


async def of_span(
    connection: Connection, span: Span, limit: int, after: MovementPlace | None = None
) -> Movements:
    values: list[object] = [span.tenant_id, _midnight(span.first), _midnight(span.last, 1)]
    if after is not None:
        values += after[:2]
    found = await connection.fetch(
        f"({_walk('paid_at', limit, after)}) UNION ALL ({_walk('refunded_at', limit, after)}) "
        f"ORDER BY moved_at DESC, id DESC, is_refund DESC LIMIT {limit + 1}",
        *values,
    )
    rows = [Movement(PAYMENTS.record(*row[:-2]), row["is_refund"]) for row in found]
    if len(rows) <= limit:
        return Movements(rows, None)
    return Movements(rows[:limit], rows[limit - 1].place)


def _walk(column: str, limit: int, after: MovementPlace | None) -> str:
    is_refund = column == "refunded_at"
    older = ""
    if after is not None:
        # At the place of a refund, the payment itself comes next.
        sign = "<=" if after.is_refund and not is_refund else "<"
        older = f"AND ({column}, id) {sign} ($4, $5) "
    return (
        f"SELECT {PAYMENTS.columns}, {is_refund} AS is_refund, {column} AS moved_at "
        f"FROM payments WHERE tenant_id = $1 AND {column} >= $2 AND {column} < $3 {older}"
        f"ORDER BY {column} DESC, id DESC LIMIT {limit + 1}"
    )


def _midnight(day: date, later: int = 0) -> datetime:
    return datetime.combine(day + timedelta(days=later), time(), MALDIVES)
