"""Finds payments by the start of a reference or bill number, or by a receipt."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from asyncpg import Connection

from laari.rules.ids import is_tid
from laari.rules.records.payments import Payment, PaymentRequest
from laari.store.reads.money.balances import FINDING
from laari.store.tables import PAYMENTS, REQUESTS

_LAST = "\U0010ffff"  # no character comes after it: the end of everything that begins alike

_READ_FOR_TILL = 20  # times the rows that are shown

P = TypeVar("P", Payment, PaymentRequest)

# A range of an index for each way in which the beginning may be capitalised.
_BEGINNINGS = "unnest($2::text[]) AS typed (beginning) CROSS JOIN LATERAL"


class Matches(NamedTuple):
    payments: list[Payment]
    requests: list[PaymentRequest]


def spellings(beginning: str) -> list[str]:
    """The text as typed, in capitals, without, and with a capital first or in each word.

    An index without case would find every spelling, but every payment would have to write it.
    """
    forms = (beginning, beginning.upper(), beginning.lower(), beginning.capitalize())
    return list(dict.fromkeys((*forms, beginning.title())))


async def search(
    connection: Connection, tenant_id: int, beginning: str, most: int, till: str | None = None
) -> Matches:
    """Up to `most` payments and payment requests, of one till or of all, in the order of the text.

    Texts are sorted by code point, so a beginning is a range of an index. No index has the till:
    more rows are read, and those of other tills are dropped.
    """
    wanted = (tenant_id, spellings(beginning), most if till is None else _READ_FOR_TILL * most)
    claimed = await connection.fetch(
        f"SELECT kind, resource_id FROM {_BEGINNINGS} (SELECT * FROM reference_claims "
        f"WHERE tenant_id = $1 AND reference BETWEEN beginning AND beginning || '{_LAST}' "
        "ORDER BY reference LIMIT $3) AS found ORDER BY lower(reference), reference LIMIT $3",
        *wanted,
    )
    request_ids = [row["resource_id"] for row in claimed if row["kind"] == "request"]
    payment_ids = [row["resource_id"] for row in claimed if row["kind"] != "request"]
    requests = await connection.fetch(f"{REQUESTS.select} WHERE id = ANY($1)", request_ids)
    payment_ids += [row["payment_id"] for row in requests if row["payment_id"] is not None]
    billed = (
        f"SELECT found.* FROM {_BEGINNINGS} ({{}} WHERE tenant_id = $1 "
        f"AND bill_number BETWEEN beginning AND beginning || '{_LAST}' "
        "ORDER BY bill_number LIMIT $3) AS found ORDER BY lower(bill_number) LIMIT $3"
    )
    by_bill = await connection.fetch(billed.format(PAYMENTS.select), *wanted)
    by_reference = await connection.fetch(
        f"{PAYMENTS.select} WHERE id = ANY($1) ORDER BY lower(reference), reference", payment_ids
    )
    receipt = beginning.strip().upper()
    paid = await payments_of_receipt(connection, receipt) if is_tid(receipt) else []
    requests += await connection.fetch(billed.format(REQUESTS.select), *wanted)
    payments = {row["id"]: PAYMENTS.read(row) for row in (*by_reference, *by_bill)}
    payments.update({each.id: each for each in paid if each.tenant_id == tenant_id})
    found = {row["id"]: REQUESTS.read(row) for row in requests}
    return Matches(_of_till(payments.values(), till)[:most], _of_till(found.values(), till)[:most])


def _of_till(rows: Iterable[P], till: str | None) -> list[P]:
    return [row for row in rows if till in (None, row.terminal_label)]


async def payments_of_receipt(connection: Connection, tid: str) -> list[Payment]:
    """The payment of a receipt, of any merchant, found through the customer's history."""
    async with connection.transaction(readonly=True):
        await connection.execute(FINDING)
        rows = await connection.fetch(
            f"{PAYMENTS.select} WHERE id IN (SELECT payment_id FROM transfers "
            "WHERE xid = (SELECT xid FROM transactions WHERE tid = $1) AND tid = $1)",
            tid,
        )
    return [PAYMENTS.read(row) for row in rows]
