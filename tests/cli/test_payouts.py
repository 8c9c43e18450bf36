"""A finance day on the command line: a run with one return, an import, and a sign-off."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from laari.cli.terminal import declared, operation
from laari.errors import LaariError
from laari.rules.actors import Payer
from laari.rules.calendar import local_day
from laari.rules.payments import payments
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from tests.bank_accounts import enter
from tests.cli.test_operator import Ended, Laari, laari  # noqa: F401  # a fixture
from tests.cli.test_wallets import new_account, query
from tests.days import yesterday

pytestmark = pytest.mark.ci

BANK = ("--holder", "Seagull Cafe", "--bank", "BML", "--number", "7730000012345")


def new_shop(laari: Laari, name: str = "Seagull", *, with_bank: bool = True) -> str:  # noqa: F811
    made = laari("merchant", "create", name, "--mode", "live", "--json").json
    if with_bank:
        asyncio.run(_enter_bank(made["merchant_id"]))
    return str(made["merchant_id"])


async def _enter_bank(merchant_id: str) -> None:
    async with connection_to(os.environ["LAARI_DATABASE_URL"]) as connection:
        tenant = await tenants.of_merchant(connection, merchant_id, "live")
        await enter(connection, tenant.id)


async def _enter_own_bank(account: str) -> None:
    async with connection_to(os.environ["LAARI_DATABASE_URL"]) as connection:
        await enter(connection, int(account), "7730000000001", holder="Aisha")


def pay(dsn: str, merchant: str, account: str, amount: int, *, ago: timedelta) -> None:
    """A payment in the past, as if it had been made then."""

    async def run() -> None:
        runner = BatchRunner(dsn, "http://laari.test", clock=lambda: datetime.now(UTC) - ago)
        async with connection_to(dsn) as connection:
            tenant = await tenants.of_merchant(connection, merchant, "live")
        draft = payments.PaymentDraft(f"{merchant} {amount} {ago}", amount)
        [made] = await runner.run([payments.CreatePayment(tenant, draft)], 1.0)
        payer = Payer(int(account), "live")
        [paid] = await runner.run([payments.PayPayment(tenant, made.id, payer)], 1.0)
        assert paid.status == "paid"
        await runner.close()

    asyncio.run(run())


def pay_in_sandbox(dsn: str, merchant: str, amount: int) -> None:
    async def run() -> None:
        runner = BatchRunner(dsn, "http://laari.test")
        async with connection_to(dsn) as connection:
            tenant = await tenants.of_merchant(connection, merchant, "sandbox")
        draft = payments.PaymentDraft(f"{merchant} {amount}", amount)
        [made] = await runner.run([payments.CreatePayment(tenant, draft)], 1.0)
        payer = Payer(tenant.sandbox_account, "sandbox")
        [paid] = await runner.run([payments.PayPayment(tenant, made.id, payer)], 1.0)
        assert paid.status == "paid"
        await runner.close()

    asyncio.run(run())


def as_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another person at the terminal."""
    monkeypatch.setattr(operation, "system_user", lambda: "second")


