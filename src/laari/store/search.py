"""Finding a payment by what people have at hand: the beginning of a reference or bill number, or
the payment reference of the customer's receipt."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

import asyncpg

from laari.rules.records import Payment, PaymentRequest
from laari.store.tables import PAYMENTS, REQUESTS

_LAST = "\U0010ffff"  # no character comes after it: the end of everything that begins alike
# As lower() of the database writes text of the collation "C".
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)


class Matches(NamedTuple):
    payments: list[Payment]
    requests: list[PaymentRequest]


async def search(
    connection: asyncpg.Connection, tenant_id: int, beginning: str, most: int
) -> Matches:
    """Up to so many payments and payment requests of each kind of match, in the order of the text.

    They are sorted by code point, capital letters of ASCII as small ones, so a beginning is a range
    of an index and costs the same however many rows there are.
    """
    small = beginning.translate(_SMALL)
    bounds = (tenant_id, small, small + _LAST, most)
    claimed = await connection.fetch(
        "SELECT kind, resource_id FROM reference_claims "
        "WHERE tenant_id = $1 AND lower(reference) BETWEEN $2 AND $3 "
        "ORDER BY lower(reference) LIMIT $4",
        *bounds,
    )
    request_ids = [row["resource_id"] for row in claimed if row["kind"] == "request"]
    payment_ids = [row["resource_id"] for row in claimed if row["kind"] != "request"]
    requests = await connection.fetch(f"{REQUESTS.select} WHERE id = ANY($1)", request_ids)
    payment_ids += [row["payment_id"] for row in requests if row["payment_id"] is not None]
    billed = (
        "tenant_id = $1 AND lower(bill_number) BETWEEN $2 AND $3 AND bill_number IS NOT NULL "
        "ORDER BY lower(bill_number)"
    )
    by_bill = await connection.fetch(f"{PAYMENTS.select} WHERE {billed} LIMIT $4", *bounds)
    by_reference = await connection.fetch(
        f"{PAYMENTS.select} WHERE id = ANY($1) ORDER BY lower(reference), reference", payment_ids
    )
    # Of a receipt: it has no small letters.
    receipt = beginning.upper()
    by_receipt = await connection.fetch(
        f"{PAYMENTS.select} WHERE tenant_id = $1 AND payment_reference BETWEEN $2 AND $3 "
        "ORDER BY payment_reference LIMIT $4",
        *(tenant_id, receipt, receipt + _LAST, most),
    )
    requests += await connection.fetch(f"{REQUESTS.select} WHERE {billed} LIMIT $4", *bounds)
    payments = {row["id"]: PAYMENTS.read(row) for row in (*by_reference, *by_bill, *by_receipt)}
    found = {row["id"]: REQUESTS.read(row) for row in requests}
    return Matches(list(payments.values())[:most], list(found.values())[:most])
