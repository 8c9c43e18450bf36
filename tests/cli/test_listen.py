"""`laari listen` and `laari-client listen`: a merchant's events, posted as webhooks are."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from laari.rules.webhooks import signature
from tests.cli.programs import LAARI, Program, each_program
from tests.cli.test_terminal import HOSTILE, unseen
from tests.serving import Service, free_port

pytestmark = pytest.mark.ci

PATIENCE_SECONDS = 30.0
Handler = Callable[[str, bytes, Any], tuple[int, bytes]]


@pytest.fixture(scope="module")
def service(usual_service: Service) -> Service:
    return usual_service


@contextmanager
def answering(handler: Handler) -> Iterator[str]:
    """A server of ours: the handler gets path, body and headers, and says what it answers."""

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = handler(self.path, body, self.headers)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST  # noqa: N815  # http.server's name

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Requests) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Listening:
    """A running `listen` and what it has printed."""

    def __init__(self, program: Program, url: str, key: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", program.module, "listen", "--url", url, *options],
            env={**os.environ, "LAARI_SECRET_KEY": key},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def until(self, *words: str) -> str:
        """The first line that has all the words."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if all(word in line for word in words):
                    return line
            time.sleep(0.05)
        raise AssertionError(f"{words} did not come: {self.lines}")

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE_SECONDS)
        self._reading.join(PATIENCE_SECONDS)
        return status


@contextmanager
def listening(program: Program, url: str, key: str, *options: str) -> Iterator[Listening]:
    started = Listening(program, url, key, *options)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait()