def test_a_finance_day(  # noqa: PLR0915  # one day from morning to evening
    laari: Laari,  # noqa: F811
    dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LAARI_PAYOUT_APPROVAL_ABOVE", "1000")
    account = new_account(laari, 0)
    assert laari("wallet", "topup", account, "100000", "--slip", "FT0", "--json").status == 0
    first, second, third = (
        new_shop(laari, "First"),
        new_shop(laari, "Second"),
        new_shop(laari, "Third", with_bank=False),
    )
    for shop, amount in ((first, 30_000), (second, 20_000), (third, 5_000)):
        pay(dsn, shop, account, amount, ago=timedelta(days=1))
    pay(dsn, first, account, 1_000, ago=timedelta())  # of today

    run = ("payout", "run", "--day", str(yesterday()), "--json")
    seen = laari(*run, "--dry-run").json
    assert (seen["count"], seen["total"]) == (2, 50_000)
    assert [each["reason"] for each in seen["not_paid"]] == ["There is no bank account."]
    assert laari("payout", "runs", "--json").json == []
    made = laari(*run).json
    assert (made["run"], made["total"], made["status"]) == (1, 50_000, "requested")
    again = laari(*run).json
    assert (again["run"], again["count"], again["total"]) == (1, 2, 50_000)

    own = laari("payout", "approve", "1", "--json")
    assert "another person has to approve" in own.err
    as_second(monkeypatch)
    early = laari("payout", "file", "1", "--json")
    assert "The run is requested, not approved." in early.err
    unanswered = laari("payout", "settle", "1", "--json")
    assert "Run 1 is requested: no order waits for an answer" in unanswered.err
    assert laari("payout", "approve", "1", "--json").json["status"] == "approved"
    out = tmp_path / "run.csv"
    file = laari("payout", "file", "1", "--out", str(out), "--json").json
    assert (file["orders"], file["total"]) == (2, 50_000)
    assert "exists already" in laari("payout", "file", "1", "--out", str(out)).err
    missing = out.parent / "missing" / "file.csv"
    refused = laari("payout", "file", "1", "--out", str(missing)).err
    assert refused == f"laari: {missing} cannot be written: No such file or directory\n"
    copy = tmp_path / "copy.csv"
    assert (
        laari("payout", "file", "1", "--out", str(copy), "--json").json["digest"] == file["digest"]
    )
    assert copy.read_bytes() == out.read_bytes()
    assert "The payout is sent." in laari("payout", "cancel", made["payouts"][0]["id"]).err

    statement = tmp_path / "statement.csv"
    day = local_day(datetime.now(UTC))
    orders = laari("payout", "show", "1", "--json").json["orders"]
    larger, smaller = sorted(orders, key=lambda each: -each["amount"])
    statement.write_text(
        "date,reference,description,debit,credit,balance\n"
        f"{day},FT0,Opening transfer {account},,1000.00,1000.00\n"  # entered by hand before
        f"{day},FT1,Payroll {larger['reference']},300.00,,700.00\n"
        f"{day},FT2,Returned {smaller['reference']},,200.00,900.00\n"
        f"{day},FT3,Aisha {account},,50.00,950.00\n"
        f"{day},FT4,No idea,,7.00,957.00\n"
        f"{day},FT5,Charges,2.00,,955.00\n"
    )
    load = ("bank", "import", str(statement), "--json")
    expected = {"topup": 2, "receipt": 1, "settled": 1, "returned": 1, "none": 1}
    seen = laari(*load, "--dry-run").json
    assert {use: seen[use] for use in expected} == expected
    assert laari("bank", "lines", "--json").json == []
    booked = laari(*load).json
    assert {use: booked[use] for use in expected} == expected
    repeated = laari(*load).json
    assert (repeated["lines"], repeated["new"]) == (6, 0)
    statuses = {
        each["merchant"]: each["status"]
        for each in laari("payout", "show", "1", "--json").json["payouts"]
    }
    assert statuses == {"First": "settled", "Second": "returned"}
    waiting = laari("bank", "lines", "--open", "--json").json
    assert [each["reference"] for each in waiting] == ["FT5", "FT4"]
    assigned = laari("bank", "assign", "FT4", account, "--json").json
    assert (assigned["use"], assigned["account"]) == ("assigned", account)
    assert "does not wait" in laari("bank", "return", "FT4").err

    figures = laari("float", "--day", str(day), "--json").json
    assert figures["closing"] == 100_000 - 30_000 + 20_000 + 5_000 + 700
    assert (figures["statement_closing"], figures["unused_lines"]) == (95_500, -200)
    assert (figures["without_a_line"], figures["gaps"]) == (0, [])
    assert figures["signed_by"] is None
    assert query(dsn, "SELECT count(*) FROM float_signoffs") == 0
    assert laari("audit", "--json").status == 0, laari("audit").out


@pytest.mark.parametrize("after", range(5))
def test_an_interrupted_run_is_continued_and_pays_once(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
) -> None:
    """The command ends before each step of the run in turn."""
    account = new_account(laari, 0)
    laari("wallet", "topup", account, "100000", "--json")
    for number in range(3):
        shop = new_shop(laari, f"Shop {number}")
        pay(dsn, shop, account, 1_000 + number, ago=timedelta(days=1))
    whole, begun = declared.deciding, []

    @asynccontextmanager
    async def failing(service: Any) -> AsyncIterator[Any]:
        async with whole(service) as decide:

            async def once(command: Any) -> Any:
                if len(begun) == after:
                    raise LaariError("the power failed")
                begun.append(command)
                return await decide(command)

            yield once

    run = ("payout", "run", "--day", str(yesterday()), "--json")
    monkeypatch.setattr(declared, "deciding", failing)
    assert (laari(*run).status == 0) is (after >= 4)
    monkeypatch.setattr(declared, "deciding", whole)
    made = laari(*run).json
    if "run" not in made:
        made = laari("payout", "show", "1", "--json").json
    assert (made["run"], made["total"], len(made["payouts"])) == (1, 3_003, 3)
    assert query(dsn, "SELECT count(*) FROM payouts") == 3
    assert laari("audit", "--json").status == 0


def test_terms_holidays_and_funds(laari: Laari, dsn: str) -> None:  # noqa: F811
    shop, account = new_shop(laari), new_account(laari, 50_000)
    pay(dsn, shop, account, 10_000, ago=timedelta())
    held = laari("merchant", "hold", shop, "4000", "--reason", "Dispute", "--json").json
    assert (held["available"], held["held"]) == (6_000, 4_000)
    assert (
        "Only MVR 60.00 are available."
        in laari("merchant", "hold", shop, "6001", "--reason", "x").err
    )
    assert (
        "Only MVR 40.00 are held."
        in laari("merchant", "release", shop, "4001", "--reason", "x").err
    )
    released = laari("merchant", "release", shop, "4000", "--reason", "Solved", "--json").json
    assert (released["available"], released["held"]) == (10_000, 0)
    below = ("merchant", "adjust", shop, "-10001", "--reason", "Wrong")
    assert "Only MVR 100.00 are available." in laari(*below).err
    assert laari(*below, "--below-zero", "--json").json["available"] == -1
    terms = laari("payout", "terms", shop, "--fee", "50", "--pause", "Fraud", "--json").json
    assert (terms["fee"], terms["paused_reason"]) == (50, "Fraud")
    assert laari("payout", "terms", shop, "--resume", "--json").json["paused_reason"] is None
    assert "negative" in laari("payout", "request", shop).err
    named = laari("payout", "holidays", "--add", "2027-01-01", "--name", "New Year", "--json").json
    assert named == [{"day": "2027-01-01", "name": "New Year"}]
    assert laari("payout", "holidays", "--remove", "2027-01-01", "--json").json == []
    assert "is not a holiday" in laari("payout", "holidays", "--remove", "2027-01-01").err
    entries = query(dsn, "SELECT count(*) FROM journal WHERE action ~ '^(merchant|payout_terms)'")
    assert entries >= 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{yesterday()},FT9,x,,1.001,", "line 3: the credit '1.001' is not an amount"),
        (f"{yesterday()},FT8,y,,2.00,", "line 3: line 2 has the same reference, 'FT8'"),
        ("9999-12-31,FT9,x,,1.00,", "line 3: the date '9999-12-31' is more than a week ahead"),
    ],
)
def test_a_wrong_statement_changes_nothing(
    laari: Laari,  # noqa: F811
    dsn: str,
    tmp_path: Path,
    line: str,
    message: str,
) -> None:
    file = tmp_path / "statement.csv"
    head = "date,reference,description,debit,credit,balance\n"
    head += f"{yesterday()},FT8,x,,1.00,\n"
    file.write_text(f"{head}{line}\n")
    assert message in laari("bank", "import", str(file)).err
    assert query(dsn, "SELECT count(*) FROM bank_lines") == 0
    file.write_text(head)
    assert laari("bank", "import", str(file), "--json").json["receipt"] == 1
    file.write_text(head.replace("1.00", "1.50"))
    assert laari("bank", "import", str(file), "--dry-run", "--json").json["conflict"] == 1
    assert "imported before with other content" in laari("bank", "import", str(file)).err
    assert laari("bank", "return", "FT8", "--json").json["use"] == "sent_back"
    assert laari("audit", "--json").status == 0


