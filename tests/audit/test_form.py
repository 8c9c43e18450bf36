"""What a seal digests stays as it was: a later version must not accuse what an earlier one sealed.

The statements are those of the first version, word for word. Another form needs another number in
the seals' MACs and code that still verifies this one.
"""

from __future__ import annotations

import pytest

from laari.store.database import connection_to
from tests.audit.books import seal_all, write_books, write_more

FIRST = {
    "transfers": (
        "id",
        "r.id, r.kind, r.debit_account, r.credit_account, r.amount, r.payment_id, r.tid, "
        "r.created_at",
    ),
    "transactions": (
        "tid",
        "r.tid, r.account, r.recorded, r.time, r.type, r.name, r.details, r.amount, r.status, "
        "CASE r.type WHEN 'topup' THEN (SELECT s.slip FROM topup_slips s WHERE s.tid = r.tid) "
        "END, CASE WHEN r.type IN ('topup', 'adjustment') THEN "
        "(SELECT w.customer_id FROM wallets w WHERE w.account = r.account) END",
    ),
    "events": (
        "id",
        "r.id, r.tenant_id, r.type, r.object_id, r.created_at, sha256(r.body), CASE r.type "
        "WHEN 'payment_request.created' THEN "
        "(SELECT q.account FROM payment_requests q WHERE q.id = r.object_id) "
        "WHEN 'authorization.approved' THEN "
        "(SELECT a.account FROM authorizations a WHERE a.id = r.object_id) END, "
        "CASE WHEN r.type IN ('payment.created', 'payment_request.created', "
        "'authorization.created') THEN "
        "(SELECT t.merchant_id FROM tenants t WHERE t.id = r.tenant_id) END",
    ),
}


@pytest.mark.parametrize("table", FIRST)
async def test_a_seal_digests_what_the_first_version_did(dsn: str, table: str) -> None:
    await write_books(dsn)
    await write_more(dsn)
    key, sealed = FIRST[table]
    own = [seal for seal in await seal_all(dsn, 10_000) if seal.subject == table]
    assert own
    async with connection_to(dsn) as connection:
        for seal in own:
            assert (seal.from_key, seal.upto_key) == (None, None)
            content = await connection.fetchval(
                "SELECT sha256(coalesce(string_agg(sent, ''::bytea ORDER BY key), ''::bytea)) "
                f"FROM (SELECT r.{key} AS key, record_send(ROW({sealed})) AS sent FROM {table} r "
                "WHERE r.xid > $1 AND r.xid <= $2) AS rows",
                seal.from_xid,
                seal.upto_xid,
            )
            assert content == seal.content
