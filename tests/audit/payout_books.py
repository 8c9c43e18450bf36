"""Books with payouts in every state, money from the bank, holds, corrections and a sweep."""

from datetime import UTC, date, datetime

from laari.rules.banking.bank_lines import ImportLine, SignFloat
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.manual_matches import MatchLine
from laari.rules.banking.merchant_money import SweepFees
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.banking.payout_runs import AnswerPayout, CancelPayout, JoinRun
from tests import shops
from tests.actors import OPERATOR
from tests.store.payout_books import Shop, a_shop, bank_account

TODAY = date(2026, 11, 18)
SIGNED = date(2026, 11, 17)


async def write_payouts(dsn: str) -> None:
    async with a_shop(dsn) as shop:
        await bank_account(shop)
        await bank_account(shop, "99887766")
        await shops.set_terms(shop.connection, shop.tenant.id, OPERATOR, fee=50, minimum=10)
        await shops.set_holiday(shop.connection, TODAY, "Republic Day", OPERATOR)
        await shop.pay(100_000)
        await shop.funds("hold", 7_000)
        await shop.funds("release", 2_000)
        await shop.funds("merchant_adjustment", -300)
        first = await shop.payout()
        assert await shop.run(CancelPayout(OPERATOR, first.id))
        run = await shop.open_run()
        second = await shop.payout(datetime.now(UTC), run_id=run.id)
        await shop.send(run.id, most=40_000)
        for action, reference in (("settle", "LP000001R0001"), ("return", "LP000001R0002")):
            command = AnswerPayout(OPERATOR, second.id, action, reference)
            assert await shop.run(command)
        await shop.pay(4_000)
        await shop.payout()
        await _withdraw(shop)
        await _import(shop)
        assert await shop.run(SweepFees(OPERATOR, "live", 10))
        assert await shop.run(MatchLine(OPERATOR, "FT9", ("sweep", "1")))
        assert await shop.run(SignFloat(OPERATOR, SIGNED, 1, 1, None))


async def _withdraw(shop: Shop) -> None:
    """One waits, one is cancelled, and the bank has returned a part of the third."""
    await bank_account(shop, "55667788", of_wallet=True)
    for amount in (1_100, 1_200):
        waiting = await shop.withdraw(amount)
    assert await shop.run(CancelPayout(OPERATOR, waiting.id))
    run, sent = await shop.open_run(), await shop.withdraw(1_300)
    assert await shop.run(JoinRun(OPERATOR, sent.id, run.id))
    await shop.send(run.id, most=1_000)
    for action, reference in (("settle", "LP000002R0001"), ("return", "LP000002R0002")):
        assert await shop.run(AnswerPayout(OPERATOR, sent.id, action, reference))


async def _import(shop: Shop) -> None:
    texts = {
        "FT1": (f"For {shop.payer.account}", 500),
        "FT2": ("LP000001R0003", -13_650),
        "FT3": ("Nobody", 70),
        "FT4": ("Somebody", 80),
        "FT5": ("Charges", -5),
        "FT6": ("Charges of the month", -6),
        "FT7": ("By mistake", 90),
        "FT8": ("Sent back", -90),
        "FT9": ("Fees", -10),
    }
    lines = [
        StatementLine(number, TODAY, reference, text, amount, None)
        for number, (reference, (text, amount)) in enumerate(texts.items(), 2)
    ]
    uses = {line.reference: (await shop.run(ImportLine(OPERATOR, line))).line.use for line in lines}
    assert (uses["FT1"], uses["FT2"]) == ("topup", "settled")
    assert await shop.run(AssignLine(OPERATOR, "FT4", shop.payer.account))
    assert await shop.run(ChargeLine(OPERATOR, "FT6"))
    assert await shop.run(SendLineBack(OPERATOR, "FT7"))
    matched = await shop.run(MatchLine(OPERATOR, "FT8", ("sent_back", "FT7")))
    assert matched.use == "matched", matched