def test_the_balances_of_statements_have_no_gap(
    laari: Laari,  # noqa: F811
    dsn: str,
    tmp_path: Path,
) -> None:
    def load(*lines: str, dry_run: bool = False) -> Ended:
        file = tmp_path / "statement.csv"
        file.write_text("\n".join(["date,reference,description,debit,credit,balance", *lines]))
        return laari("bank", "import", str(file), "--json", *(("--dry-run",) if dry_run else ()))

    earlier = yesterday() - timedelta(days=2)
    first = f"{earlier},FT1,x,,1.00,11.00"
    assert load(first, f"{earlier},FT2,x,,2.00,13.00").json["gaps"] == []
    wrong = load(f"{yesterday()},FT4,x,,4.00,21.00", f"{yesterday()},FT5,x,,5.00,27.00")
    assert "line 3: the balance is MVR 27.00, but MVR 26.00 follows" in wrong.err
    changed = load(first.replace("11.00", "12.00"))
    assert "Line 2: The reference was imported before with other content" in changed.err
    assert "balance MVR 11.00. Nothing was booked." in changed.err
    assert query(dsn, "SELECT count(*) FROM bank_lines") == 2

    gap = [{"day": str(yesterday()), "from": 1_300, "to": 1_700}]
    late = f"{yesterday()},FT4,x,,4.00,21.00"
    for dry_run in (True, False):
        assert load(late, dry_run=dry_run).json["gaps"] == gap
    shown = laari("float", "--day", str(yesterday()), "--json").json
    assert (shown["gaps"], shown["statement_closing"]) == (gap, 2_100)
    missing = f"{yesterday() - timedelta(days=1)},FT3,x,,4.00,17.00"
    assert load(late, missing).json["gaps"] == []  # newest first
    assert laari("float", "--day", str(yesterday()), "--json").json["gaps"] == []


