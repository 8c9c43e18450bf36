"""OAuth clients by their merchant, for commands."""

from collections.abc import Collection

from asyncpg import Connection


async def owners(connection: Connection, client_ids: Collection[str]) -> dict[str, str]:
    """The merchants of these clients."""
    rows = await connection.fetch(
        "SELECT id, merchant_id FROM oauth_clients WHERE id = ANY($1)", list(client_ids)
    )
    return {row["id"]: row["merchant_id"] for row in rows}


async def counts(connection: Connection, merchants: Collection[str]) -> dict[str, int]:
    """The number of clients of each merchant."""
    rows = await connection.fetch(
        "SELECT merchant_id, count(*) FROM oauth_clients WHERE merchant_id = ANY($1) "
        "GROUP BY merchant_id",
        list(merchants),
    )
    return dict.fromkeys(merchants, 0) | {row["merchant_id"]: row["count"] for row in rows}
