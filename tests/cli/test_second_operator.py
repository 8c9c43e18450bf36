"""Large top-ups and adjustments wait for a second operator, who makes or refuses them."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from laari.rules.actors import Actor
from laari.rules.banking.waiting_movements import Made, MakeMovement
from laari.rules.calendar import local_day
from laari.rules.ids import read_id
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import movement_lists
from tests.acting import acting
from tests.actors import OPERATOR
from tests.cli.terminals import Clerk, as_user
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture
from tests.cli.test_wallets import new_account, query

pytestmark = pytest.mark.ci

LIMIT = "100000"


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", LIMIT)
    as_user(monkeypatch, "ann")


def ask(laari: Laari, *arguments: str) -> str:  # noqa: F811
    ended = laari("wallet", *arguments, "--json")
    assert ended.status == 0
    assert "second person" in ended.err
    [listed] = laari("movement", "waiting", "--json").json
    assert listed["status"] == "waiting"
    return str(listed["movement_id"])


def test_a_large_top_up_waits_for_a_second_operator(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = new_account(laari)
    assert laari("wallet", "topup", account, LIMIT, "--json").json["balance_after"] == 100_000
    movement = ask(laari, "topup", account, "100001", "--slip", "BML-1")
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 100_000
    nobody = laari("movement", "confirm", movement)
    assert (nobody.status, "use --operator EMAIL to log in" in nobody.err) == (1, True)
    bob = Clerk(dsn, "bob@laari.test")
    confirm = ("movement", "confirm", movement, *bob.type_secrets(monkeypatch), "--json")
    made = laari(*confirm).json
    assert (made["status"], made["requested_by"], made["decided_by"]) == (
        "done",
        "command_line ann",
        "operator bob@laari.test",
    )
    assert (made["balance_before"], made["balance_after"]) == (100_000, 200_001)
    assert made["holder"] == "Aisha"
    again = laari("movement", "confirm", movement, *bob.type_secrets(monkeypatch))
    assert (again.status, "done already" in again.err) == (1, True)
    assert laari("movement", "refuse", movement, "--reason", "Late").status == 1
    assert laari("movement", "waiting", "--json").json == []
    listed = laari("movement", "list", "--json").json
    assert [(each["amount"], each["slip"]) for each in listed] == [
        (100_000, None),
        (100_001, "BML-1"),
    ]
    yesterday = local_day(datetime.now(UTC)) - timedelta(days=1)
    assert laari("movement", "list", "--day", str(yesterday), "--json").json == []
    assert laari("audit", "--json").json["ok"] is True


def test_an_adjustment_is_refused_or_withdrawn(laari: Laari, dsn: str) -> None:  # noqa: F811
    account = new_account(laari)
    laari("wallet", "topup", account, LIMIT)
    below = laari("wallet", "adjust", account, "-100001", "--reason", "Wrong", "--json")
    assert (below.status, "below zero" in below.err) == (1, True)
    movement = ask(laari, "adjust", account, "-50000", "--reason", "Wrong")
    assert laari("movement", "refuse", movement).status != 0  # needs a reason
    refused = laari("movement", "refuse", movement, "--reason", "Not wrong", "--json").json
    assert (refused["status"], refused["reason"], refused["tid"]) == ("refused", "Not wrong", None)
    assert laari("movement", "confirm", movement).status == 1
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 100_000


def test_a_slip_counts_once_also_if_it_waited(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = new_account(laari)
    movement = ask(laari, "topup", account, "100001", "--slip", "BML-2")
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", "")
    first = laari("wallet", "topup", account, "100001", "--slip", "BML-2", "--json").json
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", LIMIT)
    bob = Clerk(dsn, "bob@laari.test")
    made = laari("movement", "confirm", movement, *bob.type_secrets(monkeypatch))
    assert (made.status, "made in another way" in made.err) == (1, True)
    again = laari("wallet", "topup", account, "100001", "--slip", "BML-2", "--json").json
    assert (again["tid"], again["balance_after"]) == (first["tid"], 100_001)


def test_two_confirmations_at_once_move_money_once(laari: Laari, dsn: str) -> None:  # noqa: F811
    account = int(new_account(laari))
    movement_id = read_id("mov_", ask(laari, "topup", str(account), "100001"))
    assert movement_id is not None

    async def confirm(found: movement_lists.Waiting, name: str) -> object:
        runner = BatchRunner(dsn, "http://laari.test")
        actor = Actor("operator", name, "finance")
        [outcome] = await runner.run([MakeMovement(actor, found.movement.id)], 5.0)
        await runner.close()
        return outcome

    async def confirm_all() -> list[object]:
        async with connection_to(dsn) as connection:
            found = await movement_lists.by_id(connection, movement_id)
        assert found is not None
        return await asyncio.gather(*(confirm(found, f"op{n}") for n in range(8)))

    outcomes = asyncio.run(confirm_all())
    assert sum(isinstance(each, Made) for each in outcomes) == 1
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 100_001


async def test_the_database_refuses_a_movement_of_one_person(dsn: str) -> None:
    async with connection_to(dsn) as connection, acting(connection, OPERATOR, "test.fill"):
        customer = await connection.fetchval(
            "INSERT INTO customers (id, name, mode) VALUES (gen_random_uuid(), 'A', 'live') "
            "RETURNING id"
        )
        account = await connection.fetchval(
            "INSERT INTO wallets (customer_id, mode, tier) VALUES ($1, 'live', 'basic') "
            "RETURNING account",
            customer,
        )
        with pytest.raises(asyncpg.CheckViolationError, match="second_person"):
            await connection.execute(
                "INSERT INTO pending_movements (id, requested_at, requested_by, kind, account, "
                "amount, details, below_zero, status, decided_at, decided_by, tid) VALUES "
                "(gen_random_uuid(), now(), 'operator ann', 'topup', $1, 5, 'x', false, 'done', "
                "now(), 'command_line Ann', 'T')",
                account,
            )


def test_an_opening_balance_counts_as_a_top_up(laari: Laari, dsn: str) -> None:  # noqa: F811
    first = laari("customer", "create", "Aisha", "--balance", "60000", "--json")
    assert first.json["mode"] == "live"
    more = laari("customer", "create", "Ben", "--balance", "60000", "--json")
    assert (more.status, "needs a second person" in more.err) == (1, True)
    assert query(dsn, "SELECT count(*) FROM customers WHERE mode = 'live'") == 1
    sandbox = laari("customer", "create", "Ben", "--balance", "60000", "--mode", "sandbox")
    assert sandbox.status == 0
    account = first.json["account_number"]
    assert laari("wallet", "topup", account, "40000", "--json").json["balance_after"] == 100_000
    ask(laari, "topup", account, "1")


def test_a_large_statement_waits_for_a_second_operator(
    laari: Laari,  # noqa: F811
    dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account, day = new_account(laari), local_day(datetime.now(UTC))
    file = tmp_path / "statement.csv"
    file.write_text(
        "date,reference,description,debit,credit,balance\n"
        f"{day},FT1,Aisha {account},,900.00,900.00\n"
        f"{day},FT2,Aisha {account},,200.00,1100.00\n"
    )
    ended = laari("bank", "import", str(file), "--json")
    assert (ended.status, "second person" in ended.err) == (0, True)
    [listed] = laari("movement", "waiting", "--json").json
    assert (listed["type"], listed["amount"]) == ("import", 110_000)
    assert "2 top-ups of MVR 1100.00" in listed["details"]
    assert query(dsn, "SELECT count(*) FROM bank_lines") == 0
    again = laari("bank", "import", str(file))
    assert (again.status, "waits for a second person already" in again.err) == (1, True)
    bob = Clerk(dsn, "bob@laari.test")
    confirm = ("movement", "confirm", listed["movement_id"], "--json")
    made = laari(*confirm, *bob.type_secrets(monkeypatch)).json
    assert (made["status"], made["statement"]["topup"]) == ("done", 2)
    assert query(dsn, "SELECT count(*) FROM bank_lines WHERE use = 'topup'") == 2
    assert laari("bank", "import", str(file), "--json").json["new"] == 0
    assert laari("audit", "--json").status == 0