def test_a_conflict_with_a_slip_books_no_line(
    laari: Laari,  # noqa: F811
    dsn: str,
    tmp_path: Path,
) -> None:
    account = new_account(laari, 0)
    assert laari("wallet", "topup", account, "500", "--slip", "FT2", "--json").status == 0
    file = tmp_path / "statement.csv"
    file.write_text(
        "date,reference,description,debit,credit,balance\n"
        f"{yesterday()},FT1,Aisha {account},,1.00,\n{yesterday()},FT2,Aisha {account},,6.00,\n"
    )
    seen = laari("bank", "import", str(file), "--dry-run", "--json").json
    assert (seen["new"], seen["topup"], seen["conflict"]) == (2, 1, 1)
    assert [each["use"] for each in seen["booked"]] == ["topup", "conflict"]
    told = f"The slip was already used to top up MVR 5.00 to account {account}"
    assert told in seen["booked"][1]["conflict"]
    refused = laari("bank", "import", str(file)).err
    assert f"Line 3: {told}" in refused
    assert "Nothing was booked." in refused
    assert query(dsn, "SELECT count(*) FROM bank_lines") == 0
    assert laari("wallet", "history", account, "--json").json[0]["amount"] == 500


def test_money_out_is_matched_with_what_the_books_have(
    laari: Laari,  # noqa: F811
    dsn: str,
    tmp_path: Path,
) -> None:
    shop, account = new_shop(laari), new_account(laari, 50_000)
    laari("merchant", "update", shop, "--fee-bps", "1000", "--json")
    pay(dsn, shop, account, 10_000, ago=timedelta())
    file = tmp_path / "statement.csv"
    file.write_text(
        "date,reference,description,debit,credit,balance\n"
        f"{yesterday()},FT1,No idea,,7.00,\n"
        f"{yesterday()},FT2,Back,7.00,,\n"
        f"{yesterday()},FT3,Fees,7.00,,\n"
        f"{yesterday()},FT4,Charges,2.00,,\n"
    )
    assert laari("bank", "import", str(file), "--json").json["none"] == 3
    assert "the books have no such movement" in laari("bank", "match", "FT2").err
    assert laari("bank", "return", "FT1").status == 0
    assert laari("fees", "sweep", "700").status == 0
    today = ("float", "--day", str(yesterday() + timedelta(days=1)), "--json")
    closing = laari(*today).json["closing"]
    assert "use one of: --sweep 1, --returned FT1" in laari("bank", "match", "FT2").err
    assert "no line has the reference FT9" in laari("bank", "match", "FT9").err
    assert "use one of" in laari("bank", "match", "FT2", "--sweep", "1", "--returned", "FT1").err
    assert "The line is of MVR 2.00" in laari("bank", "match", "FT4", "--sweep", "1").err
    matched = laari("bank", "match", "FT2", "--returned", "FT1", "--json").json
    assert (matched["reference"], matched["use"]) == ("FT2", "matched")
    assert "with the line FT2" in laari("bank", "match", "FT3", "--returned", "FT1").err
    assert "its use is none" in laari("bank", "unmatch", "FT3").err
    assert laari("bank", "match", "FT3", "--sweep", "1", "--json").json["use"] == "matched"
    assert laari("bank", "unmatch", "FT3", "--json").json["use"] == "none"
    assert laari("bank", "match", "FT3", "--sweep", "1", "--json").json["use"] == "matched"
    waiting = laari("bank", "lines", "--open", "--json").json
    assert [each["reference"] for each in waiting] == ["FT4"]
    assert laari(*today).json["closing"] == closing
    assert laari("audit", "--json").status == 0, laari("audit").out


