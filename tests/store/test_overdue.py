"""What SQL calls overdue, and what `state_of` does, are the same rows."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from laari.rules.actors import Payer
from laari.rules.lifecycle import shown_state, state_of
from laari.rules.merchants.sandbox_wallet import SetSandboxWallet
from laari.rules.payments import authorizations as authorization_rules
from laari.rules.payments import payment_requests as request_rules
from laari.rules.payments import payments as payment_rules
from laari.rules.records.tenants import Tenant
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import authorizations, payment_requests, payments, tenants
from laari.store.reads.listing import Window, page
from tests.actors import OPERATOR
from tests.making import make_merchant

NOW = datetime.now(UTC).replace(microsecond=500_000) + timedelta(hours=2)
INSTANT = timedelta(microseconds=1)
# A merchant names whole seconds; deadlines are moved to these instants afterwards.
DEADLINES = {
    "long ago": NOW - timedelta(hours=1),
    "an instant ago": NOW - INSTANT,
    "now": NOW,
    "in an instant": NOW + INSTANT,
    "much later": NOW + timedelta(days=1),
}
# Each is looked for along another index, with a condition of its own.
NARROWED = ({}, {"bill_number": "B-1"}, {"terminal_label": "Till 1"})
STATUSES = ("pending", "expired", "paid", "rejected", "cancelled", "refunded")


async def make(runner: BatchRunner, tenant: Tenant, table: str) -> None:
    """A row for each deadline, free and reserved, with a bill number or a label or neither."""
    commands: list[Any] = []
    for name in [*DEADLINES, "none"]:
        for reserved in ("free", "reserved"):
            for column in ("plain", "bill", "till"):
                reference = f"{name}/{reserved}/{column}"
                fields: dict[str, Any] = {
                    "expires_at": datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1),
                    "bill_number": "B-1" if column == "bill" else None,
                    "terminal_label": "Till 1" if column == "till" else None,
                }
                if table == "payments":
                    draft = payment_rules.PaymentDraft(reference, 100, **fields)
                    commands.append(payment_rules.CreatePayment(tenant, draft))
                elif name != "none":  # a payment request always has a deadline
                    asked = request_rules.RequestDraft(reference, 100, "vpa", "payer", **fields)
                    commands.append(request_rules.CreateRequest(tenant, asked, designated=True))
    await runner.run(commands, 1.0)


async def move_deadlines(connection: asyncpg.Connection, table: str, account: int) -> None:
    for name, deadline in [*DEADLINES.items(), ("none", None)]:
        if name == "none" and table == "payment_requests":
            continue
        await connection.execute(
            f"UPDATE {table} SET expires_at = $1 WHERE starts_with(reference, $2)",
            deadline,
            f"{name}/",
        )
    by = f", reserved_by = {account}" if table == "payments" else ""  # a request has its payer
    await connection.execute(
        f"UPDATE {table} SET reserved_at = $1{by} WHERE reference LIKE '%/reserved/%'",
        NOW - timedelta(hours=1),
    )


def named(rows: Iterable[Any]) -> list[str]:
    return sorted(row.reference for row in rows)


@pytest.mark.parametrize("table", ["payments", "payment_requests"])
async def test_sql_and_the_rules_agree_on_what_is_overdue(dsn: str, table: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    store = payments if table == "payments" else payment_requests
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
        await runner.run([SetSandboxWallet(tenant, OPERATOR, 1_000_000, "business")], 1.0)
        await make(runner, tenant, table)
        await move_deadlines(connection, table, shop.sandbox_account)
        ids = [row[0] for row in await connection.fetch(f"SELECT id FROM {table}")]
        rows = list((await store.by_id(connection, ids)).values())
        assert len(rows) == (36 if table == "payments" else 30)
        assert {state_of(row, NOW) for row in rows} == {"pending", "processing", "overdue"}
        for moment, status, narrowed in product(
            (NOW, NOW - INSTANT, NOW + INSTANT), STATUSES, NARROWED
        ):
            listing = store.of_tenant(tenant.id, moment, Window(100), status=status, **narrowed)
            found = await page(connection, listing)
            expected = [
                row
                for row in rows
                if all(getattr(row, column) == value for column, value in narrowed.items())
                and shown_state(row, moment).replace("processing", "pending") == status
            ]
            assert named(found.rows) == named(expected), (moment - NOW, status, narrowed)
    await runner.close()


async def test_sql_and_the_rules_agree_on_which_authorizations_have_expired(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
        payer = Payer(shop.sandbox_account, "sandbox")
        approve = authorization_rules.ApproveAuthorization
        made_so: dict[str, list[Any]] = {
            "pending": [],
            "active": [approve],
            "suspended": [approve, authorization_rules.SuspendAuthorization],
            "revoked": [approve, authorization_rules.RevokeAuthorization],
        }
        for status, name in product(made_so, [*DEADLINES, "none"]):
            draft = authorization_rules.AuthorizationDraft(f"{status}/{name}", "Box")
            [made] = await runner.run([authorization_rules.CreateAuthorization(tenant, draft)], 1.0)
            for command in made_so[status]:
                await runner.run([command(tenant, made.id, payer)], 1.0)
            await connection.execute(
                "UPDATE authorizations SET expires_at = $2, "
                "approval_expires_at = coalesce($2, approval_expires_at) WHERE id = $1",
                made.id,
                DEADLINES.get(name),
            )
        ids = [row[0] for row in await connection.fetch("SELECT id FROM authorizations")]
        rows = list((await authorizations.by_id(connection, ids)).values())
        for moment, status in product((NOW, NOW - INSTANT, NOW + INSTANT), (*made_so, "expired")):
            listing = authorizations.of_tenant(tenant.id, moment, Window(100), status)
            found = (await page(connection, listing)).rows
            shown = [row for row in rows if authorization_rules.as_of(row, moment).status == status]
            assert named(found) == named(shown), (moment - NOW, status)
            assert shown
    await runner.close()


async def test_the_worker_finds_the_requests_that_are_overdue_on_their_tenants_clock(
    dsn: str,
) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        tenant = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
        await make(runner, tenant, "payment_requests")
        await move_deadlines(connection, "payment_requests", shop.sandbox_account)
        ids = [row[0] for row in await connection.fetch("SELECT id FROM payment_requests")]
        rows = (await payment_requests.by_id(connection, ids)).values()
        for offset in (0, 3600, -3600):
            await connection.execute(
                "UPDATE tenants SET clock_offset_seconds = $2 WHERE id = $1", tenant.id, offset
            )
            for shift in (-INSTANT, timedelta(), INSTANT):
                server_time = NOW + shift - timedelta(seconds=offset)
                found = await payment_requests.overdue(connection, server_time, 100, 100)
                expected: list[tuple[UUID, int]] = [
                    (row.id, tenant.id) for row in rows if state_of(row, NOW + shift) == "overdue"
                ]
                assert sorted(found) == sorted(expected), (offset, shift)
                assert expected
    await runner.close()
