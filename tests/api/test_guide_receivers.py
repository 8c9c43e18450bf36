"""The webhook receivers of the guides, as a reader saves and starts them, pass the trainer."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.api.guide_samples import CLIENTS, file_named, needed, with_php_client
from tests.serving import free_port

pytestmark = pytest.mark.ci

SECRET = "sk_training"
PATIENCE_SECONDS = 30


def _python(directory: Path, port: int) -> list[str]:
    (directory / "receiver.py").write_text(file_named("receiver.py"))
    return [sys.executable, "-m", "uvicorn", "receiver:app", "--port", str(port)]


def _php(directory: Path, port: int) -> list[str]:
    needed("php")
    with_php_client(directory)
    (directory / "receiver.php").write_text(file_named("receiver.php"))
    return ["php", "-S", f"127.0.0.1:{port}", "receiver.php"]


RECEIVERS = {"python": _python, "php": _php}


@contextmanager
def running(command: list[str], port: int, directory: Path) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}/hook"
    environment = {
        **os.environ,
        "LAARI_SECRET_KEY": SECRET,
        "PORT": str(port),
        "PYTHONPATH": str(CLIENTS["python"]),
    }
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                assert process.poll() is None, (directory / "log").read_text()
                assert time.monotonic() < deadline, "it does not start"
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def trained(url: str) -> dict[str, object]:
    ended = subprocess.run(
        [sys.executable, "-m", "laari", "webhook", "train", url, "--secret", "-", "--json"],
        input=SECRET + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report: dict[str, object] = json.loads(ended.stdout)
    return report


@pytest.mark.parametrize("language", RECEIVERS)
def test_a_receiver_passes_every_exercise(language: str, tmp_path: Path) -> None:
    port = free_port()
    with running(RECEIVERS[language](tmp_path, port), port, tmp_path) as url:
        assert trained(url)["passed"] is True
    shop = sqlite3.connect(tmp_path / "shop.db")
    (events,) = shop.execute("SELECT count(*) FROM events").fetchone()
    (fulfilled,) = shop.execute("SELECT count(*) FROM fulfilled").fetchone()
    assert 0 < fulfilled < events  # other types were acknowledged, and fulfilled nothing