def test_fees_are_swept_once(laari: Laari, dsn: str) -> None:  # noqa: F811
    shop, account = new_shop(laari), new_account(laari, 50_000)
    laari("merchant", "update", shop, "--fee-bps", "1000", "--json")
    pay(dsn, shop, account, 10_000, ago=timedelta())
    assert laari("fees", "show", "--json").json["fees"] == 1_000
    assert "The fees are MVR 10.00." in laari("fees", "sweep", "1001").err
    swept = laari("fees", "sweep", "600", "--json").json
    assert (swept["sweep"], swept["fees_left"]) == (1, 400)
    assert "The fees are MVR 4.00." in laari("fees", "sweep", "401").err
    assert laari("audit", "--json").status == 0


def test_a_requested_payout_of_a_paused_merchant_is_held(laari: Laari, dsn: str) -> None:  # noqa: F811
    first, second = new_shop(laari, "First"), new_shop(laari, "Second")
    account = new_account(laari, 50_000)
    for shop, amount in ((first, 7_000), (second, 3_000)):
        pay(dsn, shop, account, amount, ago=timedelta(days=1))
        assert laari("payout", "request", shop).status == 0
    assert laari("payout", "terms", first, "--pause", "Fraud").status == 0
    run = ("payout", "run", "--day", str(yesterday()), "--json")
    for form in (("--dry-run",), ()):
        seen = laari(*run, *form).json
        assert (seen["count"], seen["total"]) == (1, 3_000)
        [held] = seen["held"]
        assert (held["merchant"], held["amount"]) == ("First", 7_000)
        assert held["reason"] == "Payouts are paused: Fraud."
    assert seen["refused"] == []
    assert laari("payout", "terms", first, "--resume").status == 0
    seen = laari(*run).json
    assert (seen["held"], seen["total"]) == ([], 10_000)


def test_payouts_of_both_modes_are_listed(laari: Laari, dsn: str) -> None:  # noqa: F811
    shop, account = new_shop(laari), new_account(laari, 50_000)
    pay(dsn, shop, account, 10_000, ago=timedelta(days=1))
    asked = laari("payout", "request", shop, "--json").json
    tried = laari("merchant", "create", "Sandbox", "--json").json["merchant_id"]
    pay_in_sandbox(dsn, tried, 700)
    terms = ("--mode", "sandbox", "--json")
    assert laari("merchant", "bank", tried, *BANK, "--mode", "sandbox").status == 0
    sandbox = laari("payout", "request", tried, *terms).json

    found = laari("payout", "list", "--json").json
    assert [(each["id"], each["mode"], each["status"]) for each in found] == [
        (sandbox["id"], "sandbox", "sent"),
        (asked["id"], "live", "requested"),
    ]
    assert [each["run"] for each in found] == [None, None]
    only = laari("payout", "list", "--mode", "live", "--status", "requested", "--json").json
    assert [each["id"] for each in only] == [asked["id"]]
    assert laari("payout", "list", "--status", "cancelled", "--json").json == []
    shown = laari("payout", "show", sandbox["id"], "--json").json
    assert (shown["merchant_id"], shown["amount"], shown["number"]) == (tried, 700, 1)
    assert [each["amount"] for each in shown["orders"]] == [700]

    laari("payout", "run", "--day", str(yesterday()))
    assert laari("payout", "show", asked["id"], "--json").json["run"] == 1
    assert laari("payout", "show", "1", "--json").json["count"] == 1
    assert [each["run"] for each in laari("payout", "runs", "--json").json] == [1]
    assert "no payout has the id po_1" in laari("payout", "show", "po_1").err
    assert "no run has the number 2" in laari("payout", "show", "2").err


