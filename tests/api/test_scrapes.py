"""Who reads `/metrics`: their own address, or the main one with a token."""

import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from laari.edge.load.scrapes import Scrapes
from laari.http.messages import Request
from laari.process import supervisor
from laari.process.supervisor import listen_for_metrics
from laari.settings import SettingsError, read_settings
from tests.edge.sent import sent
from tests.serving import Service, free_port, serving

TOKEN = "kx0vQ9uT7dWmZ3pLr5Ay"


def status(origin: str, path: str = "/metrics", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.get(f"{origin}{path}", headers=named).status_code


def asked(client: str, *fields: tuple[bytes, bytes], port: int = 8000) -> Request:
    fields = fields or ((b"host", b"127.0.0.1:8000"),)
    return sent("/metrics", fields=fields, client=client, local=("192.0.2.1", port))


def test_the_main_address_tells_nobody_without_a_token() -> None:
    """A proxy on this machine that says nothing of itself looks like a program on it."""
    for listener in (None, ("127.0.0.1", 9464)):
        for client in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "192.0.2.7", ""):
            refused = Scrapes(listener, None).refusal(asked(client))
            assert refused is not None
            assert refused.status == 404


@pytest.mark.parametrize("taken", [False, True])
def test_by_default_they_have_an_address_of_this_machine(
    taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual port, or a free one if another service of the machine has that."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        usual = other.getsockname()[1]
        if not taken:
            other.close()
        monkeypatch.setattr(supervisor, "DEFAULT_METRICS_ADDRESS", ("127.0.0.1", usual))
        listener = listen_for_metrics(read_settings({}))
        assert listener is not None
        with listener:
            host, port = listener.getsockname()
            assert host == "127.0.0.1"
            assert (port == usual) is not taken


def test_with_a_token_alone_they_have_none() -> None:
    assert listen_for_metrics(read_settings({"LAARI_METRICS_TOKEN": TOKEN})) is None


@pytest.mark.ci
def test_where_they_are_is_told(tmp_path: Path, dsn: str) -> None:
    """Two services on one machine: both start, and say where."""
    with ExitStack() as stack:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            log = tmp_path / name / "serve.log"
            # Unset, as an operator leaves it.
            stack.enter_context(serving(dsn, tmp_path / name, LAARI_METRICS_ADDRESS=""))
            told = await_line(log, r"Its metrics are at (http://127.0.0.1:(\d+)/metrics)(.*)")
            assert httpx.get(told[1]).status_code == 200
            why = " (port 9464 is in use)"
            assert told[3] == ("" if told[2] == "9464" else why)
        assert told[2] != "9464"


def await_line(log: Path, pattern: str) -> re.Match[str]:
    deadline = time.monotonic() + 30
    while (found := re.search(pattern, log.read_text())) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_an_address_of_their_own_serves_them_and_nothing_else(dsn: str, tmp_path: Path) -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    with serving(dsn, tmp_path, LAARI_METRICS_ADDRESS=address) as service:
        own = f"http://{address}"
        assert status(own) == 200
        assert status(own, X_Forwarded_For="192.0.2.7") == 200
        paths = ("/", "/healthz", "/docs", "/merchant/payments", "/wallet", "/app", "/metrics/")
        assert {status(own, path) for path in paths} == {404}
        assert status(service.origin) == 404
        assert status(service.origin, "/healthz") == 200
        await_line(tmp_path / "serve.log", re.escape(f"metrics are at {own}/metrics\n"))
        head = httpx.head(f"{own}/metrics")
        assert (head.status_code, head.content) == (200, b"")
    with pytest.raises(httpx.ConnectError):
        httpx.get(own)


def test_an_address_that_is_taken_is_one_line(dsn: str, tmp_path: Path, service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "laari", "serve", "--port", "0"],
            env={**service.env, "LAARI_METRICS_ADDRESS": f"127.0.0.1:{port}"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == f"laari: port {port} on 127.0.0.1 is in use by another program\n"


@pytest.mark.ci
def test_a_token_opens_them_to_whoever_has_it(dsn: str, tmp_path: Path) -> None:
    with serving(dsn, tmp_path, LAARI_METRICS_ADDRESS="", LAARI_METRICS_TOKEN=TOKEN) as service:
        refused = httpx.get(f"{service.origin}/metrics")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
        for wrong in (TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Basic Og=="):
            assert status(service.origin, Authorization=wrong) == 401
        right = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": "192.0.2.7"}
        assert status(service.origin, **right) == 200


def test_a_token_counts_at_their_own_address_too() -> None:
    scrapes = Scrapes(("0.0.0.0", 9464), TOKEN)
    refused = scrapes.refusal(asked("192.0.2.7", port=9464))
    assert refused is not None
    assert refused.status == 401
    shown = (b"authorization", f"Bearer {TOKEN}".encode())
    assert scrapes.refusal(asked("192.0.2.7", shown, port=9464)) is None
    main = scrapes.refusal(asked("127.0.0.1", shown))
    assert main is not None
    assert main.status == 404


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:9464", ("::1", 9464)),
        ("metrics.internal:80", ("metrics.internal", 80)),
        ("", None),
    ],
)
def test_addresses_are_read(written: str, read: tuple[str, int] | None) -> None:
    assert read_settings({"LAARI_METRICS_ADDRESS": written}).metrics_address == read


@pytest.mark.parametrize("address", ["9464", ":9464", "::1:9464", "a:b", "a:99999", "http://a:1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="LAARI_METRICS_ADDRESS"):
        read_settings({"LAARI_METRICS_ADDRESS": address})


@pytest.mark.parametrize("token", ["short", "x" * 15, "with a space in it all", "ü" * 20])
def test_a_weak_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(SettingsError, match="LAARI_METRICS_TOKEN") as refused:
        read_settings({"LAARI_METRICS_TOKEN": token})
    assert not re.search(re.escape(token), str(refused.value))
