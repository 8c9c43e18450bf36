"""`laari trigger`: every event really happens, in the sandbox alone."""

import json

import pytest

from laari.cli.main import run
from laari.cli.shop.trigger import SCENARIOS
from laari.rules.events import EVENTS
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


@pytest.mark.parametrize("event", SCENARIOS)
def test_it_happens(event: str, shop: Merchant, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trigger", event, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["type"] == event
    assert shop.events(shown["data"]["id"])[-1] == event


def test_a_moved_clock_does_not_hide_it(shop: Merchant, capsys: pytest.CaptureFixture[str]) -> None:
    shop.advance(86_400 * 40)
    for _ in range(25):
        shop.payment()
    shop.control("clock", {"reset": True})
    assert run(["trigger", "payment.created"]) == 0
    assert "payment.created" in capsys.readouterr().out


def test_nothing_is_made_in_live_mode(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    live = service.merchant(mode="live")
    monkeypatch.setenv("LAARI_SECRET_KEY", live.secret_key)
    assert run(["trigger", "payment.paid", "--url", service.origin]) == 1
    assert "live mode" in capsys.readouterr().err
    assert live.get("/payments").json()["data"] == []


def test_what_is_wrong_is_said(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LAARI_SECRET_KEY", raising=False)
    cases = {
        ("payment.paid",): "LAARI_SECRET_KEY",
        ("payment.paid", "--key", "sk_wrong"): "check --key or LAARI_SECRET_KEY",
        ("payment.paid", "--key", "sk wrong"): "characters",
        ("payment.lost", "--key", "k"): "payment.paid",
        ("payment.paid", "--key", "k", "--url", "ftp://x"): "https://pay.example.com",
        ("payment.paid", "--key", "k", "--url", "http://127.0.0.1:1"): "connection refused on"
        " http://127.0.0.1:1; is it running?",
    }
    monkeypatch.setenv("LAARI_URL", service.origin)
    for arguments, told in cases.items():
        assert run(["trigger", *arguments]) == 1
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
