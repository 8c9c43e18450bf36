"""A whole service with its background process, a receiver, and the operator's commands."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from laari.rules.webhooks import signature
from tests.databases import Engine
from tests.serving import Merchant, Service, serving


class Hook:
    """A receiver in a thread, for tests that wait for a real service."""

    def __init__(self) -> None:
        self.status = 200
        self.received: list[tuple[dict[str, str], bytes]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.received.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(hook.status)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"noted"[:4])

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def hook() -> Iterator[Hook]:
    ours = Hook()
    yield ours
    ours.close()


@pytest.fixture(scope="module")
def service(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("webhooks")
    settings = {"LAARI_WEBHOOK_ALLOW_PRIVATE": "on", "LAARI_WEBHOOK_RETRY_SECONDS": "0.2,0.4"}
    with serving(engine.migrated("webhooks"), directory, **settings) as running:
        yield running
    assert "LAARI_WEBHOOK_ALLOW_PRIVATE is on" in Path(directory, "serve.log").read_text()


def until(condition: Callable[[], Any], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def command(service: Service, *arguments: str) -> Any:
    ended = service.laari("webhook", *arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _status(shop: Merchant) -> str:
    """Of the delivery of the merchant's newest event."""
    return shop.get("/events").json()["data"][0]["delivery"]["status"]


def test_a_payment_is_told_to_the_webhook(service: Service, hook: Hook) -> None:
    shop = service.merchant(webhook_url=hook.url)
    payment = shop.payment()
    shop.control(f"payments/{payment['id']}/pay")
    until(lambda: len(hook.received) == 2)
    events = [json.loads(body) for _, body in hook.received]
    assert {event["type"] for event in events} == {"payment.created", "payment.paid"}
    for headers, body in hook.received:
        stamp = int(headers["service-signature"].split(",")[0].removeprefix("t="))
        assert headers["service-signature"] == signature(shop.secret_key, stamp, body)
        assert headers["user-agent"] == "Service-Merchant-Webhook/1.0"
    until(lambda: shop.get("/events", delivered="false").json()["data"] == [])
    paid = shop.get("/events", type="payment.paid").json()["data"][0]
    assert paid["delivery"] == {"status": "delivered", "attempts": 1, "next_attempt_at": None}


def test_failed_listed_and_sent_again(service: Service, hook: Hook) -> None:
    hook.status = 503
    shop = service.merchant(webhook_url=hook.url)
    shop.payment()
    until(lambda: _status(shop) == "failed")
    (failed,) = command(service, "list", "--merchant", shop.id, "--status", "failed")
    assert failed["type"] == "payment.created"
    assert [a["http_status"] for a in failed["attempts"]] == [503, 503, 503]
    assert failed["attempts"][0]["error"] == "answered 503"
    assert failed["attempts"][0]["answer"] == "note"
    assert len(hook.received) == 3
    hook.status = 202
    again = command(service, "resend", failed["event_id"])
    assert (again["event_id"], again["status"]) == (failed["event_id"], "pending")
    until(lambda: _status(shop) == "delivered")
    shown = command(service, "show", failed["event_id"])
    assert [a["http_status"] for a in shown["attempts"]] == [503, 503, 503, 202]
    assert shown["event"]["id"] == failed["event_id"]
    assert len({body for _, body in hook.received}) == 1
    table = service.laari("webhook", "list", "--merchant", shop.id).stdout
    assert failed["event_id"] in table
    assert "answered 503" in service.laari("webhook", "show", failed["event_id"]).stdout


def test_a_sample_is_sent_and_its_answer_shown(service: Service, hook: Hook) -> None:
    shop = service.merchant(webhook_url=hook.url)
    shown = command(service, "test", shop.id)
    assert (shown["acknowledged"], shown["http_status"], shown["answer"]) == (True, 200, "note")
    ((headers, body),) = hook.received
    stamp = int(headers["service-signature"].split(",")[0].removeprefix("t="))
    assert headers["service-signature"] == signature(shop.secret_key, stamp, body)
    event = json.loads(body)
    assert (event["id"], event["type"], event["mode"]) == (
        shown["event_id"],
        "webhook.test",
        "sandbox",
    )
    assert command(service, "list", "--merchant", shop.id) == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["resend", "evt_" + "0" * 32], "there is no event"),
        (["show", "evt_" + "0" * 32], "there is no event"),
        (["show", "nonsense"], "must be an event id"),
        (["test", "mer_unknown"], "mer_unknown"),
        (["list", "--merchant", "mer_unknown"], "mer_unknown"),
        (["list", "--status", "lost"], "lost"),
    ],
)
def test_what_is_not_there_is_said(service: Service, arguments: list[str], why: str) -> None:
    ended = service.laari("webhook", *arguments, "--json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert why in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_an_event_without_a_webhook_can_be_sent_later(service: Service, hook: Hook) -> None:
    shop = service.merchant()
    shop.payment()
    (event,) = shop.get("/events", delivered="false").json()["data"]
    ended = service.laari("webhook", "show", event["id"])
    assert "no webhook URL was set" in ended.stderr
    ended = service.laari("webhook", "resend", event["id"])
    assert (ended.returncode, "Set a URL and turn on webhooks first" in ended.stderr) == (1, True)
    update = service.laari("merchant", "update", shop.id, "--webhook-url", hook.url)
    assert update.returncode == 0, update.stderr
    command(service, "resend", event["id"])
    until(lambda: len(hook.received) == 1)
    assert json.loads(hook.received[0][1])["id"] == event["id"]
