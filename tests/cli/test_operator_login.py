"""The second person on the command line logs in; all others are the real system user."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyotp
import pytest

from laari.cli.terminal import system_user
from laari.rules.people.persons import NewLogin
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests import people
from tests.actors import OPERATOR
from tests.cli.terminals import PASSWORD, Clerk, as_user, typed
from tests.cli.test_operator import Laari, laari  # noqa: F401  # a fixture
from tests.cli.test_payouts import new_shop, pay
from tests.cli.test_wallets import new_account, query
from tests.days import yesterday
from tests.factors import begin

_DAY = timedelta(days=1)


def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAARI_SECOND_OPERATOR_ABOVE", "100000")


def waiting_movement(laari: Laari, monkeypatch: pytest.MonkeyPatch) -> str:  # noqa: F811
    limit(monkeypatch)
    account = new_account(laari)
    laari("wallet", "topup", account, "100001")
    [movement] = laari("movement", "waiting", "--json").json
    return str(movement["movement_id"])


def test_only_the_password_and_a_fresh_code_confirm(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    movement = waiting_movement(laari, monkeypatch)
    bob = Clerk(dsn, "bob@laari.test")
    confirm = ("movement", "confirm", movement, "--operator", bob.email)

    def refused(*lines: str) -> str:
        typed(monkeypatch, *lines)
        ended = laari(*confirm)
        assert ended.status == 1
        return ended.err

    used = next(bob.codes)
    assert "must have two lines" in refused()
    assert "must have two lines" in refused(PASSWORD)
    assert "address or the password is wrong" in refused("wrong", used)
    assert "code is not valid" in refused(PASSWORD, "000000")
    attempts = "SELECT attempts FROM failed_logins"
    assert (query(dsn, attempts), query(dsn, "SELECT failures FROM second_factors")) == (1, 1)
    unknown = ("movement", "confirm", movement, "--operator", "eve@laari.test")
    typed(monkeypatch, PASSWORD, used)
    assert "address or the password is wrong" in laari(*unknown).err
    typed(monkeypatch, PASSWORD, used)
    assert laari(*confirm, "--json").json["decided_by"] == "operator bob@laari.test"
    assert "code is not valid" in refused(PASSWORD, used)  # it works once
    entry = laari("journal", "list", "--action", "movement.make", "--json").json[0]
    assert (entry["kind"], entry["actor"]) == ("operator", "bob@laari.test")


def test_the_role_of_the_operator_counts_and_first_passwords_do_not(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    movement = waiting_movement(laari, monkeypatch)
    sam = Clerk(dsn, "sam@laari.test", "support")
    ended = laari("movement", "confirm", movement, *sam.type_secrets(monkeypatch))
    assert (ended.status, "the role support cannot do this" in ended.err) == (1, True)
    new = laari("operator", "create", "new@laari.test", "--role", "finance", "--json").json
    typed(monkeypatch, new["password"], "000000")
    ended = laari("movement", "confirm", movement, "--operator", "new@laari.test")
    assert (ended.status, "set a password of your own first" in ended.err) == (1, True)


def test_a_code_of_a_set_up_that_was_not_finished_confirms_nothing(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    movement = waiting_movement(laari, monkeypatch)
    code = asyncio.run(code_of_set_up(dsn, "eve@laari.test"))
    typed(monkeypatch, PASSWORD, code)
    ended = laari("movement", "confirm", movement, "--operator", "eve@laari.test")
    assert (ended.status, "code is not valid" in ended.err) == (1, True)


async def code_of_set_up(dsn: str, email: str) -> str:
    """A code of a factor whose first code was never entered."""
    async with connection_to(dsn) as connection:
        login = NewLogin(hash_password(PASSWORD))
        added = await people.add(connection, OPERATOR, None, email, "admin", None, login)
        now = datetime.now(UTC)
        seed = await begin(connection, added.id, now)
    return pyotp.TOTP(seed).at(now)


def test_a_run_is_approved_by_another_operator_as_that_person_saw_it(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop, account = new_shop(laari), new_account(laari, 50_000)
    pay(dsn, shop, account, 10_000, ago=_DAY)
    limit(monkeypatch)
    as_user(monkeypatch, "ann@laari.test")  # the same name as that of the operator
    run = laari("payout", "run", "--day", str(yesterday()), "--json").json
    [shown] = run["recent_bank_accounts"]
    assert (shown["owner"], shown["number"]) == ("Seagull", "•" * 9 + "2345")
    assert shown["entered_by"] == "service anybody"
    ann, bob = Clerk(dsn, "ann@laari.test"), Clerk(dsn, "bob@laari.test")
    approve = ("payout", "approve", "1")
    typed(monkeypatch)
    assert "use --total with the total that you checked" in laari(*approve).err
    assert "use --operator EMAIL to log in" in laari(*approve, "--total", "10000").err
    own = laari(*approve, "--total", "10000", *ann.type_secrets(monkeypatch))
    assert "Another person has to approve a run that you opened." in own.err
    other = laari(*approve, "--total", "9999", *bob.type_secrets(monkeypatch))
    assert (other.status, "The total is MVR 100.00 now." in other.err) == (1, True)
    seen = ("--total", "10000", "--content")
    changed = laari(*approve, *seen, "0" * 32, *bob.type_secrets(monkeypatch))
    assert "The run has other payouts now." in changed.err
    done = laari(*approve, *seen, run["content"], *bob.type_secrets(monkeypatch), "--json").json
    assert (done["status"], done["approved_by"]) == ("approved", "operator bob@laari.test")


def test_a_script_of_one_person_approves_without_a_total(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop, account = new_shop(laari), new_account(laari, 50_000)
    pay(dsn, shop, account, 10_000, ago=_DAY)
    laari("payout", "run", "--day", str(yesterday()))
    typed(monkeypatch)
    assert laari("payout", "approve", "1", "--json").json["status"] == "approved"


def test_the_sign_off_of_a_day_needs_a_log_in(
    laari: Laari,  # noqa: F811
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit(monkeypatch)
    sign = ("float", "--day", str(yesterday()), "--bank-closing", "0")
    assert "use --operator EMAIL to log in" in laari(*sign).err
    bob = Clerk(dsn, "bob@laari.test")
    signed = laari(*sign, *bob.type_secrets(monkeypatch), "--json").json
    assert signed["signed_by"] == "bob@laari.test"


def test_no_variable_changes_the_name_of_the_actor(
    laari: Laari,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = system_user.system_user()
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER", "SUDO_UID"):
        monkeypatch.setenv(name, "4711" if name == "SUDO_UID" else "other")
    assert system_user.system_user() == real
    assert laari("customer", "create", "Aisha").status == 0
    [entry, *_] = laari("journal", "list", "--action", "customer.create", "--json").json
    assert entry["actor"] == real


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        ([0, 0, 1], "root"),  # logged in as root: the last process has no parent
        ([65534, 0], "nobody"),  # sudo itself, which is started by a person
        ([0, 0, 65534, 0], "nobody"),  # a shell below su, of a person
        ([0, 54321], "54321"),  # without a name
    ],
)
def test_root_is_the_person_who_became_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: list[int], expected: str
) -> None:
    own = os.getppid()
    numbers = [own, *range(2, len(users) + 1), 1]
    for number, user, parent in zip(numbers, users, [*numbers[1:]], strict=False):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = f"Name:\tsh: x\nPPid:\t{parent}\nUid:\t{user}\t0\t0\t0\n"
        (folder / "status").write_text(text)
    monkeypatch.setattr(system_user, "_PROCESSES", tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    if users == [0, 0, 1]:
        (tmp_path / "3" / "status").unlink()
    assert system_user.system_user() == expected
