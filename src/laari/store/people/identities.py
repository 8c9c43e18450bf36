"""Identity data of customers, encrypted with the master key and bound to the customer.

Nobody reads it without an entry in the journal. The journal has only the digest of the encrypted
bytes, which differs each time.
"""

from datetime import datetime
from uuid import UUID

import msgspec
from asyncpg import Connection

from laari.errors import LaariError
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.people.identities import Identity
from laari.store.people.acting import acting, note
from laari.store.people.customers import mode_of
from laari.store.secrets import decrypt, encrypt


async def kept_since(connection: Connection, customer_id: UUID) -> datetime | None:
    """When the data was entered; None without any."""
    since: datetime | None = await connection.fetchval(
        "SELECT entered_at FROM customer_identities WHERE customer_id = $1", customer_id
    )
    return since


async def enter(
    connection: Connection,
    actor: Actor,
    master: bytes,
    customer_id: UUID,
    identity: Identity,
    reason: str,
) -> None:
    """Replaces earlier data."""
    async with acting(connection, actor, "identity.enter", reason):
        if await mode_of(connection, customer_id) is None:
            raise LaariError("the customer of a merchant's sandbox has no identity")
        plain = msgspec.json.encode(identity)
        await connection.execute(
            "INSERT INTO customer_identities (customer_id, encrypted) VALUES ($1, $2) "
            "ON CONFLICT (customer_id) DO UPDATE SET encrypted = $2, entered_at = now()",
            customer_id,
            encrypt(master, plain, _context(customer_id)),
        )


async def view(
    connection: Connection, actor: Actor, master: bytes, customer_id: UUID, reason: str
) -> Identity | None:
    """The data, if the entry that it was viewed is committed; None without any."""
    async with connection.transaction():
        encrypted = await connection.fetchval(
            "SELECT encrypted FROM customer_identities WHERE customer_id = $1", customer_id
        )
        if encrypted is None:
            return None
        plain = decrypt(master, encrypted, _context(customer_id))
        # Another type than that of the data: the last entry of an object is its present state.
        shown = ids.show_id(ids.CUSTOMER, customer_id)
        await note(
            connection, actor, "identity.view", "identity_view", shown, after={}, reason=reason
        )
    return msgspec.json.decode(plain, type=Identity)


async def remove(connection: Connection, actor: Actor, customer_id: UUID, reason: str) -> bool:
    """Whether there was any."""
    async with acting(connection, actor, "identity.remove", reason):
        done = await connection.execute(
            "DELETE FROM customer_identities WHERE customer_id = $1", customer_id
        )
    return bool(done == "DELETE 1")


def _context(customer_id: UUID) -> bytes:
    return f"customer-identity {customer_id}".encode()
