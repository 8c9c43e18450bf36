"""verify_webhook against the service's own signatures, its trainer, and forgeries."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from laari_client import (
    ConfigurationError,
    InvalidResponseError,
    WebhookVerificationError,
    models,
    verify_webhook,
)
from tests.serving import Merchant

SECRET = "sk_test"
NOW = 1_800_000_000
SAMPLE = {
    "id": "evt_1",
    "type": "webhook.test",
    "payload_version": 1,
    "mode": "sandbox",
    "created_at": "2027-07-01T04:30:00Z",
    "data": {"message": "A sample."},
}
BODY = json.dumps(SAMPLE).encode()


def sign(body: bytes = BODY, at: int = NOW, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def header(*signatures: str, at: int | str = NOW) -> str:
    return ",".join([f"t={at}", *(f"v1={each}" for each in signatures or (sign(),))])


def test_a_genuine_event_is_returned() -> None:
    event = verify_webhook(BODY, header(), SECRET, now=NOW)
    assert isinstance(event, models.SampleEvent)
    assert event.data.message == "A sample."
    assert verify_webhook(BODY.decode(), header(), SECRET, now=NOW) == event
    assert verify_webhook(bytearray(BODY), header(), SECRET, now=NOW) == event


def test_an_event_of_a_new_type_is_genuine_too() -> None:
    body = json.dumps({**SAMPLE, "type": "loan.granted", "more": 1}).encode()
    event = verify_webhook(body, header(sign(body)), SECRET, now=NOW)
    assert isinstance(event, models.UnknownEvent)
    assert event.unknown_fields == {"more": 1}


@pytest.mark.parametrize("off", [0, 299, 300, -300])
def test_a_clock_may_be_a_little_off(off: int) -> None:
    verify_webhook(BODY, header(), SECRET, now=NOW + off)


@pytest.mark.parametrize("off", [301, -301, 10**9, float("nan")])
def test_an_old_or_future_event_is_refused(off: float) -> None:
    with pytest.raises(WebhookVerificationError, match="time"):
        verify_webhook(BODY, header(), SECRET, now=NOW + off)
    if off == 301:
        verify_webhook(BODY, header(), SECRET, now=NOW + off, tolerance=400)


FORGED = {
    "missing": None,
    "empty": "",
    "no time": f"v1={sign()}",
    "no signature": f"t={NOW}",
    "two times": f"t={NOW},t={NOW},v1={sign()}",
    "a time that is none": header(at="soon"),
    "a time with a sign": header(at=f"+{NOW}"),
    "digits of another script": header(at=str(NOW).replace("1", "\u0661")),
    "another key": header(sign(secret="sk_other")),
    "another body": header(sign(b"{}")),
    "another time": header(sign(at=NOW - 1)),
    "capital letters": header(sign().upper()),
    "cut short": header(sign()[:-1]),
    "of another scheme": f"t={NOW},v0={sign()}",
    "not ASCII": header("é" * 64),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=[*FORGED])
def test_a_forgery_is_refused(forged: str | None) -> None:
    with pytest.raises(WebhookVerificationError) as refused:
        verify_webhook(BODY, forged, SECRET, now=NOW)
    assert SECRET not in str(refused.value)


def test_while_a_key_is_exchanged_both_are_good() -> None:
    old, new = "sk_old", "sk_new"
    for secret in (old, new):
        verify_webhook(BODY, header(sign(secret=secret)), [old, new], now=NOW)
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BODY, header(sign(secret="sk_third")), [old, new], now=NOW)
    both = header(sign(secret=old), sign(secret=new))
    verify_webhook(BODY, both, new, now=NOW)
    verify_webhook(BODY, f"{both},v2=abc", old, now=NOW)


@pytest.mark.parametrize("secret", ["", [], [""], ["sk_a", ""], [None]])
def test_an_empty_secret_would_let_anybody_sign(secret) -> None:
    empty = header(sign(secret=""))
    with pytest.raises(ConfigurationError, match="anybody"):
        verify_webhook(BODY, empty, secret, now=NOW)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"body": SAMPLE}, "body is the raw body as it came, bytes or text; it is of type dict"),
        ({"body": None}, "of type NoneType"),
        ({"body": 5}, "of type int"),
        ({"header": {"Service-Signature": "t=1"}}, "header is the value of Service-Signature"),
        ({"header": b"t=1,v1=00"}, "of type bytes"),
        ({"secret": None}, "secret is a text, or a list of them"),
        ({"secret": b"sk_1"}, "of type bytes"),
    ],
)
def test_what_cannot_be_verified_is_said_clearly(given: dict[str, Any], complaint: str) -> None:
    usual = {"body": BODY, "header": header(), "secret": SECRET}
    with pytest.raises(ConfigurationError, match=complaint):
        verify_webhook(**{**usual, **given}, now=NOW)


def test_a_genuine_body_that_is_no_event_is_told_apart() -> None:
    for body in (b"", b"[]", b"{}", b"\xff"):
        with pytest.raises(InvalidResponseError):
            verify_webhook(body, header(sign(body)), SECRET, now=NOW)


def test_comparison_takes_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    verify_webhook(BODY, header(sign(), "0" * 64), [SECRET, "sk_b"], now=NOW)
    assert len(compared) == 4  # all of them, also after the one that is right


class Receiver(ThreadingHTTPServer):
    """What the documentation tells a merchant to write."""

    def __init__(self, secret: str) -> None:
        self.events: list[models.Event] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = 204
                try:
                    receiver.events.append(
                        verify_webhook(body, self.headers.get("Service-Signature"), secret)
                    )
                except WebhookVerificationError:
                    status = 401
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


@pytest.fixture
def receiver(shop: Merchant) -> Iterator[Receiver]:
    receiver = Receiver(shop.secret_key)
    yield receiver
    receiver.shutdown()
    receiver.server_close()


def test_the_trainer_is_content(shop: Merchant, receiver: Receiver, tmp_path) -> None:
    (tmp_path / "key").write_text(shop.secret_key)
    done = shop.service.laari(
        "webhook", "train", receiver.url, "--secret-file", str(tmp_path / "key"), "--json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(receiver.events) > 5


def test_the_time_is_this_machines_own_unless_told() -> None:
    now = int(time.time())
    verify_webhook(BODY, header(sign(at=now), at=now), SECRET)
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BODY, header(), SECRET)
