"""The first key of a new wallet, and the key of a merchant's sandbox customer."""

import base64

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.people.wallet_keys import PREFIX
from laari.store.people.acting import acting
from laari.store.reads.people.wallet_keys import key_digest
from laari.store.secrets import derive


def sandbox_wallet_key(master_key: bytes, account: int) -> str:
    """Derived, so that it can be shown again."""
    secret = derive(master_key, "sandbox-wallet-key", str(account))
    return PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")


async def add_first_key(
    connection: Connection, actor: Actor, master: bytes, account: int, api_key: str
) -> None:
    async with acting(connection, actor, "wallet_key.create"):
        await connection.execute(
            "INSERT INTO wallet_keys (digest, account, name) VALUES ($1, $2, 'First key')",
            key_digest(master, api_key),
            account,
        )
