"""The tenant of a credential, and the live side of a merchant."""

from collections.abc import Collection

from asyncpg import Connection

from laari.rules.records.tenants import Mode, Tenant

COLUMNS = ", ".join(f"d.{field}" for field in Tenant.__struct_fields__)
SELECT = f"SELECT {COLUMNS} FROM tenant_details d"

# After a rotation with an overlap the old secret key authenticates and signs until its end.
_OLD_KEY_WORKS = "m.old_secret_until > now()"
SIGNED_WITH = f"CASE WHEN {_OLD_KEY_WORKS} THEN m.old_secret_encrypted ELSE m.secret_encrypted END"


def has_live_side(merchant_id: str) -> str:
    """SQL: whether the merchant of this expression has a live side, which means a live tenant.

    The mode of its credentials is another question: people open the live pages in either mode.
    """
    return (
        f"EXISTS (SELECT FROM tenants live WHERE live.merchant_id = {merchant_id} "
        "AND live.mode = 'live')"
    )


async def _by_digest(
    connection: Connection, column: str, valid: str, digests: list[bytes]
) -> dict[bytes, Tenant]:
    rows = await connection.fetch(
        f"SELECT m.{column}, {COLUMNS} FROM merchants m "
        "JOIN tenant_details d ON d.merchant_id = m.id AND d.mode = m.mode "
        f"WHERE m.{column} = ANY($1) AND {valid}",
        digests,
    )
    return {digest: Tenant(*tenant) for digest, *tenant in rows}


async def by_secret_digest(connection: Connection, digests: list[bytes]) -> dict[bytes, Tenant]:
    """The tenants of these secret keys now, active or not.

    Old keys are rare: looking for both in one statement would cost every request a fifth more.
    """
    found = await _by_digest(connection, "secret_digest", "true", digests)
    if missing := [digest for digest in digests if digest not in found]:
        old = await _by_digest(connection, "old_secret_digest", _OLD_KEY_WORKS, missing)
        found.update(old)
    return found


async def by_id(connection: Connection, tenant_ids: Collection[int]) -> dict[int, Tenant]:
    rows = await connection.fetch(f"{SELECT} WHERE d.id = ANY($1)", list(tenant_ids))
    return {row["id"]: Tenant(**row) for row in rows}


async def live_of(connection: Connection, merchants: Collection[str]) -> dict[str, int]:
    """The live tenants of those that have one."""
    rows = await connection.fetch(
        "SELECT merchant_id, id FROM tenants WHERE merchant_id = ANY($1) AND mode = 'live'",
        list(merchants),
    )
    return {row["merchant_id"]: row["id"] for row in rows}


async def merchants_held(connection: Connection, most: int) -> int:
    """The number of merchants, counted up to this one."""
    statement = "SELECT count(*) FROM (SELECT FROM merchants LIMIT $1) AS counted"
    return int(await connection.fetchval(statement, most))


async def is_full(connection: Connection, most: int) -> bool:
    """Whether there are already `most` merchants, so that nobody can sign up."""
    return await merchants_held(connection, most) >= most


async def in_mode(connection: Connection, merchant_id: str, mode: Mode) -> Tenant | None:
    row = await connection.fetchrow(
        f"{SELECT} WHERE d.merchant_id = $1 AND d.mode = $2", merchant_id, mode
    )
    return None if row is None else Tenant(**row)


async def of_merchant(connection: Connection, merchant_id: str, mode: Mode) -> Tenant:
    """The same for a merchant that has this mode."""
    found = await in_mode(connection, merchant_id, mode)
    assert found is not None
    return found


async def of_wallet(connection: Connection, account: int) -> Tenant | None:
    """The tenant whose sandbox customer has this wallet: the wallet uses its clock."""
    row = await connection.fetchrow(
        f"{SELECT} JOIN customers c ON c.sandbox_of = d.id JOIN wallets w "
        "ON w.customer_id = c.id WHERE w.account = $1",
        account,
    )
    return None if row is None else Tenant(**row)
