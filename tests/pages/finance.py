"""Live merchants with payments of yesterday, for the operator's pages about money."""

import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from laari.rules.actors import Payer
from laari.rules.payments import payments
from laari.rules.records.tenants import Tenant
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.money import balances
from tests.bank_accounts import enter
from tests.pages.people import new_customer
from tests.serving import Merchant, Service

HEADER = "date,reference,description,debit,credit,balance\n"


async def paid_shop(
    service: Service, amount: int, *, with_bank: bool = True, fee_bps: int = 0, **given: Any
) -> Merchant:
    """A live merchant that was paid this amount a day ago."""
    shop = service.merchant(mode="live", fee_bps=fee_bps, **given)
    async with connection_to(service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, shop.id, "live")
        if with_bank:
            await enter(connection, tenant.id)
    await take(service, tenant, amount)
    return shop


async def take(service: Service, tenant: Tenant, amount: int) -> None:
    """A payment of a day ago."""
    payer = tenant.sandbox_account
    if tenant.mode == "live":
        payer = (await new_customer(service, balance=amount, tier="business")).account
    runner = BatchRunner(
        service.dsn, service.origin, clock=lambda: datetime.now(UTC) - timedelta(days=1)
    )
    draft = payments.PaymentDraft(secrets.token_hex(8), amount)
    [made] = await runner.run([payments.CreatePayment(tenant, draft)], 1.0)
    payer_of = Payer(payer, tenant.mode)
    [paid] = await runner.run([payments.PayPayment(tenant, made.id, payer_of)], 1.0)
    assert paid.status == "paid"
    await runner.close()


async def balance_of(shop: Merchant) -> balances.Balance:
    async with connection_to(shop.service.dsn) as connection:
        found = (await balances.of_merchant(connection, shop.id))["live"]
    assert found is not None
    return found


def seen_in(page: str) -> dict[str, str]:
    """The fields of the form that approves a run: what the person sees on this page."""
    fields = re.findall(r'name="(total|content)" value="([^"]+)"', page)
    assert [name for name, _ in fields] == ["total", "content"]
    return dict(fields)