def test_a_day_is_signed_off(laari: Laari, dsn: str) -> None:  # noqa: F811
    sign = ("float", "--day", str(yesterday()), "--bank-closing", "7")
    assert "A difference needs a note." in laari(*sign).err
    signed = laari(*sign, "--note", "Bank charges", "--json").json
    assert (signed["difference"], signed["note"]) == (7, "Bank charges")
    assert laari("float", "--day", str(yesterday()), "--json").json["bank_closing"] == 7
    today = str(yesterday() + timedelta(days=1))
    assert "has not ended yet" in laari("float", "--day", today, "--bank-closing", "0").err


def test_withdrawals_and_charges_of_the_bank(laari: Laari, dsn: str, tmp_path: Path) -> None:  # noqa: F811
    account, sandbox = new_account(laari, 50_000), new_account(laari, 50_000, mode="sandbox")
    withdraw = ("wallet", "withdraw", account)
    assert "There is no bank account." in laari(*withdraw, "100").err
    assert laari("wallet", "bank", account, "--holder", "Aisha").status == 1
    assert "4 to 20 digits" in laari("wallet", "bank", account, *BANK[:-1], "7").err
    asyncio.run(_enter_own_bank(account))
    first, added = laari("wallet", "bank", account, *BANK, "--json").json
    assert (first["number"], added["number"]) == ("7730000000001", "7730000012345")
    waits = datetime.fromisoformat(added["effective_at"]) - datetime.now(UTC)
    assert timedelta(hours=47) < waits <= timedelta(hours=48)
    for nobody in (sandbox, "7799999999999"):
        assert laari("wallet", "bank", nobody, *BANK).status == 1
        assert laari("wallet", "withdraw", nobody, "100").status == 1
    assert "At most MVR 500.00" in laari(*withdraw, "50001").err
    for wrong in ("0", "-5", "x"):
        assert laari(*withdraw, wrong).status == 1
    made, other = (laari(*withdraw, amount, "--json").json for amount in ("30000", "4000"))
    assert (made["account"], made["amount"], made["status"]) == (account, 30_000, "requested")
    assert laari("payout", "cancel", other["id"], "--json").json["status"] == "cancelled"
    run = ("payout", "run", "--day", str(yesterday()), "--json")
    seen = laari(*run, "--dry-run").json
    assert (seen["count"], seen["payouts"][0]["account"]) == (1, account)
    customer = query(dsn, f"SELECT customer_id FROM wallets WHERE account = {account}").hex
    freeze = ("customer", "freeze", f"cus_{customer}", "--reason", "Stolen")
    assert laari(*freeze).status == 0
    for form in (("--dry-run",), ()):
        seen = laari(*run, *form).json
        assert (seen["count"], seen["total"]) == (0, 0)
        (held,) = seen["held"]
        assert (held["account"], held["amount"]) == (account, 30_000)
        assert held["reason"] == "The wallet is frozen."
    assert laari("payout", "runs", "--json").json == []
    assert laari("customer", "unfreeze", f"cus_{customer}").status == 0
    assert laari(*run).json["total"] == 30_000
    laari("payout", "approve", "1")
    assert laari("payout", "file", "1", "--json").json["orders"] == 1
    (done,) = laari("payout", "return", "LP000001R0001", "--json").json
    assert (done["account"], done["status"]) == (account, "returned")
    history = laari("wallet", "history", account, "--json").json
    assert [(each["type"], each["amount"]) for each in history[:2]] == [
        ("withdraw", 30_000),
        ("withdraw", 4_000),
    ]

    statement = tmp_path / "statement.csv"
    statement.write_text(
        f"date,reference,description,debit,credit,balance\n{yesterday()},FT5,Charges,2.00,,\n"
    )
    assert laari("bank", "import", str(statement), "--json").json["none"] == 1
    assert laari("bank", "charge", "FT5", "--json").json["use"] == "charge"
    assert "does not wait" in laari("bank", "charge", "FT5").err
    assert laari("bank", "charge", "FT6").status == 1
    assert laari("bank", "lines", "--open", "--json").json == []
    assert laari("audit", "--json").json["ok"] is True
