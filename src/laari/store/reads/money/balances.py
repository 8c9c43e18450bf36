"""The balances of merchants: the totals behind the writers, and the transfers after them.

Exact at any moment: one statement reads the totals, their mark and the newer transfers, which are
those of a few seconds. It never reads the history of a merchant.
"""

from collections.abc import Collection
from typing import NamedTuple

from asyncpg import Connection

from laari.rules.ledger import FIRST_HELD_ACCOUNT, FIRST_MERCHANT_ACCOUNT
from laari.rules.records.merchant_funds import MerchantFunds
from laari.rules.records.tenants import MODES, Mode
from laari.store.tables import FUNDS

_BALANCES = f"""
WITH newer AS MATERIALIZED (
    SELECT side.account, sum(side.amount) AS amount
    FROM transfers t CROSS JOIN LATERAL (
        VALUES (t.credit_account, t.amount), (t.debit_account, -t.amount)
    ) AS side (account, amount)
    WHERE t.xid > (SELECT xid FROM figures_upto) AND side.account = ANY($2::bigint[])
    GROUP BY side.account
)
SELECT wanted.tenant_id,
    coalesce(t.available, 0) + coalesce(
        (SELECT amount FROM newer WHERE account = {FIRST_MERCHANT_ACCOUNT} + wanted.tenant_id), 0),
    coalesce(t.held, 0) + coalesce(
        (SELECT amount FROM newer WHERE account = {FIRST_HELD_ACCOUNT} + wanted.tenant_id), 0)
FROM unnest($1::bigint[]) AS wanted (tenant_id)
LEFT JOIN merchant_totals t ON t.tenant_id = wanted.tenant_id
"""
# Orders that the bank has answered are no longer in transit.
_IN_TRANSIT = """
SELECT coalesce(sum(p.amount - coalesce((
    SELECT sum(o.amount) FROM bank_orders o WHERE o.payout_id = p.id AND o.status <> 'sent'
), 0)), 0)::bigint
FROM payouts p WHERE p.tenant_id = $1 AND p.status IN ('requested', 'approved', 'sent')
"""
# Rows are found by their transaction, whatever the planner knows about the table.
FINDING = "SET LOCAL enable_seqscan = off"


class Balance(NamedTuple):
    """What a merchant has, in laari; `available` may be negative, since fees are not returned."""

    available: int = 0
    held: int = 0
    in_transit: int = 0  # paid out, and not confirmed by the bank


async def of_tenants(connection: Connection, tenant_ids: Collection[int]) -> dict[int, Balance]:
    """The balances of these tenants at the time of the statement."""
    ids = list(tenant_ids)
    accounts = [first + id for id in ids for first in (FIRST_MERCHANT_ACCOUNT, FIRST_HELD_ACCOUNT)]
    rows = await connection.fetch(_BALANCES, ids, accounts)
    return {tenant_id: Balance(int(free), int(held)) for tenant_id, free, held in rows}


async def of_tenant(connection: Connection, tenant_id: int) -> Balance:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        await connection.execute(FINDING)
        found = (await of_tenants(connection, [tenant_id]))[tenant_id]
        return found._replace(in_transit=await connection.fetchval(_IN_TRANSIT, tenant_id))


async def of_merchant(connection: Connection, merchant_id: str) -> dict[Mode, Balance | None]:
    """A merchant's balance in each mode; None in a mode that it does not have."""
    rows = await connection.fetch(
        "SELECT mode, id FROM tenants WHERE merchant_id = $1", merchant_id
    )
    found: dict[Mode, Balance | None] = dict.fromkeys(MODES)
    for mode, tenant_id in rows:
        found[mode] = await of_tenant(connection, tenant_id)
    return found


async def funds_of(connection: Connection, tenant_id: int) -> MerchantFunds:
    """How far the balance may fall; without a lock, so only for showing it."""
    return FUNDS.read(await connection.fetchrow(FUNDS.read_by_key, [tenant_id]))
