"""A freeze against many charges at once: none succeeds after it is acknowledged."""

import asyncio

import pytest

from laari.rules.actors import Payer
from laari.rules.banking.wallet_controls import FreezeWallet, UnfreezeWallet
from laari.rules.payments import authorizations, charges
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.records.wallets import Wallet
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.actors import OPERATOR
from tests.making import make_customer, make_merchant

CHARGES = 64
ROUNDS = 5
PROCESSES = 4

pytestmark = pytest.mark.ci


async def test_nothing_is_charged_after_a_freeze_is_acknowledged(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        shop = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="live")
        payer = await make_customer(
            connection, OPERATOR, name="A", mode="live", tier="business", balance=10**9
        )
        live = await tenants.of_merchant(connection, shop.merchant.id, "live")
    runners = [BatchRunner(dsn, "http://laari.test") for _ in range(PROCESSES)]
    spines = [Spine(runner.run) for runner in runners]
    for spine in spines:
        spine.start()
    try:
        for round_number in range(ROUNDS):
            await _race(spines, live, payer.account, round_number)
    finally:
        for spine, runner in zip(spines, runners, strict=True):
            await spine.close()
            await runner.close()


async def _race(spines: list[Spine], live: Tenant, account: int, round_number: int) -> None:
    first = spines[0]
    draft = authorizations.AuthorizationDraft(f"auth {round_number}", "Box")
    granted = await first.submit(authorizations.CreateAuthorization(live, draft))
    assert not isinstance(granted, Refusal)
    await first.submit(
        authorizations.ApproveAuthorization(live, granted.id, Payer(account, "live"))
    )
    acknowledged = asyncio.Event()
    late: list[object] = []

    async def charge(number: int) -> object:
        # Half of them are sent at once, the others only after the freeze.
        if number % 2:
            await acknowledged.wait()
        wanted = charges.PaymentDraft(f"r{round_number} {number}", 100)
        command = charges.ChargeAuthorization(live, granted.id, wanted)
        outcome = await spines[number % PROCESSES].submit(command)
        if number % 2:
            late.append(outcome)
        return outcome

    async def freeze() -> None:
        outcome = await spines[1].submit(FreezeWallet(OPERATOR, account, "Lost phone"))
        assert isinstance(outcome, Wallet)
        acknowledged.set()

    outcomes, _ = await asyncio.gather(
        asyncio.gather(*(charge(number) for number in range(CHARGES))), freeze()
    )
    assert len(late) == CHARGES // 2
    assert not any(isinstance(outcome, Payment) for outcome in late)
    codes = {outcome.code for outcome in outcomes if isinstance(outcome, Refusal)}
    assert codes <= {"wallet_limit_exceeded", "payment_in_progress"}
    thawed = await first.submit(UnfreezeWallet(OPERATOR, account, "Found"))
    assert isinstance(thawed, Wallet)
