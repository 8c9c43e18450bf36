"""`laari client`, run as the shell would run it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from laari.cli.main import run
from laari.rules.merchants.scopes import DEFAULT_SCOPES


class Shell:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        status = run(arguments)
        return (status, *self._capsys.readouterr())

    def json(self, *arguments: str) -> Any:
        status, out, err = self(*arguments, "--json")
        assert status == 0, err
        return json.loads(out)


@pytest.fixture
def laari(dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("LAARI_DATABASE_URL", dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)
    return Shell(capsys)


def test_a_client_is_made_listed_and_revoked(laari: Shell) -> None:
    merchant = laari.json("merchant", "create", "Shop")["merchant_id"]
    new = laari.json("client", "create", merchant)
    assert new["client_id"].startswith("cl_")
    assert new["client_secret"].startswith("cs_")
    assert new["scopes"] == list(DEFAULT_SCOPES)
    some = laari.json("client", "create", merchant, "--scope", " payments:read payments:create ")
    assert some["scopes"] == ["payments:create", "payments:read"]
    assert laari.json("client", "create", merchant, "--scope", "")["scopes"] == []
    other = laari.json("merchant", "create", "Other")["merchant_id"]
    assert laari.json("client", "list", other) == []
    listed = laari.json("client", "list", merchant)
    assert listed == laari.json("client", "list")
    assert [each["client_id"] for each in listed[:2]] == [new["client_id"], some["client_id"]]
    assert "client_secret" not in listed[0]

    revoked = laari.json("client", "revoke", new["client_id"])
    assert revoked["revoked_at"] is not None
    assert laari.json("client", "revoke", new["client_id"]) == revoked


def test_a_client_has_a_name_an_expiry_and_a_last_use(laari: Shell) -> None:
    merchant = laari.json("merchant", "create", "Shop")["merchant_id"]
    plain = laari.json("client", "create", merchant)
    assert (plain["name"], plain["expires_at"], plain["last_used_at"]) == (None, None, None)
    named = laari.json(
        "client", "create", merchant, "--name", " Till 1 ", "--expires", "2099-12-31"
    )
    assert (named["name"], named["expires_at"]) == ("Till 1", "2099-12-31T00:00:00+05:00")
    before = datetime.now(UTC).replace(microsecond=0)
    days = laari.json("client", "create", merchant, "--expires", "90")
    expires = datetime.fromisoformat(days["expires_at"])
    assert timedelta(days=90) <= expires - before < timedelta(days=90, minutes=5)
    listed = laari.json("client", "list", merchant)
    assert [each["name"] for each in listed] == [None, "Till 1", None]
    assert listed[2]["expires_at"] == days["expires_at"]


@pytest.mark.parametrize(
    "expires",
    [
        "0",
        "-1",
        "1.5",
        "99999",
        "tomorrow",
        "2099-02-30",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_an_expiry_is_in_the_future(laari: Shell, expires: str) -> None:
    status, _, err = laari("client", "create", "mer_none", f"--expires={expires}")
    assert status in (1, 2)
    assert "a number of days or a later date" in err


def test_an_end_that_has_passed_is_refused(laari: Shell) -> None:
    merchant = laari.json("merchant", "create", "Shop")["merchant_id"]
    status, _, err = laari("client", "create", merchant, "--expires", "2020-01-01")
    assert (status, "must expire later than now" in err) == (1, True)


def test_a_client_name_has_at_most_80_characters(laari: Shell) -> None:
    merchant = laari.json("merchant", "create", "Shop")["merchant_id"]
    assert laari.json("client", "create", merchant, "--name", "é" * 80)["name"] == "é" * 80
    _, _, err = laari("client", "create", merchant, "--name", "é" * 81)
    assert "1 to 80 printable characters" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "mer_none"), "no merchant has the id mer_none"),
        (("revoke", "cl_none"), "no client has the id cl_none"),
        (("create", "mer_none", "--scope", "payments:write"), "unknown scope payments:write"),
    ],
)
def test_errors_are_one_line(laari: Shell, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = laari("client", *arguments)
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
