"""A stolen log-in is stopped from the command line, while the service runs."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from laari.cli.main import run
from laari.store.people.passwords import password_fits
from laari.store.postgres.pool import connection_to
from tests.actors import change
from tests.logins import opened

pytestmark = pytest.mark.ci

EMAIL = "owner@shop.mv"


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


Laari = Callable[..., Ended]


@pytest.fixture
def laari(dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Laari:
    monkeypatch.setenv("LAARI_DATABASE_URL", dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)

    def command(*arguments: str) -> Ended:
        status = run([*arguments, "--json"])
        return Ended(status, *capsys.readouterr())

    return command


@pytest.fixture
def shop(laari: Laari) -> str:
    """A live merchant that was made without a log-in."""
    return str(laari("merchant", "create", "Shop", "--mode", "live").json["merchant_id"])


def refused(ended: Ended, words: str) -> None:
    assert (ended.status, ended.out) == (1, ""), ended
    assert ended.err.count("\n") == 1
    assert words in ended.err


def log_in(dsn: str, whose: UUID | str, times: int = 1) -> None:
    async def log_in_all() -> None:
        async with connection_to(dsn) as connection:
            for _ in range(times):
                await opened(connection, whose)

    asyncio.run(log_in_all())


def ask(dsn: str, query: str, *values: object) -> Any:
    async def asked() -> Any:
        async with connection_to(dsn) as connection:
            return await connection.fetchval(query, *values)

    return asyncio.run(asked())


def by_hand(dsn: str, statement: str) -> None:
    async def changed() -> None:
        async with connection_to(dsn) as connection:
            await change(connection, statement)

    asyncio.run(changed())


def open_sessions(dsn: str) -> int:
    return int(ask(dsn, "SELECT count(*) FROM sessions"))


def password_hash(dsn: str, email: str = EMAIL) -> str:
    return str(ask(dsn, "SELECT password_hash FROM persons WHERE email = $1", email))


def test_a_merchant_gets_a_log_in_later(laari: Laari, shop: str, dsn: str) -> None:
    assert laari("merchant", "user", "list", shop).json == []
    added = laari("merchant", "user", "add", shop, "Owner@Shop.mv").json
    named = {"merchant_id": shop, "email": EMAIL, "role": "owner", "till": None}
    assert added == {**named, "password": added["password"]}
    assert password_fits(added["password"], password_hash(dsn))
    given = "three grey herons"
    laari("merchant", "user", "add", shop, "second@shop.mv", "--password", given)
    assert password_fits(given, password_hash(dsn, "second@shop.mv"))
    log_in(dsn, EMAIL, 2)
    listed = laari("merchant", "user", "list", shop).json
    assert [(each["email"], each["sessions"]) for each in listed] == [
        (EMAIL, 2),
        ("second@shop.mv", 0),
    ]
    assert "password" not in json.dumps(listed)


@pytest.mark.parametrize("mode", ["live", "sandbox"])
def test_an_operators_password_is_to_be_changed(
    laari: Laari, shop: str, dsn: str, mode: str
) -> None:
    """The mode of the credentials says nothing: the merchant's people see its live side."""
    laari("merchant", "update", shop, "--mode", mode)
    laari("merchant", "user", "add", shop, EMAIL)
    made = laari("customer", "create", "Aisha", "--mode", "live").json["customer_id"]
    laari("customer", "reset-password", made)
    waiting = (
        "SELECT bool_and(password_must_change) FROM "
        "(SELECT password_must_change FROM persons UNION ALL "
        "SELECT password_must_change FROM customers WHERE sandbox_of IS NULL) p"
    )
    assert ask(dsn, waiting) is True
    for table in ("customers", "persons"):
        by_hand(dsn, f"UPDATE {table} SET password_must_change = false")
    laari("merchant", "user", "reset-password", shop, EMAIL)
    laari("customer", "reset-password", made)
    assert ask(dsn, waiting) is True


def test_what_cannot_be_added_is_refused(laari: Laari, shop: str, dsn: str) -> None:
    other = laari("merchant", "create", "Other", "--email", "taken@shop.mv").json["merchant_id"]
    add = ("merchant", "user", "add")
    refused(laari(*add, other, "taken@shop.mv"), "already logs in")
    refused(laari(*add, shop, EMAIL, "--role", "manager"), "has to be an owner")
    refused(laari(*add, other, EMAIL, "--role", "cashier"), "has a till")
    refused(laari(*add, other, EMAIL, "--till", "1"), "has a till")
    refused(laari(*add, "mer_none", EMAIL), "No merchant has the id")
    refused(laari(*add, shop, "nobody"), "email")
    refused(laari(*add, shop, EMAIL, "--password", "short"), "--password")
    assert laari("merchant", "user", "list", shop).json == []
    assert len(laari("merchant", "user", "list", other).json) == 1
    refused(laari("merchant", "user", "list", "mer_none"), "no merchant has the id")


