"""Peers from PyPI, each in an environment of its own under `bench/.peers` (`make bench-peers`).

They listen on the loopback only and keep their data in a directory that goes away with them.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench.load import Load, wrk
from bench.service import PROCESSES, free_port, process_at

CLIENTS = (1, 4, 8, 64)  # tried, to find the count at which a peer is fastest
PEERS = Path(__file__).parent / ".peers"
# Not every release of a peer names the versions it works with.
PACKAGES = {
    "localstripe": ("localstripe",),
    "lnbits": ("lnbits", "bitstring<5"),
    "segno": ("segno",),
}

# Its own command listens on every address and writes its whole store to /tmp after each change:
# here it stays on the loopback and, which is faster, in memory.
_LOCALSTRIPE = """
import sys
from aiohttp import web
from localstripe import resources, server
resources.Store.dump_to_disk = lambda self: None
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
"""
# A payment link as a PNG, as `get_qr` makes it.
_SEGNO = """
import io, sys, time, segno
end, images = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    segno.make(f"https://pay.example.com/pay/token-{images:016d}", error="m").save(
        io.BytesIO(), kind="png", scale=8)
    images += 1
print(images)
"""


def python(peer: str) -> Path:
    """Its own; what a peer is asked to do may follow its name."""
    return PEERS / peer.split(maxsplit=1)[0] / "bin" / "python"


def is_installed(peer: str) -> bool:
    return python(peer).exists()


@contextmanager
def localstripe() -> Iterator[Peer]:
    port = free_port()
    with process_at(
        [str(python("localstripe")), "-c", _LOCALSTRIPE, str(port)],
        f"http://127.0.0.1:{port}/",
    ):
        basic = base64.b64encode(b"sk_test_bench:").decode()
        yield Peer(f"http://127.0.0.1:{port}", "localstripe", basic)


@contextmanager
def lnbits() -> Iterator[Peer]:
    """Creating an invoice."""
    with _lnbits() as (origin, _):
        yield Peer(origin, "lnbits", _lnbits_account(origin)["inkey"])


@contextmanager
def lnbits_paying() -> Iterator[Peer]:
    """Creating an invoice, then paying it from another wallet of the same server."""
    with _lnbits() as (origin, directory):
        payee, payer = _lnbits_account(origin), _lnbits_account(origin)
        invoice = {"out": False, "amount": 1_000_000, "memo": "Opening balance"}
        _post(f"{origin}/api/v1/payments", invoice, {"X-Api-Key": payer["inkey"]})
        with closing(sqlite3.connect(Path(directory, "database.sqlite3"))) as database, database:
            database.execute("UPDATE apipayments SET status = 'success'")
        yield Peer(origin, "lnbits_paying", payee["inkey"], payer["adminkey"])


def _lnbits_account(origin: str) -> dict[str, Any]:
    return _post(f"{origin}/api/v1/account", {"name": "bench"}, {})


def _post(address: str, body: Any, headers: dict[str, str]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)  # type: ignore[no-any-return]


@contextmanager
def _lnbits() -> Iterator[tuple[str, str]]:
    """Its address and its directory. With its own fake backend it needs no Lightning node."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="lnbits-") as directory:
        env = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "HOME")},
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "LNBITS_ADMIN_UI": "false",
            "LNBITS_BACKEND_WALLET_CLASS": "FakeWallet",
            "LNBITS_DATA_FOLDER": directory,
            "LNBITS_EXTENSIONS_PATH": directory,
            "LNBITS_RATE_LIMIT_NO": "1000000000",
            # Without these it asks for the price of a bitcoin with every invoice, and waits.
            "LNBITS_PRICE_AGGREGATOR_ENABLED": "false",
            "LNBITS_EXCHANGE_RATE_PROVIDERS": "[]",
            "ENABLE_LOG_TO_FILE": "false",
            "DEBUG": "false",
        }
        command = [
            str(python("lnbits")),
            "-m",
            "uvicorn",
            "lnbits.__main__:app",
            "--host=127.0.0.1",
            f"--port={port}",
            "--loop=uvloop",
            "--no-access-log",
            "--log-level=warning",
        ]
        origin = f"http://127.0.0.1:{port}"
        # It looks for its pages where it is installed, and says much at its start.
        home = next((PEERS / "lnbits" / "lib").glob("python*/site-packages"))
        with process_at(command, f"{origin}/api/v1/health", env, home, quiet=True):
            yield origin, directory


class Peer:
    """A running peer and the script that makes it do what the service does."""

    def __init__(self, origin: str, script: str, key: str, *extra: str) -> None:
        self._origin, self._script, self._key, self._extra = origin, script, key, extra
        self._best: int | None = None

    def run(self, clients: int, seconds: int) -> Load:
        """With so many clients, or fewer where it does more with fewer."""
        if self._best is None:
            found = {count: self._wrk(count, seconds).per_second for count in CLIENTS}
            self._best = max(found, key=found.__getitem__)
        return self._wrk(min(clients, self._best), seconds)

    def _wrk(self, clients: int, seconds: int) -> Load:
        arguments = (self._key, "bench", "0", "1", "1", "1", "1", "1", *self._extra)
        return wrk(self._origin, self._script, arguments, clients, seconds)


STARTERS = {"localstripe": localstripe, "lnbits": lnbits, "lnbits paying": lnbits_paying}


def segno(seconds: int) -> Load:
    """Images per second of segno alone, in as many processes as the service has."""
    processes = [
        subprocess.Popen(
            [python("segno"), "-c", _SEGNO, str(seconds)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(PROCESSES)
    ]
    images = sum(int(process.communicate(timeout=seconds + 60)[0]) for process in processes)
    each_ms = 1000 * PROCESSES * seconds / max(images, 1)
    return Load(images, seconds, 0, each_ms, each_ms)


def install() -> int:
    """Installs the peers; one that cannot be installed here is left out."""
    failed = 0
    for peer, packages in PACKAGES.items():
        home = PEERS / peer
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        done = subprocess.run([python(peer), "-m", "pip", "install", "-q", *packages], check=False)
        if done.returncode != 0:
            subprocess.run(["rm", "-rf", home], check=True)
            print(f"{peer} cannot be installed here: make bench goes on without it")
            failed += 1
    return failed


if __name__ == "__main__":
    install()
