"""The operator's terms of payouts for a merchant, and the holidays of banks."""

from datetime import date
from typing import Any

from asyncpg import Connection
from msgspec.structs import astuple, replace

from laari.rules.actors import Actor
from laari.rules.records import PayoutTerms
from laari.store.people.acting import acting
from laari.store.reads.money.payouts import terms
from laari.store.tables import PAYOUT_TERMS


async def change(
    connection: Connection, tenant_id: int, actor: Actor, /, **changes: Any
) -> PayoutTerms:
    """Sets these terms; the others stay as they are."""
    async with acting(connection, actor, "payout_terms.change", changes.get("paused_reason")):
        await connection.execute(
            "INSERT INTO payout_terms (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING", tenant_id
        )
        await connection.execute(
            "SELECT FROM payout_terms WHERE tenant_id = $1 FOR NO KEY UPDATE", tenant_id
        )
        changed = replace(await terms(connection, tenant_id), **changes)
        fields = PayoutTerms.__struct_fields__[1:]
        values = ", ".join(f"{name} = ${n}" for n, name in enumerate(fields, 2))
        await connection.execute(
            f"UPDATE {PAYOUT_TERMS.name} SET {values} WHERE tenant_id = $1", *astuple(changed)
        )
    return changed


async def set_holiday(connection: Connection, day: date, name: str, actor: Actor) -> None:
    async with acting(connection, actor, "bank_holiday.set"):
        await connection.execute(
            "INSERT INTO bank_holidays (day, name) VALUES ($1, $2) "
            "ON CONFLICT (day) DO UPDATE SET name = excluded.name",
            day,
            name,
        )


async def remove_holiday(connection: Connection, day: date, actor: Actor) -> bool:
    """Whether there was one."""
    async with acting(connection, actor, "bank_holiday.remove"):
        done = await connection.execute("DELETE FROM bank_holidays WHERE day = $1", day)
    return bool(done == "DELETE 1")