def test_removing_ends_the_sessions(laari: Laari, shop: str, dsn: str) -> None:
    other = laari("merchant", "create", "Other", "--email", "other@shop.mv").json["merchant_id"]
    laari("merchant", "user", "add", shop, EMAIL)
    log_in(dsn, EMAIL, 3)
    log_in(dsn, "other@shop.mv")
    refused(laari("merchant", "user", "remove", other, EMAIL), "does not log in to")
    removed = laari("merchant", "user", "remove", shop, EMAIL).json
    assert removed == {"merchant_id": shop, "email": EMAIL, "sessions_ended": 3}
    assert open_sessions(dsn) == 1
    refused(laari("merchant", "user", "remove", shop, EMAIL), "does not log in to")


def test_a_users_new_password_ends_the_sessions(laari: Laari, shop: str, dsn: str) -> None:
    old = laari("merchant", "user", "add", shop, EMAIL).json["password"]
    log_in(dsn, EMAIL, 2)
    reset = laari("merchant", "user", "reset-password", shop, EMAIL).json
    assert (reset["email"], reset["sessions_ended"]) == (EMAIL, 2)
    assert open_sessions(dsn) == 0
    assert password_fits(reset["password"], password_hash(dsn))
    assert not password_fits(old, password_hash(dsn))
    again = ("merchant", "user", "reset-password")
    refused(laari(*again, shop, EMAIL, "--password", "password12"), "--password")
    assert password_fits(reset["password"], password_hash(dsn))
    refused(laari(*again, shop, "nobody@shop.mv"), "does not log in to")


def test_a_customers_new_password_ends_the_sessions(laari: Laari, dsn: str) -> None:
    made = laari("customer", "create", "Aisha", "--mode", "live").json
    whose = UUID(made["customer_id"].removeprefix("cus_"))
    log_in(dsn, whose, 2)
    reset = laari("customer", "reset-password", made["customer_id"]).json
    assert (reset["customer_id"], reset["sessions_ended"]) == (made["customer_id"], 2)
    assert open_sessions(dsn) == 0
    kept = str(ask(dsn, "SELECT password_hash FROM customers WHERE id = $1", whose))
    assert password_fits(reset["password"], kept)
    assert not password_fits(made["password"], kept)
    refused(
        laari("customer", "reset-password", made["customer_id"], "--password", "short"),
        "--password",
    )
    sandbox = laari("customer", "create", "Ali", "--mode", "sandbox").json["customer_id"]
    weak = laari("customer", "reset-password", sandbox, "--password", "short").json
    assert weak["password"] == "short"


