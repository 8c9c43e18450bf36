"""Merchants in tests: their commands, decided in a transaction of the test's connection."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.banking.holidays import SetHoliday
from laari.rules.banking.tiers import SetLimits
from laari.rules.merchants.fee_terms import SetFees
from laari.rules.merchants.keys import NO_OVERLAP, CreateClient, EndOldKey, RevokeClient, RotateKey
from laari.rules.merchants.merchant_settings import Changes, UpdateMerchant
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.records.bank import BankHoliday
from laari.rules.records.merchants import OAuthClient
from laari.rules.records.wallets import Tier
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from tests.acting import acting
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


async def rotate_key(
    connection: Connection,
    actor: Actor,
    master: bytes,
    merchant_id: str,
    overlap: timedelta = NO_OVERLAP,
) -> tuple[Merchant, str]:
    new = await decided(connection, RotateKey(actor, merchant_id, overlap), master=master)
    return await merchants.show(connection, merchant_id), new.secret_key


async def end_old_key(connection: Connection, actor: Actor, merchant_id: str) -> Merchant:
    await decided(connection, EndOldKey(actor, merchant_id))
    return await merchants.show(connection, merchant_id)


async def create_client(
    connection: Connection, actor: Actor, master: bytes, merchant_id: str, scope: str, **more: Any
) -> tuple[OAuthClient, str]:
    made = await decided(connection, CreateClient(actor, merchant_id, scope, **more), master=master)
    return made.client, made.secret


async def revoke_client(connection: Connection, actor: Actor, client_id: str) -> OAuthClient:
    return await decided(connection, RevokeClient(actor, client_id))


async def set_terms(connection: Connection, tenant_id: int, actor: Actor, **new: Any) -> None:
    await decided(connection, ChangePayoutTerms(actor, tenant_id, NewTerms(**new)))


async def set_fees(
    connection: Connection, actor: Actor, merchant_id: str, bps: int, fixed: int, *from_: datetime
) -> None:
    await decided(connection, SetFees(actor, merchant_id, bps, fixed, *from_))


async def set_tier(
    connection: Connection, actor: Actor, name: str, limits: Mapping[str, int | None]
) -> Tier:
    return await decided(connection, SetLimits(actor, name, limits))


async def set_holiday(connection: Connection, day: date, name: str, actor: Actor) -> None:
    await decided(connection, SetHoliday(actor, BankHoliday(day, name)))
