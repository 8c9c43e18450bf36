"""One finance person tries to take money out by every command, alone and with help."""

import asyncio
from datetime import timedelta

import pytest

from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
from laari.store.batch.runner import BatchRunner
from tests.actors import OPERATOR
from tests.cli.terminals import Clerk, as_user, typed
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture
from tests.cli.test_payouts import new_shop, pay
from tests.cli.test_wallets import new_account, query
from tests.days import yesterday

LIMIT = "100000"


@pytest.fixture(autouse=True)
def insider(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system user with the name of an operator, who pretends to be somebody else."""
    as_user(monkeypatch, "ann@laari.test")
    monkeypatch.setenv("LOGNAME", "bea@laari.test")
    monkeypatch.setenv("SUDO_USER", "bea@laari.test")


def receipt(dsn: str, reference: str, laari: int) -> None:  # noqa: F811
    async def book() -> None:
        runner = BatchRunner(dsn, "http://laari.test")
        line = StatementLine(2, yesterday(), reference, "Invented", laari, None)
        await runner.run([ImportLine(OPERATOR, line)], 1.0)
        await runner.close()

    asyncio.run(book())


def test_one_person_moves_nothing_above_the_limit_and_two_do(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account, payer = new_account(laari), new_account(laari, 50_000, name="Payer")
    shop = new_shop(laari)
    pay(dsn, shop, payer, 30_000, ago=timedelta(days=1))
    paid = f"pay_{query(dsn, 'SELECT id FROM payments').hex}"
    for reference, amount in (("FT1", 9_000_000), ("FT2", 500), ("FT3", -700)):
        receipt(dsn, reference, amount)
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", LIMIT)
    assert laari("wallet", "topup", account, LIMIT, "--json").json["balance_after"] == 100_000
    because = ("--reason", "x")
    assert laari("merchant", "hold", shop, "20000", *because).status == 0
    stopped = [
        *[("wallet", "topup", account, LIMIT)] * 4,
        ("wallet", "adjust", account, "1", *because),
        ("merchant", "adjust", shop, "50000000", *because),
        ("merchant", "release", shop, "20000", *because),
        ("payment", "refund", paid, "--amount", "5000", "--reason", "duplicate"),
        ("bank", "assign", "FT1", account),
        ("bank", "return", "FT2"),
        ("bank", "charge", "FT3"),
        ("wallet", "bank", account, "--holder", "Ben", "--bank", "BML", "--number", "1111"),
    ]
    for command in stopped:
        ended = laari(*command)
        assert (ended.status, "a second person has to confirm this" in ended.err) == (0, True)
    opening = laari("customer", "create", "Cay", "--balance", "1")
    assert (opening.status, "needs a second person" in opening.err) == (1, True)
    balance = f"SELECT balance FROM wallets WHERE account = {account}"
    assert query(dsn, balance) == 100_000
    assert query(dsn, "SELECT count(*) FROM refunds") == 0
    assert laari("wallet", "bank", account, "--json").json == []

    ann, bea = Clerk(dsn, "ann@laari.test"), Clerk(dsn, "bea@laari.test")
    waiting = [each["movement_id"] for each in laari("movement", "waiting", "--json").json]
    assert len(waiting) == len(stopped)
    typed(monkeypatch)
    assert "use --operator EMAIL to log in" in laari("movement", "confirm", waiting[0]).err
    own = laari("movement", "confirm", waiting[0], *ann.type_secrets(monkeypatch))
    assert "Another person has to confirm a movement you asked for." in own.err
    assert query(dsn, balance) == 100_000

    dee = Clerk(dsn, "dee@laari.test")
    for number, movement in enumerate(waiting):
        second = bea if number < 9 else dee  # each has ten codes
        done = laari("movement", "confirm", movement, *second.type_secrets(monkeypatch), "--json")
        assert done.json["status"] == "done"
        assert done.json["requested_by"] == "command_line ann@laari.test"
    assert query(dsn, balance) == 500_001 + 9_000_000
    [refund] = laari("payment", "show", paid, "--json").json["refunds"]
    assert (refund["amount"], refund["reason"]) == (5_000, "duplicate")
    [entered] = laari("wallet", "bank", account, "--json").json
    assert (entered["holder"], entered["entered_by"]) == ("Ben", "command_line ann@laari.test")
    assert laari("audit", "--json").json["ok"] is True


def test_one_person_sends_nothing_to_the_bank_and_two_do(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop, payer = new_shop(laari), new_account(laari, 50_000)
    pay(dsn, shop, payer, 30_000, ago=timedelta(days=1))
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", "0")
    ann, bea = Clerk(dsn, "ann@laari.test"), Clerk(dsn, "bea@laari.test")
    assert laari("payout", "run", "--day", str(yesterday())).status == 0
    approve = ("payout", "approve", "1", "--total", "30000")
    typed(monkeypatch)
    assert "use --operator EMAIL to log in" in laari(*approve).err
    assert "run that you opened" in laari(*approve, *ann.type_secrets(monkeypatch)).err
    assert laari("payout", "file", "1").status == 1
    assert laari(*approve, *bea.type_secrets(monkeypatch)).status == 0
    assert laari("payout", "file", "1").status == 0

    returned = "SELECT count(*) FROM transfers WHERE kind = 'payout_returned'"
    invented = laari("payout", "return", "LP000001R0001")
    assert "a second person has to confirm this" in invented.err
    assert query(dsn, returned) == 0
    [movement] = laari("movement", "waiting", "--json").json
    confirm = ("movement", "confirm", movement["movement_id"])
    assert laari(*confirm, *ann.type_secrets(monkeypatch)).status == 1
    assert laari(*confirm, *bea.type_secrets(monkeypatch)).status == 0
    assert query(dsn, returned) == 1
    assert laari("audit", "--json").json["ok"] is True
