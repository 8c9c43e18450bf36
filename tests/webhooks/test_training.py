"""The trainer against the two receivers in examples/: the good one passes, the naive one fails."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from time import sleep

import httpx
import pytest

from tests.serving import free_port

pytestmark = pytest.mark.ci

EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "sk_training"


@contextmanager
def running(example: str) -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, EXAMPLES / example, str(port)],
        env={**os.environ, "LAARI_SECRET_KEY": SECRET},
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(400):
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def train(url: str, *options: str, secret: str = SECRET) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "laari", "webhook", "train", url, "--secret", secret, *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_example_receiver_passes_everything() -> None:
    with running("receiver.py") as url:
        ended = train(url, "--json")
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert (report["url"], report["passed"]) == (url, True)
    assert {result["exercise"] for result in report["exercises"]} >= {
        "duplicate",
        "out of order",
        "stale timestamp",
        "wrong signature",
        "changed body",
        "unknown event type",
    }


def test_the_naive_receiver_fails_where_it_should() -> None:
    with running("naive_receiver.py") as url:
        ended = train(url, "--json")
    assert ended.returncode == 1
    assert "failed 8 of 16 exercises" in ended.stderr
    report = json.loads(ended.stdout)
    assert report["passed"] is False
    assert {result["exercise"] for result in report["exercises"] if not result["passed"]} == {
        "duplicate",
        "duplicates at once",
        "unknown event type",
        "raw body",
        "stale timestamp",
        "timestamp of the future",
        "no signature",
        "empty signature",
    }


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_where_nothing_listens_it_stops_at_once(options: tuple[str, ...]) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    ended = train(url, *options)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"laari: connection refused on {url}; is it running?\n"


class Dying(BaseHTTPRequestHandler):
    """Answers the first exercise, and is gone."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.socket.close()  # before the answer, after which the next exercise comes
        self.send_response(204)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def test_a_receiver_that_dies_ends_the_training() -> None:
    server = HTTPServer(("127.0.0.1", 0), Dying)
    thread = Thread(target=server.handle_request)
    thread.start()
    ended = train(f"http://127.0.0.1:{server.server_port}/")
    thread.join()
    assert ended.returncode == 1
    assert ended.stdout.split() == ["1/16", "ok", "valid", "event", "204"]
    assert "connection refused on" in ended.stderr


def test_another_secret_is_guessed() -> None:
    with running("receiver.py") as url:
        ended = train(url, secret="sk_other")
        assert "check that it verifies with the secret" in ended.stderr
        assert "FAIL  valid event" in ended.stdout
        assert "401, expected 2xx" in ended.stdout
        ended = train(url)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "16/16  ok    malformed header         401" in ended.stdout
    assert "passed all 16 exercises" in ended.stdout
    assert "\x1b" not in ended.stdout  # no terminal: no colours, and nothing that is overwritten


@pytest.mark.parametrize("url", ["localhost", "ftp://localhost/", "http://a:b@localhost/"])
def test_what_is_no_url_is_refused(url: str) -> None:
    ended = train(url, "--json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("laari: URL must")
