"""The trainer against the two receivers in examples/: the good one passes, the naive one fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import httpx
import pytest

from tests.serving import free_port

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


def train(url: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "laari", "webhook", "train", url, "--secret", SECRET, *options],
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


def test_a_receiver_that_is_not_there_fails_everything() -> None:
    ended = train(f"http://127.0.0.1:{free_port()}/")
    assert ended.returncode == 1
    assert "the connection was refused" in ended.stdout
    assert "yes" not in ended.stdout


@pytest.mark.parametrize("url", ["localhost", "ftp://localhost/", "http://a:b@localhost/"])
def test_what_is_no_url_is_refused(url: str) -> None:
    ended = train(url, "--json")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("laari: URL must")
