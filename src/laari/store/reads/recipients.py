"""Recipients of payment requests: live customers by mobile number, email or VPA."""

from collections.abc import Iterable

from asyncpg import Connection

from laari.rules.records import CustomerType

_TYPES: tuple[CustomerType, ...] = ("mobile", "email", "vpa")  # each a column with its own index

_ACCOUNTS = " UNION ALL ".join(
    f"SELECT '{type}' AS type, c.{type} AS value, w.account FROM customers c "
    f"JOIN wallets w ON w.customer_id = c.id "
    f"WHERE c.mode = 'live' AND c.sandbox_of IS NULL AND c.{type} = ANY(${number})"
    for number, type in enumerate(_TYPES, 1)
)


async def accounts_of(
    connection: Connection, recipients: Iterable[tuple[CustomerType, str]]
) -> dict[tuple[CustomerType, str], int]:
    named: dict[str, list[str]] = {type: [] for type in _TYPES}
    for type, value in recipients:
        named[type].append(value)
    rows = await connection.fetch(_ACCOUNTS, *named.values())
    return {(row["type"], row["value"]): row["account"] for row in rows}
