"""The operator's search among very many payments: each way within its time."""

import asyncio
import os
import time
from statistics import median
from uuid import UUID

import asyncpg
import pytest

from bench.fill import Filled, Size, fill
from laari.store.postgres.pool import connection_to
from laari.store.reads.find import find
from tests.actors import OPERATOR
from tests.making import make_merchant

PAYMENTS = int(os.environ.get("LAARI_FIND_PAYMENTS", "10000000"))
MERCHANTS = 2_000
MOST_MS = 50
SAMPLES = 15
RECEIPT = "0123456789ABCDEF"
TOKEN = "a" * 24
ACTING = '{"kind": "service", "name": "test", "action": "test.fill"}'


async def _merchants(dsn: str) -> str:
    async with connection_to(dsn) as connection:
        made = await make_merchant(connection, OPERATOR, bytes(32), name="Bench", mode="live")
        await connection.execute("SELECT set_config('laari.actor', $1, false)", ACTING)
        await connection.execute(
            "INSERT INTO merchants (id, name, mode, secret_digest, secret_encrypted, fee_bps, "
            "fee_fixed, sandbox_account) SELECT 'mer_' || lpad(n::text, 20, 'a'), 'Shop ' || n, "
            "'live', sha256(n::text::bytea), '', 0, 0, n FROM generate_series(1, $1) n",
            MERCHANTS,
        )
        await connection.execute(
            "INSERT INTO tenants (merchant_id, mode) SELECT id, unnest(ARRAY['live', 'sandbox']) "
            "FROM merchants WHERE name LIKE 'Shop %'"
        )
    return made.merchant.id


async def _receipt(dsn: str, filled: Filled, n: int) -> None:
    """A payment with a receipt and a link as the service makes them, in a transaction of its own.

    All filled rows are of one transaction, and a receipt is found by its transaction.
    """
    payment_id = UUID(filled.payment_id(n).removeprefix("pay_"))
    async with connection_to(dsn) as connection, connection.transaction():
        await connection.execute("UPDATE payments SET token = $2 WHERE id = $1", payment_id, TOKEN)
        await connection.execute(
            "INSERT INTO transfers (id, kind, debit_account, credit_account, amount, payment_id, "
            "tid, created_at) VALUES (gen_random_uuid(), 'refund', $3, $4, 1, $1, $2, now())",
            payment_id,
            RECEIPT,
            1_000_000_000 + filled.tenant,
            filled.first_account + 1,
        )
        await connection.execute(
            "INSERT INTO transactions (tid, account, time, type, name, details, amount, status) "
            "VALUES ($1, $2, now(), 'refund', 'Bench', 'Order', 1, 'success')",
            RECEIPT,
            filled.first_account + 1,
        )


async def _milliseconds(connection: asyncpg.Connection, text: str) -> float:
    taken = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        await find(connection, text, 50)
        taken.append((time.perf_counter() - began) * 1_000)
    return median(taken)


def _texts(filled: Filled) -> dict[str, str]:
    n = filled.size.payments // 3
    return {
        "mobile": "7000123",
        "email": "customer123@example.com",
        "VPA": "customer123",
        "account": str(filled.first_account + 123),
        "name": "customer 99",
        "common name": "customer",
        "payment id": filled.payment_id(n),
        "link": f"https://laari.test/pay/{TOKEN}",
        "reference": f"fill-{n}",
        "receipt": RECEIPT,
        "nothing": "no such reference",
    }


@pytest.mark.campaign
def test_each_way_to_search_stays_within_its_time(dsn: str) -> None:
    merchant_id = asyncio.run(_merchants(dsn))
    filled, _ = fill(dsn, merchant_id, Size(PAYMENTS, min(PAYMENTS, 100_000), 100, bodies=False))

    asyncio.run(_receipt(dsn, filled, PAYMENTS // 3))

    async def measure() -> dict[str, float]:
        async with connection_to(dsn) as connection:
            # All filled rows are of one transaction; the planner shall know what is usual.
            await connection.execute("ALTER TABLE transfers ALTER xid SET (n_distinct = -0.1)")
            await connection.execute("ANALYZE")
            return {
                name: await _milliseconds(connection, text) for name, text in _texts(filled).items()
            }

    found = asyncio.run(measure())
    print({name: round(taken, 1) for name, taken in found.items()})
    assert {name: taken for name, taken in found.items() if taken > MOST_MS} == {}
