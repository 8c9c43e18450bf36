"""Sales and fees of all merchants by day, from the daily figures: a few seconds behind."""

from collections.abc import Iterable
from datetime import date
from functools import reduce

from asyncpg import Connection
from msgspec import Struct

from laari.rules.records.tenants import Mode
from laari.store.reads.figures import Figures

MOST = 20_000  # rows
MOST_DAYS = 92


class MerchantDay(Struct, frozen=True):
    day: date
    merchant_id: str
    merchant_name: str
    figures: Figures


async def by_day(connection: Connection, mode: Mode, first: date, last: date) -> list[MerchantDay]:
    """The newest day first, then by the name of the merchant; one too many if there are more.

    A day without payments and refunds, such as one with a payout only, is left out.
    """
    rows = await connection.fetch(
        "SELECT f.day, m.id AS merchant_id, m.name AS merchant_name, "
        "sum(f.payments)::bigint AS payments, sum(f.gross)::bigint AS gross, "
        "sum(f.fees)::bigint AS fees, sum(f.refunds)::bigint AS refunds, "
        "sum(f.refunded)::bigint AS refunded "
        "FROM tenants t JOIN merchants m ON m.id = t.merchant_id "
        "JOIN daily_figures f ON f.tenant_id = t.id AND f.day >= $2 AND f.day <= $3 "
        "WHERE t.mode = $1 AND (f.payments, f.refunds) <> (0, 0) "
        "GROUP BY f.day, m.id, m.name ORDER BY f.day DESC, m.name, m.id "
        f"LIMIT {MOST + 1}",
        mode,
        first,
        last,
    )
    return [_day(**row) for row in rows]


def _day(day: date, merchant_id: str, merchant_name: str, **sums: int) -> MerchantDay:
    return MerchantDay(day, merchant_id, merchant_name, Figures(**sums))


def total(rows: Iterable[MerchantDay]) -> Figures:
    return reduce(Figures.plus, (row.figures for row in rows), Figures())
