"""Large top-ups and adjustments wait for a second operator, who makes or refuses them."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from laari.rules.actors import Actor
from laari.rules.banking.movements import MakeMovement, needs_second_operator
from laari.rules.calendar import local_day
from laari.rules.ids import read_id
from laari.rules.operator import MovedMoney
from laari.store.batch.runner import BatchRunner
from laari.store.people.acting import acting
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture
from tests.cli.test_wallets import new_account, query

LIMIT = "100000"


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", LIMIT)
    monkeypatch.setenv("SUDO_USER", "ann")


def ask(laari: Laari, *arguments: str) -> str:  # noqa: F811
    ended = laari("wallet", *arguments, "--json")
    assert ended.status == 0
    assert "second operator" in ended.err
    [listed] = laari("movement", "waiting", "--json").json
    assert listed["status"] == "waiting"
    return str(listed["movement_id"])


@pytest.mark.parametrize(
    ("amount", "above", "expected"),
    [
        *((100_000, 100_000, False), (100_001, 100_000, True), (-100_001, 100_000, True)),
        *((10**12, None, False), (1, 0, True)),
    ],
)
def test_the_limit_counts_in_both_directions(
    amount: int, above: int | None, expected: bool
) -> None:
    assert needs_second_operator(amount, above) is expected


def test_a_large_top_up_waits_for_a_second_operator(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = new_account(laari)
    assert laari("wallet", "topup", account, LIMIT, "--json").json["balance_after"] == 100_000
    movement = ask(laari, "topup", account, "100001", "--slip", "BML-1")
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 100_000
    own = laari("movement", "confirm", movement)
    assert (own.status, "Another operator" in own.err) == (1, True)
    monkeypatch.setenv("SUDO_USER", "ANN")  # the same person in capitals
    assert laari("movement", "confirm", movement).status == 1
    monkeypatch.setenv("SUDO_USER", "bob")
    made = laari("movement", "confirm", movement, "--json").json
    assert (made["status"], made["requested_by"], made["decided_by"]) == ("done", "ann", "bob")
    assert (made["balance_before"], made["balance_after"]) == (100_000, 200_001)
    again = laari("movement", "confirm", movement)
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
    laari("wallet", "topup", account, LIMIT)
    below = laari("wallet", "adjust", account, "-200001", "--reason", "Wrong", "--json")
    assert (below.status, "below zero" in below.err) == (1, True)
    movement = ask(laari, "adjust", account, "-150000", "--reason", "Wrong")
    assert laari("movement", "refuse", movement).status != 0  # needs a reason
    refused = laari("movement", "refuse", movement, "--reason", "Not wrong", "--json").json
    assert (refused["status"], refused["reason"], refused["tid"]) == ("refused", "Not wrong", None)
    assert laari("movement", "confirm", movement).status == 1
    assert query(dsn, "SELECT balance FROM wallets WHERE mode = 'live'") == 200_000


def test_a_slip_counts_once_also_if_it_waited(
    laari: Laari,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = new_account(laari)
    movement = ask(laari, "topup", account, "100001", "--slip", "BML-2")
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", "")
    first = laari("wallet", "topup", account, "100001", "--slip", "BML-2", "--json").json
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", LIMIT)
    monkeypatch.setenv("SUDO_USER", "bob")
    made = laari("movement", "confirm", movement, "--json").json
    assert (made["tid"], made["balance_after"]) == (first["tid"], 100_001)
    refused = laari("wallet", "topup", account, "100001", "--slip", "BML-2", "--json")
    assert (refused.status, "already used" in refused.err) == (1, True)


def test_two_confirmations_at_once_move_money_once(laari: Laari, dsn: str) -> None:  # noqa: F811
    account = int(new_account(laari))
    movement_id = read_id("mov_", ask(laari, "topup", str(account), "100001"))
    assert movement_id is not None

    async def confirm(name: str) -> object:
        runner = BatchRunner(dsn, "http://laari.test")
        actor = Actor("operator", name, "finance")
        command = MakeMovement(actor, None, movement_id, account, None)
        [outcome] = await runner.run([command], 5.0)
        await runner.close()
        return outcome

    async def confirm_all() -> list[object]:
        return await asyncio.gather(*(confirm(f"op{n}") for n in range(8)))

    outcomes = asyncio.run(confirm_all())
    assert sum(isinstance(each, MovedMoney) for each in outcomes) == 1
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
                "(gen_random_uuid(), now(), 'ann', 'topup', $1, 5, 'x', false, 'done', now(), "
                "'ann', 'T')",
                account,
            )
