"""The sales of one till, as its counter shows them."""

from typing import Any, NamedTuple

from asyncpg import Connection

from laari.rules.limits.tills import SALES_SHOWN
from laari.rules.people.contacts import masked_payer
from laari.rules.records.payments import Payment
from laari.store.tables import PAYMENTS

_OF_STATUS = (
    f"(SELECT {PAYMENTS.columns} FROM payments WHERE tenant_id = $1 AND terminal_label = $2 "
    "AND status = '{status}' ORDER BY created_at DESC, id DESC LIMIT $3)"
)
# A till's payments of one status are one stretch of an index.
_LATEST = (
    f"SELECT {', '.join(f's.{field}' for field in Payment.__struct_fields__)}, c.name, c.mobile "
    f"FROM ({_OF_STATUS.format(status='paid')} UNION ALL {_OF_STATUS.format(status='refunded')}) s "
    "JOIN wallets w ON w.account = s.payer_account JOIN customers c ON c.id = w.customer_id "
    "ORDER BY s.paid_at DESC, s.id DESC LIMIT $3"
)


class Sale(NamedTuple):
    payment: Payment
    payer: str  # enough to tell customers apart


async def latest(connection: Connection, tenant_id: int, label: str) -> list[Sale]:
    """The last sales, the newest first."""
    rows = await connection.fetch(_LATEST, tenant_id, label, SALES_SHOWN)
    return [_sale(*row) for row in rows]


def _sale(*values: Any) -> Sale:
    *fields, name, mobile = values
    payment = Payment(*fields)
    assert payment.payer_account is not None  # it is paid
    return Sale(payment, masked_payer(name, mobile, payment.payer_account))
