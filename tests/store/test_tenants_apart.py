"""What belongs to a merchant in one mode does not exist for another, nor for its other mode."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.payments import authorizations as auth
from laari.rules.payments import payment_requests, payments
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.refunds import RefundPayment
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.search import search
from tests.actors import ANYBODY, OPERATOR
from tests.making import make_customer, make_merchant

TABLES = ("payments", "payment_requests", "authorizations", "wallets", "transfers")


class Owned(NamedTuple):
    """What one tenant has: of each kind one that could be acted upon."""

    payment: UUID
    paid: UUID
    request: UUID
    pending: UUID
    active: UUID
    suspended: UUID


Make = Callable[[Tenant, Owned, Payer], Any]
COMMANDS: dict[str, Make] = {
    "cancel": lambda t, o, who: payments.CancelPayment(t, o.payment, OPERATOR),
    "expire": lambda t, o, who: payments.ExpirePayment(t, o.payment),
    "refund": lambda t, o, who: RefundPayment(t, o.paid, OPERATOR),
    "pay": lambda t, o, who: payments.PayPayment(t, o.payment, who),
    "reject": lambda t, o, who: payments.RejectPayment(t, o.payment, who),
    "reserve": lambda t, o, who: payments.ReservePayment(t, o.payment, who),
    "cancel request": lambda t, o, who: payment_requests.CancelRequest(t, o.request, OPERATOR),
    "expire request": lambda t, o, who: payment_requests.ExpireRequest(t, o.request),
    "pay request": lambda t, o, who: payment_requests.PayRequest(t, o.request, who),
    "cancel authorization": lambda t, o, who: auth.CancelAuthorization(t, o.active, OPERATOR),
    "approve": lambda t, o, who: auth.ApproveAuthorization(t, o.pending, who),
    "suspend": lambda t, o, who: auth.SuspendAuthorization(t, o.active, OPERATOR),
    "resume": lambda t, o, who: auth.ResumeAuthorization(t, o.suspended, OPERATOR),
    "revoke": lambda t, o, who: auth.RevokeAuthorization(t, o.active, who),
    "charge": lambda t, o, who: ChargeAuthorization(
        t, o.active, payments.PaymentDraft("charge", 100)
    ),
}


@pytest.mark.parametrize("mode", ["live", "sandbox"])
async def test_nothing_of_another_tenant_is_found(dsn: str, mode: Mode) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:

        async def state() -> list[Any]:
            found = [
                await connection.fetch(f"SELECT * FROM {table} ORDER BY 1") for table in TABLES
            ]
            return [tuple(row) for rows in found for row in rows]

        own = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode=mode)
        other = await make_merchant(connection, OPERATOR, bytes(32), name="Other", mode=mode)
        customer = await make_customer(
            connection, OPERATOR, name="A", mode=mode, tier="business", balance=10_000, vpa="payer"
        )
        tenant = await tenants.of_merchant(connection, own.merchant.id, mode)
        account = customer.account if mode == "live" else tenant.sandbox_account
        payer = Payer(account, mode)
        owned = await _make_all(runner, tenant, payer)
        other_mode: Mode = "sandbox" if mode == "live" else "live"
        strangers = [
            await tenants.of_merchant(connection, other.merchant.id, mode),
            await tenants.of_merchant(connection, own.merchant.id, other_mode),
        ]
        before = await state()
        for stranger in strangers:
            for name, make in COMMANDS.items():
                [outcome] = await runner.run([make(stranger, owned, payer)], 1.0)
                assert isinstance(outcome, Refusal), (name, outcome)
                assert outcome.code.endswith("not_found"), (name, outcome)
        assert await state() == before
        # The tenant itself finds all of it: what was refused was refused for who asked.
        for name, make in COMMANDS.items():
            [outcome] = await runner.run([make(tenant, owned, payer)], 1.0)
            found = not isinstance(outcome, Refusal) or not outcome.code.endswith("not_found")
            assert found, (name, outcome)
    await runner.close()


async def test_the_search_finds_nothing_of_another_tenant(dsn: str) -> None:
    """By none of the things that people have at hand, a customer's receipt among them."""
    runner = BatchRunner(dsn, "http://laari.test")
    async with connection_to(dsn) as connection:
        own = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        other = await make_merchant(connection, OPERATOR, bytes(32), name="Other", mode="sandbox")
        tenant = await tenants.of_merchant(connection, own.merchant.id, "sandbox")
        payer = Payer(tenant.sandbox_account, "sandbox")
        draft = payments.PaymentDraft("reference", 100, bill_number="bill")
        [made] = await runner.run([payments.CreatePayment(tenant, draft)], 1.0)
        [paid] = await runner.run([payments.PayPayment(tenant, made.id, payer)], 1.0)
        asked = payment_requests.RequestDraft("request", 100, "vpa", "payer", bill_number="billed")
        await runner.run([payment_requests.CreateRequest(tenant, asked, designated=True)], 1.0)
        strangers = [
            await tenants.of_merchant(connection, other.merchant.id, "sandbox"),
            await tenants.of_merchant(connection, own.merchant.id, "live"),
        ]
        for text in ("reference", "request", "bill", "billed", paid.payment_reference):
            assert any(await search(connection, tenant.id, text, 10)), text
            for stranger in strangers:
                assert not any(await search(connection, stranger.id, text, 10)), text
    await runner.close()


async def _make_all(runner: BatchRunner, tenant: Tenant, payer: Payer) -> Owned:
    async def run(command: Any) -> UUID:
        [outcome] = await runner.run([command], 1.0)
        assert not isinstance(outcome, Refusal), outcome
        return UUID(bytes=outcome.id.bytes)

    made = [
        await run(payments.CreatePayment(tenant, payments.PaymentDraft(f"p{n}", 100)))
        for n in range(2)
    ]
    await run(payments.PayPayment(tenant, made[1], payer))
    draft = payment_requests.RequestDraft("r", 100, "vpa", "payer")
    request = await run(payment_requests.CreateRequest(tenant, draft, designated=True))
    given = [
        await run(auth.CreateAuthorization(tenant, auth.AuthorizationDraft(f"a{n}", "Box")))
        for n in range(3)
    ]
    for each in given[1:]:
        await run(auth.ApproveAuthorization(tenant, each, payer))
    await run(auth.SuspendAuthorization(tenant, given[2], payer))
    return Owned(*made, request, *given)


def test_a_merchant_refunds_its_own_payments_only() -> None:
    mine, other = (Tenant(n, f"mer_{n}", "Shop", "live", 0, 0, 0, n, True) for n in (1, 2))
    world = World(datetime(2026, 1, 1, tzinfo=UTC), "http://laari.test", os.urandom)
    paid = payments.new_payment(world, mine, "hosted", payments.PaymentDraft("ORDER-1", 100))
    world.payments.lock(paid.id, replace(paid, status="paid", fee=0, payer_account=1))
    refused = RefundPayment(other, paid.id, ANYBODY).decide(world)
    assert isinstance(refused, Refusal)
    assert refused.code == "not_found"
