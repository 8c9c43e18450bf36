"""Merchants in tests: their commands, decided in a transaction of the test's connection."""

from typing import Any

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.merchants.settings import Changes, UpdateMerchant
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from laari.store.people.acting import acting
from tests.people import decided


async def update(
    connection: Connection, actor: Actor, merchant_id: str, **changes: Any
) -> Merchant:
    command = UpdateMerchant(actor, merchant_id, Changes(**changes), private_webhooks=True)
    await decided(connection, command)
    return await merchants.show(connection, merchant_id)


async def set_fee(connection: Connection, actor: Actor, merchant_id: str, fee_bps: int) -> None:
    """A change by anybody, for entries of the journal."""
    async with acting(connection, actor, "merchant.update"):
        await connection.execute(
            "UPDATE merchants SET fee_bps = $2 WHERE id = $1", merchant_id, fee_bps
        )
