"""Books that grow old: purging by age, proving what is left, and tampering with it."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.payments import authorizations, payment_requests
from laari.rules.payments import payments as rules
from laari.store.audit import Report, audit
from laari.store.batch.runner import BatchRunner
from laari.store.counters.purge import (
    purge_deliveries,
    purge_failed_lines,
    purge_sandbox_events,
    sandboxes,
)
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.listing import Position
from tests.actors import OPERATOR
from tests.audit.books import KEY, ORIGIN

FOREVER = datetime(2999, 1, 1, tzinfo=UTC)  # everything is older
EVENTS = "SELECT count(*) FROM events e JOIN tenants t ON t.id = e.tenant_id"
FAILED = "SELECT count(*) FROM transactions JOIN wallets USING (account) WHERE status = 'failed'"


async def fetchval(dsn: str, query: str, *values: object) -> Any:
    async with connection_to(dsn) as connection:
        return await connection.fetchval(query, *values)


async def fetchrow(dsn: str, query: str, *values: object) -> Any:
    async with connection_to(dsn) as connection:
        return await connection.fetchrow(query, *values)


async def tamper(dsn: str, statement: str) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute(f"SET session_replication_role = replica; {statement}")


async def prove(dsn: str) -> Report:
    """The whole audit and the one of what is new find nothing."""
    async with connection_to(dsn) as connection:
        for since_seal in (True, False):
            report = await audit(connection, KEY, since_seal=since_seal)
            assert report.differences == []
    return report


async def accuse(dsn: str, *, since_seal: bool = False) -> set[str]:
    async with connection_to(dsn) as connection:
        report = await audit(connection, KEY, since_seal=since_seal)
    return set(report.counts)


async def purge_old_deliveries(dsn: str, before: datetime = FOREVER, most: int = 3) -> int:
    total = 0
    async with connection_to(dsn) as connection:
        while True:
            async with connection.transaction():
                count = await purge_deliveries(connection, before, most)
            total += count
            if count < most:
                return total


async def purge_sandboxes(dsn: str, before: datetime = FOREVER, most: int = 10) -> None:
    """In small steps."""
    async with connection_to(dsn) as connection:
        for sandbox in await sandboxes(connection):
            await purge_failed_lines(connection, sandbox, before)
            after: Position | None = None
            while True:
                async with connection.transaction():
                    after = await purge_sandbox_events(connection, sandbox, before, after, most)
                if after is None:
                    break


async def try_in_sandbox(dsn: str) -> None:
    """What the sandbox of the shop never paid, in every state; its clock is months ahead."""
    async with connection_to(dsn) as connection:
        shop = await connection.fetchval("SELECT id FROM merchants WHERE name = 'Shop'")
        await connection.execute(
            "UPDATE tenants SET clock_offset_seconds = 2592000 "
            "WHERE merchant_id = $1 AND mode = 'sandbox'",
            shop,
        )
        tenant = await tenants.of_merchant(connection, shop, "sandbox")
    runner = BatchRunner(dsn, ORIGIN)
    own = Payer(tenant.sandbox_account, "sandbox")

    async def run(command: Any) -> Any:
        [outcome] = await runner.run([command], 1.0)
        return outcome

    made = {}
    for name in ("forgotten", "cancelled", "rejected", "expired", "paid", "dear"):
        draft = rules.PaymentDraft(f"try {name}", 90_000_000 if name == "dear" else 100)
        made[name] = (await run(rules.CreatePayment(tenant, draft))).id
    await run(rules.CancelPayment(tenant, made["cancelled"], OPERATOR))
    await run(rules.RejectPayment(tenant, made["rejected"], own))
    later = replace(tenant, clock_offset_seconds=tenant.clock_offset_seconds + 9_000_000)
    await run(rules.ExpirePayment(later, made["expired"]))
    await run(rules.PayPayment(tenant, made["paid"], own))
    await run(rules.PayPayment(tenant, made["dear"], own))  # leaves a failed line
    ask = payment_requests.RequestDraft("try ask", 100, "vpa", "sandbox")
    asked = await run(payment_requests.CreateRequest(tenant, ask, True))
    await run(payment_requests.CancelRequest(tenant, asked.id, OPERATOR))
    for name in ("refused", "used"):
        allowed = authorizations.AuthorizationDraft(f"try {name}", "Box", total=500)
        made[name] = (await run(authorizations.CreateAuthorization(tenant, allowed))).id
    await run(authorizations.RejectAuthorization(tenant, made["refused"], own))
    await run(authorizations.ApproveAuthorization(tenant, made["used"], own))
    await runner.close()
    async with connection_to(dsn) as connection:
        await connection.execute(
            "UPDATE tenants SET clock_offset_seconds = 10 * clock_offset_seconds WHERE id = $1",
            tenant.id,
        )


LEDGER = ("transfers", "wallets", "customers", "merchants", "topup_slips", "tenants")


async def ledger(dsn: str) -> dict[str, Any]:
    """What may never change, whatever is removed."""
    found = {}
    async with connection_to(dsn) as connection:
        for table in LEDGER:
            found[table] = await connection.fetch(f"SELECT * FROM {table} ORDER BY 1")
        for table, condition in (
            ("transactions", "status = 'success'"),
            ("payments", "status IN ('paid', 'refunded')"),
            ("payment_requests", "status IN ('paid', 'refunded', 'pending')"),
            ("authorizations", "approved_at IS NOT NULL"),
            ("payments", "tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')"),
            ("authorizations", "tenant_id IN (SELECT id FROM tenants WHERE mode = 'live')"),
        ):
            query = f"SELECT * FROM {table} WHERE {condition} ORDER BY 1"
            found[f"{table} {condition}"] = await connection.fetch(query)
    return found


async def fetch_column(dsn: str, query: str, *values: object) -> list[Any]:
    async with connection_to(dsn) as connection:
        return [row[0] for row in await connection.fetch(query, *values)]
