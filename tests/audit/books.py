"""Books with something of every kind in them, made by the service's own commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.banking.wallet_controls import FreezeWallet
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.idempotency import Keyed, Response
from laari.rules.payments import authorizations, charges, payment_requests
from laari.rules.payments import payments as rules
from laari.rules.payments.refunds import RefundPayment
from laari.rules.payments.till_closings import CloseTill
from laari.rules.people.contact_changes import RequestContactChange
from laari.rules.people.identities import EnterIdentity, Identity
from laari.rules.people.invitations import Offer
from laari.rules.people.passkeys import EndPasskeys
from laari.rules.people.persons import NewLogin
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import Data, refusal_body, to_json
from laari.rules.shapes.payments import payment_shape
from laari.store.audit import Report, audit
from laari.store.batch.runner import BatchRunner
from laari.store.ledger.sealing import seal_next
from laari.store.ledger.seals import Seal, sealing_key
from laari.store.outbox import deliveries
from laari.store.postgres.pool import Pool, connection_to, open_pool
from laari.store.reads import tenants
from tests import people, shops
from tests.actors import ANYBODY, MASTER, OPERATOR
from tests.deciding import done
from tests.factors import begin
from tests.making import make_customer, make_merchant
from tests.passkeys import add_passkey
from tests.people import decided

MASTER_KEY = bytes(32)
KEY = sealing_key(MASTER_KEY)
ORIGIN = "http://laari.test"


async def write_books(dsn: str) -> None:
    """A payment in every state, a failed attempt, and money moved in both directions."""
    async with connection_to(dsn) as connection:
        shop = await make_merchant(
            connection, OPERATOR, MASTER_KEY, name="Shop", mode="live", fee_bps=250, fee_fixed=100
        )
        payer = await make_customer(
            connection,
            OPERATOR,
            name="Aisha",
            mode="live",
            tier="business",
            balance=1_000_000,
            vpa="aisha",
            key_with=MASTER_KEY,
        )
        live = await tenants.of_merchant(connection, shop.merchant.id, "live")
    runner = BatchRunner(dsn, ORIGIN)

    async def run(command: Any) -> Any:
        [outcome] = await runner.run([command], 1.0)
        return outcome

    made = {}
    for reference in ("pending", "paid", "refunded", "cancelled", "rejected", "expired"):
        draft = rules.PaymentDraft(reference, 10_000)
        made[reference] = (await run(rules.CreatePayment(live, draft))).id
    dear = await run(rules.CreatePayment(live, rules.PaymentDraft("dear", 9_000_000)))
    await run(rules.PayPayment(live, made["paid"], Payer(payer.account, "live")))
    await run(rules.PayPayment(live, made["refunded"], Payer(payer.account, "live")))
    await run(rules.PayPayment(live, dear.id, Payer(payer.account, "live")))
    await run(RefundPayment(live, made["refunded"], ANYBODY))
    await run(rules.CancelPayment(live, made["cancelled"], OPERATOR))
    await run(rules.RejectPayment(live, made["rejected"], Payer(payer.account, "live")))
    tomorrow = replace(live, clock_offset_seconds=90_000)
    await run(rules.ExpirePayment(tomorrow, made["expired"]))
    await run(MoveMoney(OPERATOR, None, payer.account, "adjustment", -700, "Correction"))
    await run(MoveMoney(OPERATOR, None, payer.account, "adjustment", 300, "Correction"))
    await _ask(run, live, payer.account)
    await _charge(run, live, payer.account)
    await runner.close()


async def _ask(run: Any, live: Tenant, account: int) -> None:
    """A payment request in every state."""
    made = {}
    for status in ("pending", "paid", "refunded", "cancelled", "rejected", "expired"):
        draft = payment_requests.RequestDraft(f"ask {status}", 5_000, "vpa", "aisha")
        made[status] = (await run(payment_requests.CreateRequest(live, draft, False))).id
    await run(payment_requests.PayRequest(live, made["paid"], Payer(account, "live")))
    paid = await run(payment_requests.PayRequest(live, made["refunded"], Payer(account, "live")))
    await run(RefundPayment(live, paid.payment_id, ANYBODY))
    await run(payment_requests.CancelRequest(live, made["cancelled"], OPERATOR))
    await run(payment_requests.RejectRequest(live, made["rejected"], Payer(account, "live")))
    tomorrow = replace(live, clock_offset_seconds=90_000)
    await run(payment_requests.ExpireRequest(tomorrow, made["expired"]))


async def _charge(run: Any, live: Tenant, account: int) -> None:
    """An authorization in every state; the active one is charged in two months, once refunded."""
    made = {}
    for status in (
        "pending",
        "active",
        "suspended",
        "rejected",
        "cancelled",
        "revoked",
        "consumed",
    ):
        draft = authorizations.AuthorizationDraft(
            f"auth {status}",
            "Box",
            type="one_time" if status == "consumed" else "recurring",
            period_interval="month",
            period_amount=50_000,
        )
        made[status] = (await run(authorizations.CreateAuthorization(live, draft))).id
        if status in ("active", "suspended", "revoked", "consumed"):
            await run(
                authorizations.ApproveAuthorization(live, made[status], Payer(account, "live"))
            )
    await run(authorizations.SuspendAuthorization(live, made["suspended"], OPERATOR))
    await run(authorizations.RejectAuthorization(live, made["rejected"], Payer(account, "live")))
    await run(authorizations.CancelAuthorization(live, made["cancelled"], OPERATOR))
    await run(authorizations.RevokeAuthorization(live, made["revoked"], Payer(account, "live")))
    later = replace(live, clock_offset_seconds=40 * 86_400)
    for tenant, status, reference in (
        (live, "active", "charge 1"),
        (later, "active", "charge 2"),
        (later, "active", "charge 3"),
        (live, "consumed", "charge 4"),
    ):
        charge = charges.PaymentDraft(reference, 5_000)
        paid = await run(charges.ChargeAuthorization(tenant, made[status], charge))
        if reference == "charge 2":
            await run(RefundPayment(later, paid.id, OPERATOR, 2_000, "other", "Late"))


async def write_more(dsn: str) -> None:
    """What the books do not have: a sandbox, top-ups by slip, deliveries and saved responses."""
    async with connection_to(dsn) as connection:
        shop = await make_merchant(
            connection,
            OPERATOR,
            MASTER_KEY,
            name="Stall",
            mode="sandbox",
            fee_bps=100,
            fee_fixed=0,
            webhook_url="https://stall.example/hook",
        )
        sandbox = await tenants.of_merchant(connection, shop.merchant.id, "sandbox")
        live = await tenants.of_merchant(connection, shop.merchant.id, "live")
        second = await make_customer(
            connection,
            OPERATOR,
            name="Bilal",
            mode="live",
            tier="business",
            balance=50_000,
            vpa="bilal",
            key_with=MASTER_KEY,
        )
    runner = BatchRunner(dsn, ORIGIN)

    async def run(command: Any) -> Any:
        [outcome] = await runner.run([command], 1.0)
        return outcome

    await run(MoveMoney(OPERATOR, None, second.account, "topup", 7_000, "Bank", slip="slip-1"))
    await run(MoveMoney(OPERATOR, None, second.account, "topup", 8_000, "Bank", slip="slip-2"))
    own = Payer(sandbox.sandbox_account, "sandbox")
    for day, amount in ((0, 1_000), (3, 2_000), (0, 3_000), (40, 4_000)):
        moved = replace(sandbox, clock_offset_seconds=day * 86_400)
        draft = rules.PaymentDraft(f"sand {day} {amount}", amount, metadata='{"a": "b"}')
        made = await run(rules.CreatePayment(moved, draft))
        await run(rules.PayPayment(moved, made.id, own))
    allowed = authorizations.AuthorizationDraft(
        "sand auth",
        "Sand",
        per_payment=900,
        period_interval="week",
        period_amount=2_000,
        total=9_000,
    )
    granted = await run(authorizations.CreateAuthorization(sandbox, allowed))
    await run(authorizations.ApproveAuthorization(sandbox, granted.id, own))
    for day in (0, 8, 0):
        moved = replace(sandbox, clock_offset_seconds=day * 86_400)
        draft = rules.PaymentDraft(f"sand charge {day} {granted.payment_count}", 300)
        granted = replace(granted, payment_count=granted.payment_count + 1)
        await run(charges.ChargeAuthorization(moved, granted.id, draft))
    await _save_responses(run, live)
    await run(FreezeWallet(OPERATOR, second.account, "Reported stolen"))
    await runner.close()
    await _deliver(dsn)
    async with connection_to(dsn) as connection:
        for scope in ("payments:read", "payments:create"):
            client, _ = await shops.create_client(
                connection, OPERATOR, MASTER, shop.merchant.id, scope
            )
        await shops.revoke_client(connection, OPERATOR, client.id)
        login = NewLogin("hash")
        for email, role, till in (
            ("owner@stall.mv", "owner", None),
            ("a@stall.mv", "cashier", "1"),
        ):
            added = await people.add(
                connection, OPERATOR, shop.merchant.id, email, role, till, login
            )
        now = datetime.now(UTC)
        await begin(connection, added.id, now)
        identity = Identity("passport", "A1", now.date(), "Malé")
        command = EnterIdentity(OPERATOR, second.id, identity, "Verified")
        await decided(connection, command, master=MASTER_KEY)
        await add_passkey(connection, second.id, master=MASTER_KEY)
        await decided(connection, EndPasskeys(OPERATOR, second.id))
        await add_passkey(connection, second.id, master=MASTER_KEY)
        offer = Offer("invited@shop.mv", "manager")
        await people.invite(connection, OPERATOR, MASTER, shop.merchant.id, offer, now)
    await done(dsn, RequestContactChange(OPERATOR, second.id, "mobile", "7779999", "lost"))


async def _save_responses(run: Any, tenant: Tenant) -> None:
    def render(outcome: Payment | Refusal) -> Response:
        if isinstance(outcome, Refusal):
            return Response(outcome.status, refusal_body(outcome), outcome.public_code)
        body = to_json(Data(payment_shape(outcome, ORIGIN)))
        return Response(201, body, resource_id=outcome.id)

    for n, amount in enumerate((100, 200)):
        command = rules.CreatePayment(tenant, rules.PaymentDraft(f"keyed {n}", amount))
        await run(Keyed(tenant, "create", f"key-{n}", bytes(32), command, render))
    taken = rules.CreatePayment(tenant, rules.PaymentDraft("keyed 0", 999))
    await run(Keyed(tenant, "create", "key-refused", bytes(32), taken, render))


async def _deliver(dsn: str) -> None:
    """The first event is delivered, the next fails, and the others wait."""
    async with connection_to(dsn) as connection:
        [tenant] = (await deliveries.due_tenants(connection, 0, 10))[0][:1]
        leased = await deliveries.lease(connection, {tenant: 2}, 60)
        attempts = [
            deliveries.Attempt(
                each.event_id,
                each.lease,
                datetime.now(UTC),
                5,
                "https://stall.example/hook",
                200 if n == 0 else 500,
                None,
                "",
                acknowledged=n == 0,
                retry_seconds=None,
            )
            for n, each in enumerate(leased)
        ]
        await deliveries.record(connection, attempts)


async def seal_all(dsn: str, chunk: int = 10) -> list[Seal]:
    """Seals everything, in seals small enough that there are several."""
    seals: list[Seal] = []
    async with connection_to(dsn) as connection:
        while True:
            async with connection.transaction():
                made = await seal_next(connection, KEY, chunk)
            if not made.seals:
                return seals
            seals += made.seals


@asynccontextmanager
async def pool_of(dsn: str) -> AsyncIterator[Pool]:
    pool = await open_pool(dsn, 2)
    try:
        yield pool
    finally:
        await pool.close()


async def look(dsn: str, **options: Any) -> Report:
    async with connection_to(dsn) as connection:
        return await audit(connection, KEY, **options)


async def _shop_and_payer(dsn: str) -> tuple[Tenant, Payer]:
    """The books' shop and the customer who pays there."""
    async with connection_to(dsn) as connection:
        shop = await connection.fetchval("SELECT id FROM merchants ORDER BY created_at LIMIT 1")
        live = await tenants.of_merchant(connection, shop, "live")
        account = await connection.fetchval(
            "SELECT w.account FROM wallets w JOIN customers c ON c.id = w.customer_id "
            "WHERE c.vpa = 'aisha'"
        )
    return live, Payer(account, "live")


async def pay(dsn: str, reference: str, amount: int = 100) -> None:
    """One more payment of the books' shop."""
    live, payer = await _shop_and_payer(dsn)
    runner = BatchRunner(dsn, ORIGIN)
    [made] = await runner.run([rules.CreatePayment(live, rules.PaymentDraft(reference, amount))], 1)
    await runner.run([rules.PayPayment(live, made.id, payer)], 1)
    await runner.close()


async def close_till(dsn: str) -> None:
    """Two closings of a till of the books' shop, with a refund in the second."""
    live, payer = await _shop_and_payer(dsn)
    runner = BatchRunner(dsn, ORIGIN)
    draft = rules.PaymentDraft("sale", 10_000, terminal_label="1")
    [made] = await runner.run([rules.CreatePayment(live, draft)], 1)
    movements: list[Any] = [
        rules.PayPayment(live, made.id, payer),
        RefundPayment(live, made.id, ANYBODY, 100),
    ]
    for movement in movements:
        await runner.run([movement], 1)
        [closing] = await runner.run([CloseTill(live, "1", ANYBODY, "Counted")], 1)
        assert not isinstance(closing, Refusal)
    await runner.close()
