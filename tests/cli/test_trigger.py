"""`laari trigger` and `laari-client trigger`: every event happens, in the sandbox alone."""

import json

import pytest

from laari.cli.shop.shared.trigger import SCENARIOS
from laari.rules.events import EVENTS
from tests.cli.programs import LAARI, Program, each_program
from tests.serving import Merchant, Service


@pytest.fixture(scope="module")
def service(usual_service: Service) -> Service:
    return usual_service


@pytest.fixture
def shop(service: Service, monkeypatch: pytest.MonkeyPatch) -> Merchant:
    shop = service.merchant()
    monkeypatch.setenv("LAARI_SECRET_KEY", shop.secret_key)
    monkeypatch.setenv("LAARI_URL", service.origin)
    return shop


def test_there_is_a_scenario_for_every_event() -> None:
    assert list(SCENARIOS) == list(EVENTS)


@each_program
@pytest.mark.parametrize("event", SCENARIOS)
def test_it_happens(
    program: Program, event: str, shop: Merchant, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(["trigger", event, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["type"] == event
    assert shop.events(shown["data"]["id"])[-1] == event


@each_program
def test_a_moved_clock_does_not_hide_it(
    program: Program, shop: Merchant, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.advance(86_400 * 40)
    for _ in range(25):
        shop.payment()
    shop.control("clock", {"reset": True})
    assert program.run(["trigger", "payment.created"]) == 0
    assert "payment.created" in capsys.readouterr().out


@each_program
def test_nothing_is_made_in_live_mode(
    program: Program,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    live = service.merchant(mode="live")
    monkeypatch.setenv("LAARI_SECRET_KEY", live.secret_key)
    assert program.run(["trigger", "payment.paid", "--url", service.origin]) == 1
    assert "live mode" in capsys.readouterr().err
    assert live.get("/payments").json()["data"] == []


@each_program
def test_what_is_wrong_is_said(
    program: Program,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("LAARI_SECRET_KEY", raising=False)
    nowhere = "http://127.0.0.1:1"
    cases = {
        ("payment.paid",): "LAARI_SECRET_KEY",
        ("payment.paid", "--key", "sk_wrong"): "check --key or LAARI_SECRET_KEY",
        ("payment.paid", "--key", "sk wrong"): "character",
        ("payment.lost", "--key", "k"): "payment.paid",
        ("payment.paid", "--key", "k", "--url", "ftp://x"): "--url",
        ("payment.paid", "--key", "k", "--url", nowhere): (
            f"connection refused on {nowhere}; is it running?"
            if program is LAARI
            else f"The service could not be reached at {nowhere}"
        ),
    }
    monkeypatch.setenv("LAARI_URL", service.origin)
    for arguments, told in cases.items():
        assert program.run(["trigger", *arguments]) == 1
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
