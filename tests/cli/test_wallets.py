"""The operator's hand on customers' wallets: top-ups by slip, corrections, tiers and freezing."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg
import pytest

from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.money import MAX_MONEY
from laari.rules.refusals import Refusal
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture

pytestmark = pytest.mark.ci

TRANSACTION = {"tid", "account", "time", "type", "name", "details", "amount", "status", "failure"}


def new_account(laari: Laari, balance: int = 0, name: str = "Aisha", mode: str = "live") -> str:  # noqa: F811
    made = laari("customer", "create", name, "--balance", str(balance), "--mode", mode, "--json")
    return str(made.json["account_number"])


def query(dsn: str, statement: str) -> Any:
    async def ask() -> Any:
        async with connection_to(dsn) as connection:
            return await connection.fetchval(statement)

    return asyncio.run(ask())


def test_an_adjustment_stops_at_zero_unless_it_is_told_otherwise(laari: Laari, dsn: str) -> None:  # noqa: F811
    account = new_account(laari, 5_000)
    adjust = ("wallet", "adjust", account, "--reason", "Wrong slip", "--json")
    for amount in ("-5001", "-99999999999"):
        refused = laari(*adjust, amount)
        assert (refused.status, refused.out) == (1, "")
        assert "MVR 50.00" in refused.err
        assert refused.err.count("\n") == 1
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 5_000
    taken = laari(*adjust, "-5000").json
    assert set(taken) > TRANSACTION
    assert (taken["amount"], taken["details"]) == (-5_000, "Wrong slip")
    assert (taken["holder"], taken["balance_before"], taken["balance_after"]) == ("Aisha", 5_000, 0)
    below = laari(*adjust, "-700", "--below-zero").json
    assert (below["balance_before"], below["balance_after"]) == (0, -700)
    # Up again is always allowed, also where it does not reach zero.
    assert laari(*adjust, "200").json["balance_after"] == -500
    assert laari(*adjust, "-1").status == 1
    for huge in (f"-{MAX_MONEY}", f"{MAX_MONEY + 1}"):
        assert laari(*adjust, huge, "--below-zero").status == 1
    laari("wallet", "topup", account, "501")
    huge_topup = laari("wallet", "topup", account, str(MAX_MONEY))
    assert (huge_topup.status, "too large" in huge_topup.err) == (1, True)
    assert laari("audit", "--json").json["ok"] is True


def test_people_see_the_holder_and_both_balances(laari: Laari) -> None:  # noqa: F811
    account = new_account(laari, 1_000, name="Aishath Ibrahim")
    lines = dict(
        line.split(None, 1)
        for line in laari("wallet", "topup", account, "500").out.splitlines()
        if len(line.split(None, 1)) == 2
    )
    assert lines["holder"] == "Aishath Ibrahim"
    assert (lines["balance_before"], lines["balance_after"]) == ("1000", "1500")


def test_a_bank_slip_brings_its_money_in_once(laari: Laari, dsn: str) -> None:  # noqa: F811
    account, other = new_account(laari), new_account(laari, name="Hassan")
    topup = ("wallet", "topup", account, "5000", "--slip", " BML-7 ", "--json")
    first = laari(*topup).json
    assert (first["slip"], first["repeated"], first["balance_after"]) == ("BML-7", False, 5_000)
    assert first["details"] == "Bank transfer BML-7"
    laari("wallet", "adjust", account, "-100", "--reason", "Fee", "--json")
    again = laari(*topup).json
    assert {name: again[name] for name in TRANSACTION} == {
        name: first[name] for name in TRANSACTION
    }
    assert (again["repeated"], again["balance_before"], again["balance_after"]) == (
        True,
        4_900,
        4_900,
    )
    for arguments in (
        ("wallet", "topup", other, "5000", "--slip", "BML-7"),
        ("wallet", "topup", account, "5001", "--slip", "BML-7"),
    ):
        refused = laari(*arguments, "--json")
        assert (refused.status, refused.out) == (1, "")
        assert "already used" in refused.err
        assert first["tid"] in refused.err
    # Slips are told apart to the letter, and each mode has its own.
    assert laari("wallet", "topup", other, "1", "--slip", "bml-7", "--json").json["amount"] == 1
    sandbox = new_account(laari, mode="sandbox")
    assert laari("wallet", "topup", sandbox, "1", "--slip", "BML-7", "--json").json["amount"] == 1
    assert laari("wallet", "topup", account, "1", "--slip", "-5", "--json").json["slip"] == "-5"
    assert query(dsn, "SELECT sum(balance) FROM wallets WHERE mode = 'live'") == 4_902
    assert laari("audit", "--json").json["ok"] is True


@pytest.mark.parametrize("slip", ["", "  ", "x" * 101, "two\nlines"])
def test_a_slip_that_is_none_is_refused(laari: Laari, dsn: str, slip: str) -> None:  # noqa: F811
    account = new_account(laari)
    refused = laari("wallet", "topup", account, "5", "--slip", slip)
    assert (refused.status, refused.out) == (1, "")
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 0


@pytest.mark.parametrize("accounts", [1, 2], ids=["one wallet", "two wallets"])
def test_a_slip_entered_twice_at_once_is_one_top_up(
    laari: Laari,  # noqa: F811
    dsn: str,
    accounts: int,
) -> None:
    wallets = [int(new_account(laari, name=f"Customer {n}")) for n in range(accounts)]

    def enter(number: int) -> list[Any]:
        """What one process does: its own spine and its own connection."""

        async def submit() -> list[Any]:
            runner = BatchRunner(dsn, "http://laari.test")
            spine = Spine(runner.run)
            spine.start()
            account = wallets[number % accounts]
            outcomes = [
                await spine.submit(
                    MoveMoney(OPERATOR, None, account, "topup", 500, "Cash", slip=f"slip {n}")
                )
                for n in range(10)
            ]
            await spine.close()
            await runner.close()
            return outcomes

        return asyncio.run(submit())

    with ThreadPoolExecutor(4) as pool:
        outcomes = [each for made in pool.map(enter, range(4)) for each in made]
    moved = [each for each in outcomes if not isinstance(each, Refusal) and not each.repeated]
    assert len(moved) == 10
    assert {each.code for each in outcomes if isinstance(each, Refusal)} <= {"conflict"}
    assert (accounts == 1) == (not any(isinstance(each, Refusal) for each in outcomes))
    assert query(dsn, "SELECT sum(balance) FROM wallets") == 5_000
    assert query(dsn, "SELECT count(*) FROM transfers") == 10


def test_a_customer_is_shown_by_id_and_by_account(laari: Laari) -> None:  # noqa: F811
    made = laari(
        "customer",
        "create",
        "Aisha",
        "--mobile",
        "7771234",
        "--email",
        "a@b.mv",
        "--vpa",
        "aisha",
        "--balance",
        "5000",
        "--mode",
        "live",
        "--json",
    ).json
    shown = laari("customer", "show", made["customer_id"], "--json").json
    assert shown == laari("customer", "show", made["account_number"], "--json").json
    assert shown.pop("created_at").endswith("+05:00")
    assert shown == {
        "customer_id": made["customer_id"],
        "account_number": made["account_number"],
        "name": "Aisha",
        "mode": "live",
        "tier": "basic",
        "balance": 5_000,
        "frozen": False,
        "frozen_at": None,
        "frozen_reason": None,
        "frozen_silently": False,
        "mobile": "7771234",
        "email": "a@b.mv",
        "language": "en",
        "vpa": "aisha",
        "merchant_id": None,
        "freezes": [],
    }


@pytest.mark.parametrize(
    "written",
    [
        "7771234",
        "+960 777-1234",
        "a@B.mv",
        "Aisha.I",
        "aisha.i@fp",
        "aisha.i@fahipay",
        "aishath IBRAHIM",
        "ibra",
        " Aishath Ibrahim ",
    ],
)
def test_a_customer_is_shown_by_contact_and_by_name(laari: Laari, written: str) -> None:  # noqa: F811
    made = laari(
        "customer",
        "create",
        "Aishath Ibrahim",
        "--mobile",
        "7771234",
        "--email",
        "a@b.mv",
        "--vpa",
        "aisha.i",
        "--json",
    ).json
    new_account(laari, name="Hassan")
    assert laari("customer", "show", written, "--json").json["customer_id"] == made["customer_id"]


def test_customers_of_one_name_or_contact_are_listed(laari: Laari) -> None:  # noqa: F811
    contact = ("--mobile", "7771234", "--json")
    live = laari("customer", "create", "Ali", "--mode", "live", *contact).json
    other = laari("customer", "create", "ALI", "--mode", "sandbox", *contact).json
    vpa = laari("customer", "create", "Hassan", "--vpa", "ali", "--json").json
    longer = laari("customer", "create", "Alia", "--json").json

    def found(written: str) -> list[str]:
        shown = laari("customer", "show", written, "--json").json
        return [each["customer_id"] for each in shown]

    assert found("7771234") == [other["customer_id"], live["customer_id"]]
    # What fits exactly comes alone; a part of a name is looked for only if nothing does.
    assert found("ali") == [vpa["customer_id"], other["customer_id"], live["customer_id"]]
    assert found("al") == [each["customer_id"] for each in (longer, other, live)]
    assert "Hassan" in laari("customer", "show", "ali").out
    # A change wants to know exactly whom it is about.
    for change in (("set-tier", "ali", "verified"), ("freeze", "7771234", "--reason", "x")):
        assert laari("customer", *change).status == 1


def test_more_customers_than_are_listed_are_told_of(
    laari: Laari,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("laari.cli.people.customers.MOST_MATCHES", 2)
    for _ in range(3):
        new_account(laari)
    shown = laari("customer", "show", "Aisha", "--json")
    assert (shown.status, len(json.loads(shown.out))) == (0, 2)
    assert "more than 2 customers match" in shown.err


def test_a_wallets_history_is_listed_in_pages(laari: Laari) -> None:  # noqa: F811
    account, other = new_account(laari, 5_000), new_account(laari)
    made = [
        laari("wallet", "adjust", account, amount, "--reason", "R", "--json").json["tid"]
        for amount in ("-1", "-2", "-3")
    ]
    history = ("wallet", "history", account, "--json")
    first = laari(*history).json
    assert set(first[0]) == TRANSACTION
    assert [each["amount"] for each in first] == [-3, -2, -1, 5_000]
    assert [each["tid"] for each in first[:3]] == made[::-1]
    assert laari(*history, "--limit", "2").json == first[:2]
    assert laari(*history, "--limit", "2", "--before", first[1]["tid"]).json == first[2:]
    assert laari("wallet", "history", other, "--json").json == []
    foreign = laari("wallet", "history", other, "--before", made[0])
    assert (foreign.status, "no transaction" in foreign.err) == (1, True)


def test_customers_are_listed_newest_first_in_pages(laari: Laari) -> None:  # noqa: F811
    assert laari("customer", "list", "--json").json == []
    for number in range(3):
        new_account(laari, name=f"Live {number}")
    merchant = laari("merchant", "create", "Shop", "--json").json["merchant_id"]

    def names(*options: str) -> list[str]:
        return [found["name"] for found in laari("customer", "list", *options, "--json").json]

    assert names() == ["Sandbox customer", "Live 2", "Live 1", "Live 0"]
    [sandbox] = laari("customer", "list", "--mode", "sandbox", "--json").json
    assert sandbox["merchant_id"] == merchant
    first = laari("customer", "list", "--limit", "2", "--mode", "live", "--json").json
    assert [found["name"] for found in first] == ["Live 2", "Live 1"]
    after = ("--limit", "2", "--mode", "live", "--after", first[-1]["customer_id"])
    assert names(*after) == ["Live 0"]
    laari("customer", "freeze", first[0]["customer_id"], "--reason", "Lost phone")
    assert names("--frozen") == ["Live 2"]


def test_a_tier_is_set(laari: Laari) -> None:  # noqa: F811
    account = new_account(laari)
    assert laari("customer", "set-tier", account, "verified", "--json").json["tier"] == "verified"
    refused = laari("customer", "set-tier", account, "platinum", "--json")
    assert (refused.status, refused.out) == (1, "")
    assert "basic" in refused.err
    assert laari("customer", "show", account, "--json").json["tier"] == "verified"


def test_a_wallet_is_frozen_for_a_reason_and_lifted(laari: Laari) -> None:  # noqa: F811
    account = new_account(laari, 5_000)
    assert laari("customer", "freeze", account, "--json").status != 0
    frozen = laari("customer", "freeze", account, "--reason", "Court order 12", "--json").json
    assert (frozen["frozen"], frozen["frozen_reason"]) == (True, "Court order 12")
    assert frozen["frozen_at"].endswith("+05:00")
    again = laari("customer", "freeze", account, "--reason", "Court order 12", "--json").json
    assert again == frozen
    # The operator may still correct it, in both directions.
    taken = laari("wallet", "adjust", account, "-500", "--reason", "Court", "--json").json
    assert taken["balance_after"] == 4_500
    assert laari("wallet", "topup", account, "100", "--json").json["balance_after"] == 4_600
    assert laari("customer", "show", account, "--json").json["frozen"] is True
    lifted = laari("customer", "unfreeze", account, "--json").json
    assert (lifted["frozen"], lifted["frozen_at"], lifted["frozen_reason"]) == (False, None, None)
    assert laari("customer", "unfreeze", account, "--json").json == lifted


def test_a_freeze_is_changed_only_on_demand(laari: Laari, dsn: str) -> None:  # noqa: F811
    account = new_account(laari)
    freeze = ("customer", "freeze", account, "--json", "--reason")
    assert "The wallet is not frozen." in laari(*freeze, "x", "--change").err
    assert laari(*freeze, "Police", "--silent").status == 0
    since = query(dsn, f"SELECT frozen_at FROM wallets WHERE account = {account}")
    for second in (("Lost phone",), ("Police",), ("Lost phone", "--silent")):
        refused = laari(*freeze, *second)
        assert "The wallet is frozen already, silently: Police." in refused.err
    assert laari("customer", "show", account, "--json").json["frozen_silently"] is True
    changed = laari(*freeze, "Case closed", "--change").json
    assert (changed["frozen_reason"], changed["frozen_silently"]) == ("Case closed", False)
    assert query(dsn, f"SELECT frozen_at FROM wallets WHERE account = {account}") == since
    assert "with a notice to the customer: Case closed." in laari(*freeze, "Other").err
    assert laari(*freeze, "Case closed", "--silent", "--change").json["frozen_silently"] is True
    shown = laari("customer", "show", account, "--json").json
    assert [(each["reason"], each["silent"]) for each in shown["freezes"]] == [
        ("Police", True),
        ("Case closed", False),
        ("Case closed", True),
    ]
    reasons = query(
        dsn, "SELECT string_agg(reason, ', ') FROM journal WHERE action = 'wallet.freeze'"
    )
    assert reasons == "Police, Case closed, Case closed"
    assert laari("audit", "--json").status == 0


def test_every_freeze_is_kept_with_its_reason(laari: Laari) -> None:  # noqa: F811
    account = new_account(laari)
    for options in (("--reason", "Court order 12", "--silent"), ("--reason", "Lost phone")):
        laari("customer", "freeze", account, *options)
        shown = laari("customer", "show", account, "--json").json
        assert shown["frozen_silently"] is ("--silent" in options)
        laari("customer", "unfreeze", account, "--reason", "Order lifted")
    shown = laari("customer", "show", account, "--json").json
    assert (shown["frozen"], shown["frozen_silently"]) == (False, False)
    assert [(each["action"], each["reason"], each["silent"]) for each in shown["freezes"]] == [
        ("frozen", "Court order 12", True),
        ("unfrozen", "Order lifted", False),
        ("frozen", "Lost phone", False),
        ("unfrozen", "Order lifted", False),
    ]


def test_every_freeze_is_kept(laari: Laari, dsn: str) -> None:  # noqa: F811
    account = new_account(laari)
    laari("customer", "unfreeze", account)  # it was not frozen
    for reason in ("Lost phone", "Court order 12"):
        laari("customer", "freeze", account, "--reason", reason)
        laari("customer", "freeze", account, "--reason", "Again")  # it was frozen
        laari("customer", "unfreeze", account)
    laari("customer", "freeze", account, "--reason", "Third")
    shown = laari("customer", "show", account, "--json").json
    assert [(each["action"], each["reason"]) for each in shown["freezes"]] == [
        ("frozen", "Lost phone"),
        ("unfrozen", None),
        ("frozen", "Court order 12"),
        ("unfrozen", None),
        ("frozen", "Third"),
    ]
    assert shown["freezes"][-1]["time"] == shown["frozen_at"]
    assert "Court order 12" in laari("customer", "show", account).out
    for change in ("UPDATE wallet_freezes SET reason = 'x'", "DELETE FROM wallet_freezes"):
        with pytest.raises(asyncpg.PostgresError):
            query(dsn, change)
    assert laari("audit", "--json").json["ok"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        "customer show cus_00000000000000000000000000000000",
        "customer show 7799999999999",
        "customer show 99999999999999999999999",
        "customer show nobody",
        "customer show mer_abc",
        "customer set-tier 7799999999999 basic",
        "customer freeze 7799999999999 --reason x",
        "customer freeze 7799999999999 --reason ''",
        "customer unfreeze 7799999999999",
        "wallet history 7799999999999",
        "wallet history 7799999999999 --limit 0",
        "customer list --limit 0",
        "customer list --limit 1001",
        "customer list --after nobody",
        "customer list --mode test",
        "wallet adjust 7799999999999 -5 --reason x --below-zero",
        "wallet topup 7799999999999 5 --slip x",
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_1(laari: Laari, arguments: str) -> None:  # noqa: F811
    words = ["" if word == "''" else word for word in arguments.split()]
    ended = laari(*words, "--json")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("laari: ")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "exit_status", "said"),
    [
        (["-500", "--reson", "x"], 2, "No such option"),
        (["-500", "--reason", "-5"], 0, ""),
        (["--reason", "x", "--", "-500"], 0, ""),
        (["-x", "--reason", "x"], 2, "No such option"),
    ],
)
def test_a_negative_amount_is_no_option(
    laari: Laari,  # noqa: F811
    arguments: list[str],
    exit_status: int,
    said: str,
) -> None:
    made = laari("customer", "create", "Aisha", "--balance", "5000", "--json").json
    ended = laari("wallet", "adjust", made["account_number"], *arguments)
    assert (ended.status, said in ended.err) == (exit_status, True)
