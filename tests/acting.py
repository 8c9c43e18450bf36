"""Changes of settings name their actor: without one the database refuses them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from asyncpg import Connection

from laari.rules.actors import Actor

_GET = "SELECT current_setting('laari.actor', true)"
# For the rest of the transaction, or until it is set again.
_SET = "SELECT set_config('laari.actor', $1, true)"


@asynccontextmanager
async def acting(
    connection: Connection, actor: Actor, action: str, reason: str | None = None
) -> AsyncIterator[None]:
    """A transaction whose changes of settings are in the journal as this actor's.

    Triggers write the entries. Inside another `acting`, this one names its own changes. `action` is
    an object and a verb, such as `merchant.update`.
    """
    named = {**msgspec.structs.asdict(actor), "action": action, "reason": reason}
    is_inner = connection.is_in_transaction()
    outer = await connection.fetchval(_GET) if is_inner else None
    async with connection.transaction():
        await connection.execute(_SET, msgspec.json.encode(named).decode())
        yield
        if is_inner:  # the rest of the transaction is not this actor's
            await connection.execute(_SET, outer or "")
