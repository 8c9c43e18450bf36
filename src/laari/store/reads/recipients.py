"""Recipients of messages: customers by a contact, and the owners of bank accounts."""

from collections.abc import Collection, Iterable

from asyncpg import Connection

from laari.rules.records.bank_accounts import AccountOwner
from laari.rules.records.messages import Contact, Recipient
from laari.rules.records.payments import CustomerType

_TYPES: tuple[CustomerType, ...] = ("mobile", "email", "vpa")  # each a column with its own index

_CONTACTS = " UNION ALL ".join(
    f"SELECT '{type}' AS type, c.{type} AS value, w.account, c.id AS customer_id, "
    "c.email, c.mobile, c.language FROM customers c JOIN wallets w ON w.customer_id = c.id "
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
    found = {}
    for row in rows:
        fields = dict(row)
        asked_for = fields.pop("type"), fields.pop("value")
        found[asked_for] = Contact(**fields)
    return found


async def account_owners(
    connection: Connection, owners: Collection[int]
) -> dict[int, AccountOwner]:
    """The owners of these tenants and wallets; a merchant's recipients are its owners."""
    wallets = await connection.fetch(
        "SELECT w.account, c.name, w.mode, c.email, c.mobile, c.language, c.id AS customer_id, "
        "(SELECT max(h.ended_at) FROM contact_changes h WHERE h.customer_id = c.id AND h.lost "
        "AND h.status = 'done') AS contact_lost_at FROM wallets w "
        "JOIN customers c ON c.id = w.customer_id WHERE w.account = ANY($1)",
        list(owners),
    )
    found = {}
    for row in wallets:
        recipient = Recipient(row["email"], row["mobile"], row["language"], row["customer_id"])
        found[row["account"]] = AccountOwner(
            row["name"], row["mode"], None, (recipient,), row["contact_lost_at"]
        )
    tenants = await connection.fetch(
        "SELECT t.id, m.name, t.mode, m.id AS merchant_id, ARRAY(SELECT p.email FROM memberships s "
        "JOIN persons p ON p.id = s.person_id WHERE s.merchant_id = m.id AND s.role = 'owner' "
        "ORDER BY p.email) AS emails FROM tenants t JOIN merchants m ON m.id = t.merchant_id "
        "WHERE t.id = ANY($1)",
        list(owners),
    )
    for tenant_id, name, mode, merchant_id, emails in tenants:
        people = tuple(Recipient(email, None, "en", None) for email in emails)
        found[tenant_id] = AccountOwner(name, mode, merchant_id, people)
    return found