@each_program
def test_events_are_signed_posted_and_shown(program: Program, service: Service) -> None:
    shop = service.merchant()
    shop.payment(title="from before")
    came: list[tuple[bytes, str]] = []

    def receive(path: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        came.append((body, headers["Service-Signature"]))
        return (500, HOSTILE.encode()) if b"payment.paid" in body else (204, b"")

    with (
        answering(receive) as hook,
        listening(
            program, f"{service.origin}/merchant/", shop.secret_key, "--forward-to", f"{hook}/hook"
        ) as command,
    ):
        command.until("Following the sandbox events")
        payment = shop.payment(title='Fish "n" chips ދ 🐟')
        command.until("payment.created", payment["id"], "204 in")
        shop.advance(86_400 * 30)
        payment = shop.payment()
        shop.control(f"payments/{payment['id']}/pay")
        command.until("payment.paid", payment["id"], "500 in", "\\x1b[2J")
        # What happens after the clock was set back stands below that, and comes all the same.
        shop.control("clock", {"reset": True})
        later = shop.payment()
        command.until("payment.created", later["id"])
        assert command.end() == 0
        assert "Traceback" not in "\n".join(command.lines)
        assert unseen("\n".join(command.lines)) == set()
    sent = service.execute(
        "SELECT body FROM events WHERE tenant_id = (SELECT id FROM tenants WHERE merchant_id = $1 "
        "AND mode = 'sandbox') ORDER BY id OFFSET 1",
        shop.id,
    )
    assert [body for body, _ in came] == [row["body"] for row in sent]
    for body, signed in came:
        moment = int(signed.partition(",")[0].removeprefix("t="))
        assert signed == signature(shop.secret_key, moment, body)


@each_program
def test_with_json_each_line_is_a_value(program: Program, service: Service) -> None:
    shop = service.merchant()
    came: list[tuple[bytes, str]] = []

    def receive(path: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        came.append((body, headers["Service-Signature"]))
        return 200, b"ok"

    with (
        answering(receive) as hook,
        listening(
            program,
            service.origin,
            shop.secret_key,
            "--forward-to",
            hook,
            "--secret",
            "other",
            "--json",
        ) as command,
    ):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not command.lines and time.monotonic() < deadline:
            shop.payment()  # nothing is said at the beginning, so one of them is the first
            time.sleep(0.3)
        assert command.end(signal.SIGTERM) == 0
    shown = json.loads(command.lines[0])
    assert shown["event"]["type"] == "payment.created"
    assert shown["forwarded"]["http_status"] == 200
    body, signed = came[0]
    moment = int(signed.partition(",")[0].removeprefix("t="))
    assert signed == signature("other", moment, body)


@each_program
def test_where_nothing_listens_it_does_not_begin(program: Program, service: Service) -> None:
    shop, hook = service.merchant(), f"http://127.0.0.1:{free_port()}/hook"
    with listening(program, service.origin, shop.secret_key, "--forward-to", hook) as command:
        assert command.process.wait(PATIENCE_SECONDS) == 1
        command.until(f"{program.name}: connection refused on {hook}; is it running?")


@each_program
def test_a_receiver_that_goes_away_is_told_and_events_go_on(
    program: Program, service: Service
) -> None:
    shop = service.merchant()
    with answering(lambda *_: (200, b"")) as hook:
        command = Listening(program, service.origin, shop.secret_key, "--forward-to", hook)
        command.until("Posting each event")
    try:
        first = shop.payment()
        command.until(first["id"], "refused")
        second = shop.payment()
        command.until(second["id"])
        assert command.end() == 0
    finally:
        command.process.kill()


@each_program
def test_another_secret_is_guessed_once(program: Program, service: Service) -> None:
    shop = service.merchant()
    with (
        answering(lambda *_: (401, b"not signed")) as hook,
        listening(program, service.origin, shop.secret_key, "--forward-to", hook) as command,
    ):
        command.until("Posting each event")
        for _ in range(2):
            command.until(shop.payment()["id"], "401 in", "not signed")
        assert command.end() == 0
    told = f"{program.name}: {hook} answers 401: check that it verifies with your secret key"
    assert [line for line in command.lines if line.startswith(f"{program.name}:")] == [told]


@each_program
def test_live_events_want_a_word(
    program: Program, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    live = service.merchant(mode="live")
    arguments = ["listen", "--url", service.origin, "--key", live.secret_key]
    assert program.run(arguments) == 1
    assert "live mode" in capsys.readouterr().err
    with listening(program, service.origin, live.secret_key, "--live") as command:
        command.until("Following the live events")
        payment = live.payment()
        command.until(payment["id"])
        assert command.end() == 0


@each_program
def test_a_merchant_that_goes_live_is_no_longer_followed(
    program: Program, service: Service
) -> None:
    shop = service.merchant()
    with listening(program, service.origin, shop.secret_key) as command:
        command.until("Following the sandbox events")
        assert service.laari("merchant", "update", shop.id, "--mode", "live").returncode == 0
        command.until(f"{program.name}: this key is in live mode")
        assert command.process.wait(PATIENCE_SECONDS) == 1


class Stand:
    """A service that behaves as a test says: what it answers to each call, in turn."""

    def __init__(self) -> None:
        self.broken: tuple[int, bytes] | None = None
        self.events: list[dict[str, Any]] = []

    def __call__(self, path: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        if self.broken is not None:
            return self.broken
        if path.startswith("/merchant/sandbox/clock"):
            now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
            return 200, json.dumps({"data": {"now": now, "offset_seconds": 0}}).encode()
        page = {"data": self.events[:100], "pagination": {"has_more": False, "next_cursor": None}}
        return 200, json.dumps(page).encode()

    def happen(self, type: str) -> str:
        event_id = f"evt_{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {"id": event_id, "type": type, "created_at": moment, "data": {"id": type}}
        self.events.insert(0, event)
        return event_id


@each_program
def test_a_service_that_goes_away_is_waited_for_and_nothing_is_lost(program: Program) -> None:
    stand = Stand()
    with answering(stand) as url, listening(program, url, "sk_any") as command:
        command.until("Following")
        for broken in (
            (502, b"<html>Bad gateway</html>"),
            (503, b'{"error": {"message": "full"}}'),
        ):
            stand.broken = broken
            command.until("trying again")
            missed = stand.happen("payment.paid")
            command.lines.clear()
            stand.broken = None
            command.until("the service is back")
            command.until(missed)
        assert command.end() == 0


@each_program
def test_hostile_events_do_nothing_to_the_terminal(program: Program) -> None:
    stand = Stand()
    with answering(stand) as url, listening(program, url, "sk_any") as command:
        command.until("Following")
        event_id = stand.happen(HOSTILE)
        command.until(event_id)
        assert command.end() == 0
        assert unseen("\n".join(command.lines)) == set()


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>Log in</html>"),
        (404, b"<html>Not found</html>"),
        (302, b""),
        (200, b'{"data": {"now": "soon"}}'),
        (200, b'{"data": {"now": "2027-01-01"}}'),
        (200, b'{"data": [{"id": "evt_1"}]}'),
        (200, b"[]"),
        (401, b'{"error": {"code": "unauthorized", "message": "No \x1b[2J"}}'),
        (500, b'{"error": "broken"}'),
    ],
)
@each_program
def test_what_is_no_laari_is_an_error_in_one_line(
    program: Program, answer: tuple[int, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(lambda *_: answer) as url:
        assert program.run(["listen", "--url", url, "--key", "sk_any"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert unseen(error) == set()


@each_program
def test_a_service_that_says_nothing_is_given_up(
    program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program.timeout, 0.3)
    silent = threading.Event()
    with answering(lambda *_: (200, str(silent.wait(5)).encode())) as url:
        assert program.run(["listen", "--url", url, "--key", "sk_any"]) == 1
        silent.set()
    told = "does not answer" if program is LAARI else "No answer from"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("target", ["localhost:3000", "ftp://localhost/", "http://u:p@localhost/"])
@each_program
def test_what_is_no_receiver_is_refused(
    program: Program, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(["listen", "--key", "k", "--forward-to", target]) == 1
    assert "--forward-to" in capsys.readouterr().err
