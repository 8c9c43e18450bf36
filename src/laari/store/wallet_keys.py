"""API keys of the wallet interface."""

from __future__ import annotations

import base64

import asyncpg

from laari.store.secrets import derive, digest

PREFIX = "wk_"


def sandbox_wallet_key(master_key: bytes, account: int) -> str:
    """The key of a merchant's own sandbox customer: derived, so that it can be shown again."""
    secret = derive(master_key, "sandbox-wallet-key", str(account))
    return PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")


async def add_key(connection: asyncpg.Connection, account: int, api_key: str) -> None:
    await connection.execute(
        "INSERT INTO wallet_keys (digest, account, name) VALUES ($1, $2, 'First key')",
        digest(api_key),
        account,
    )
