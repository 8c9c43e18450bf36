"""API keys of the wallet interface."""

import base64
from datetime import datetime
from typing import Literal, NamedTuple

from asyncpg import Connection

from laari.rules import terms
from laari.rules.actors import Actor
from laari.store.people.acting import acting
from laari.store.secrets import derive

PREFIX = "wk_"
MAX_NAME = 50  # characters


class WalletKey(NamedTuple):
    digest: bytes
    name: str
    created_at: datetime
    last_used_at: datetime | None


def key_digest(master: bytes, api_key: str) -> bytes:
    return derive(master, "wallet-key", api_key)


def sandbox_wallet_key(master_key: bytes, account: int) -> str:
    """The key of a merchant's sandbox customer: derived, so that it can be shown again."""
    secret = derive(master_key, "sandbox-wallet-key", str(account))
    return PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")


async def add_key(
    connection: Connection,
    actor: Actor,
    master: bytes,
    account: int,
    api_key: str,
    name: str = "First key",
    made_before: int | None = None,
) -> Literal["added", "full", "made"]:
    """Gives the wallet a key, unless it has the most it can have.

    `made_before` is the number of keys it had when the form was shown: a form sent twice makes one.
    """
    async with acting(connection, actor, "wallet_key.create"):
        # Two keys made at once are counted one after the other.
        await connection.execute(
            "SELECT FROM wallets WHERE account = $1 FOR NO KEY UPDATE", account
        )
        made = await keys_made(connection, account)
        if made_before is not None and made != made_before:
            return "made"
        added = await connection.execute(
            "INSERT INTO wallet_keys (digest, account, name) SELECT $1, $2, $3 WHERE "
            "(SELECT count(*) FROM wallet_keys WHERE account = $2 AND revoked_at IS NULL) < $4",
            key_digest(master, api_key),
            account,
            name,
            terms.WALLET_KEYS,
        )
    return "added" if added == "INSERT 0 1" else "full"


async def keys_made(connection: Connection, account: int) -> int:
    """All keys the wallet has ever had: revoked ones stay, so the number only grows."""
    statement = "SELECT count(*) FROM wallet_keys WHERE account = $1"
    return int(await connection.fetchval(statement, account))


async def list_keys(connection: Connection, account: int) -> list[WalletKey]:
    """The usable keys of a wallet, newest first."""
    rows = await connection.fetch(
        "SELECT digest, name, created_at, last_used_at FROM wallet_keys "
        "WHERE account = $1 AND revoked_at IS NULL ORDER BY created_at DESC, digest",
        account,
    )
    return [WalletKey(*row) for row in rows]


async def revoke_key(connection: Connection, actor: Actor, account: int, held: bytes) -> None:
    """Keys of other wallets are left alone."""
    async with acting(connection, actor, "wallet_key.revoke"):
        await connection.execute(
            "UPDATE wallet_keys SET revoked_at = now() "
            "WHERE account = $1 AND digest = $2 AND revoked_at IS NULL",
            account,
            held,
        )
