"""What a live wallet has counted in its periods is right after every payment, whatever the day."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.payments import payments as rules
from laari.store.audit import audit
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.audit.books import MASTER_KEY, ORIGIN
from tests.making import make_customer, make_merchant

# A week begins on Sunday: the 9th of June 2030 is one, and so is the 30th.
DAYS = {
    "a month, a week and a day that differ": ["05-30", "06-03", "06-09", "06-11", "06-11"],
    "a week that begins in the month before": ["06-29", "06-30", "07-01", "07-02"],
    "a server whose clock is behind": ["06-30", "07-02", "07-01", "06-29", "07-02"],
}


@pytest.mark.parametrize("days", DAYS.values(), ids=DAYS)
async def test_a_wallet_that_spends_on_many_days_is_not_accused(dsn: str, days: list[str]) -> None:
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, MASTER_KEY, name="Shop", mode="live")
        payer = await make_customer(
            connection,
            OPERATOR,
            name="Aisha",
            mode="live",
            tier="business",
            balance=1_000_000,
            vpa="aisha",
        )
        live = await tenants.of_merchant(connection, shop.merchant.id, "live")
        runner = BatchRunner(dsn, ORIGIN)
        for place, day in enumerate(days):
            moment = datetime.fromisoformat(f"2030-{day}T07:00:00+00:00")
            offset = int((moment - datetime.now(UTC)).total_seconds())
            then = replace(live, clock_offset_seconds=offset)
            draft = rules.PaymentDraft(f"r{place}", 10**place)  # each sum is of other payments
            [made] = await runner.run([rules.CreatePayment(then, draft)], 1.0)
            [paid] = await runner.run(
                [rules.PayPayment(then, made.id, Payer(payer.account, "live"))], 1.0
            )
            assert paid.status == "paid"
            assert (await audit(connection)).differences == []
        await runner.close()
