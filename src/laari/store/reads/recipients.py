"""Recipients of payment requests: live customers by mobile number, email or VPA."""

from collections.abc import Iterable

from asyncpg import Connection

from laari.rules.records import Contact, CustomerType

_TYPES: tuple[CustomerType, ...] = ("mobile", "email", "vpa")  # each a column with its own index

_CONTACTS = " UNION ALL ".join(
    f"SELECT '{type}' AS type, c.{type} AS value, w.account, c.id, c.email, c.mobile, c.language "
    f"FROM customers c JOIN wallets w ON w.customer_id = c.id "
    f"WHERE c.mode = 'live' AND c.sandbox_of IS NULL AND c.{type} = ANY(${number})"
    for number, type in enumerate(_TYPES, 1)
)


async def contacts_of(
    connection: Connection, recipients: Iterable[tuple[CustomerType, str]]
) -> dict[tuple[CustomerType, str], Contact]:
    named: dict[str, list[str]] = {type: [] for type in _TYPES}
    for type, value in recipients:
        named[type].append(value)
    rows = await connection.fetch(_CONTACTS, *named.values())
    return {(type, value): Contact(*contact) for type, value, *contact in rows}
