"""`laari client`, run as the shell would run it."""

import json
from typing import Any

import pytest

from laari.cli.main import run
from laari.rules.scopes import SCOPES


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
    assert new["scopes"] == list(SCOPES)
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "mer_none"), "No merchant has the id mer_none."),
        (("revoke", "cl_none"), "No client has the id cl_none."),
        (("create", "mer_none", "--scope", "payments:write"), "unknown scope payments:write"),
    ],
)
def test_errors_are_one_line(laari: Shell, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = laari("client", *arguments)
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
