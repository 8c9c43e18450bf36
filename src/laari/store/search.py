"""Finding a payment by what people have at hand: the beginning of a reference or bill number."""

from __future__ import annotations

from typing import NamedTuple

import asyncpg

from laari.rules.records import Payment, PaymentRequest
from laari.store.tables import PAYMENTS, REQUESTS

_LAST = "\U0010ffff"  # no character comes after it: the end of everything that begins alike


class Matches(NamedTuple):
    payments: list[Payment]
    requests: list[PaymentRequest]


async def search(
    connection: asyncpg.Connection, tenant_id: int, beginning: str, most: int
) -> Matches:
    """Up to so many payments and payment requests of each kind of match, in the order of the text.

    References and bill numbers are sorted by code point, so a beginning is a range of an index and
    costs the same however many rows there are.
    """
    bounds = (tenant_id, beginning, beginning + _LAST, most)
    claimed = await connection.fetch(
        "SELECT kind, resource_id FROM reference_claims "
        "WHERE tenant_id = $1 AND reference BETWEEN $2 AND $3 ORDER BY reference LIMIT $4",
        *bounds,
    )
    request_ids = [row["resource_id"] for row in claimed if row["kind"] == "request"]
    payment_ids = [row["resource_id"] for row in claimed if row["kind"] != "request"]
    requests = await connection.fetch(f"{REQUESTS.select} WHERE id = ANY($1)", request_ids)
    payment_ids += [row["payment_id"] for row in requests if row["payment_id"] is not None]
    billed = "tenant_id = $1 AND bill_number BETWEEN $2 AND $3 ORDER BY bill_number"
    by_bill = await connection.fetch(f"{PAYMENTS.select} WHERE {billed} LIMIT $4", *bounds)
    by_reference = await connection.fetch(
        f"{PAYMENTS.select} WHERE id = ANY($1) ORDER BY reference", payment_ids
    )
    requests += await connection.fetch(f"{REQUESTS.select} WHERE {billed} LIMIT $4", *bounds)
    payments = {row["id"]: PAYMENTS.read(row) for row in (*by_reference, *by_bill)}
    found = {row["id"]: REQUESTS.read(row) for row in requests}
    return Matches(list(payments.values())[:most], list(found.values())[:most])