def test_a_password_from_a_file_is_not_printed(
    laari: Laari, shop: str, dsn: str, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("three grey herons\n")
    given = ("--password-file", str(file))
    customer = laari("customer", "create", "Aisha", "--mode", "live", *given).json
    assert customer["password"] is None
    reset = ("customer", "reset-password", customer["customer_id"])
    assert laari(*reset, *given).json["password"] is None
    user = ("merchant", "user")
    assert laari(*user, "add", shop, EMAIL, *given).json["password"] is None
    assert laari(*user, "reset-password", shop, EMAIL, *given).json["password"] is None
    assert password_fits("three grey herons", password_hash(dsn))


def test_only_customers_with_a_log_in_get_a_password(laari: Laari, shop: str, dsn: str) -> None:
    stand_in = ask(dsn, "SELECT id FROM customers WHERE sandbox_of IS NOT NULL")
    refused(laari("customer", "reset-password", f"cus_{stand_in.hex}"), "no customer")
    refused(laari("customer", "reset-password", f"cus_{'0' * 32}"), "no customer")
    refused(laari("customer", "reset-password", "7700000000001"), "customer id")


def test_sessions_are_ended_and_the_password_stays(laari: Laari, shop: str, dsn: str) -> None:
    laari("merchant", "user", "add", shop, EMAIL)
    made = laari("customer", "create", "Aisha", "--mode", "live").json["customer_id"]
    log_in(dsn, EMAIL, 2)
    log_in(dsn, UUID(made.removeprefix("cus_")), 3)
    before = password_hash(dsn)
    assert laari("session", "end", "--email", EMAIL).json == {"email": EMAIL, "sessions_ended": 2}
    assert open_sessions(dsn) == 3
    ended = laari("session", "end", "--customer", made).json
    assert ended == {"customer_id": made, "sessions_ended": 3}
    assert laari("session", "end", "--customer", made).json["sessions_ended"] == 0
    assert password_hash(dsn) == before
    refused(laari("session", "end"), "--email")
    refused(laari("session", "end", "--email", EMAIL, "--customer", made), "--email")
    refused(laari("session", "end", "--email", "nobody@shop.mv"), "does not log in")
    refused(laari("session", "end", "--customer", f"cus_{'0' * 32}"), "no customer")


def test_a_person_who_exists_keeps_the_password(laari: Laari, shop: str, dsn: str) -> None:
    first = laari("merchant", "user", "add", shop, EMAIL).json["password"]
    again = laari("merchant", "create", "Other", "--mode", "live", "--email", EMAIL).json
    assert (again["email"], again["password"]) == (EMAIL, None)
    third = laari("merchant", "create", "Third").json["merchant_id"]
    assert laari("merchant", "user", "add", third, EMAIL).json["password"] is None
    assert laari("operator", "create", EMAIL, "--role", "support").json["password"] is None
    assert password_fits(first, password_hash(dsn))
    # The sessions last as long as one of the places does.
    log_in(dsn, EMAIL, 2)
    for place in (shop, again["merchant_id"], third):
        assert laari("merchant", "user", "remove", place, EMAIL).json["sessions_ended"] == 0
    assert laari("operator", "remove", EMAIL).json == {"email": EMAIL, "sessions_ended": 2}
    assert laari("merchant", "user", "add", shop, EMAIL).json["password"] is not None


def test_roles_are_given_and_changed(laari: Laari, shop: str) -> None:
    laari("merchant", "user", "add", shop, EMAIL)
    till = ("--role", "cashier", "--till", "Till 1")
    added = laari("merchant", "user", "add", shop, "till@shop.mv", *till).json
    assert (added["role"], added["till"]) == ("cashier", "Till 1")
    role = ("merchant", "user", "set-role", shop)
    refused(laari(*role, EMAIL, "--role", "manager"), "only owner")
    refused(laari(*role, "none@shop.mv", "--role", "owner"), "does not log in")
    laari(*role, "till@shop.mv", "--role", "owner")
    laari(*role, EMAIL, "--role", "accountant")
    listed = laari("merchant", "user", "list", shop).json
    assert [(each["email"], each["role"], each["till"]) for each in listed] == [
        (EMAIL, "accountant", None),
        ("till@shop.mv", "owner", None),
    ]


def test_people_of_the_operator(laari: Laari, dsn: str) -> None:
    assert laari("operator", "list").json == []
    made = laari("operator", "create", EMAIL, "--role", "finance").json
    assert password_fits(made["password"], password_hash(dsn))
    assert ask(dsn, "SELECT password_must_change FROM persons") is True
    laari("operator", "set-role", EMAIL, "--role", "admin")
    [listed] = laari("operator", "list").json
    assert (listed["email"], listed["role"], listed["sessions"]) == (EMAIL, "admin", 0)
    refused(laari("operator", "set-role", "none@shop.mv", "--role", "admin"), "does not log in")
    laari("operator", "remove", EMAIL)
    assert laari("operator", "list").json == []


def test_an_invitation_from_the_command_line(laari: Laari, shop: str, dsn: str) -> None:
    laari("merchant", "user", "add", shop, EMAIL)
    invite = ("merchant", "user", "invite", shop, "new@shop.mv")
    made = laari(*invite, "--role", "manager").json
    assert made["link"].partition("/dashboard/join/")[2]
    assert (made["email"], made["role"], made["sent"]) == ("new@shop.mv", "manager", False)
    refused(laari(*invite, "--role", "cashier"), "has a till")
    refused(laari(*invite, "--role", "manager", "--send", "dv"), "LAARI_SMTP_URL")
    refused(laari("merchant", "user", "invite", shop, EMAIL, "--role", "manager"), "already logs")
    withdraw = ("merchant", "user", "withdraw-invitation", shop, "new@shop.mv")
    laari(*withdraw)
    refused(laari(*withdraw), "no open invitation")


def test_an_invitation_from_the_command_line_by_email(
    laari: Laari, shop: str, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAARI_SMTP_URL", "smtp://127.0.0.1:9")
    monkeypatch.setenv("LAARI_MAIL_FROM", "laari@shop.mv")
    invite = ("merchant", "user", "invite", shop, "new@shop.mv", "--role", "manager")
    assert laari(*invite, "--send", "dv").json["sent"] is True
    assert ask(dsn, "SELECT kind || ' ' || recipient FROM messages") == "invitation new@shop.mv"


def test_ownership_is_transferred(laari: Laari, shop: str) -> None:
    laari("merchant", "user", "add", shop, EMAIL)
    laari("merchant", "user", "add", shop, "b@shop.mv", "--role", "accountant")
    transfer = ("merchant", "user", "transfer", shop)
    refused(laari(*transfer, "b@shop.mv", EMAIL), "Only an owner")
    laari(*transfer, EMAIL, "b@shop.mv")
    listed = laari("merchant", "user", "list", shop).json
    assert [each["role"] for each in listed] == ["manager", "owner"]
