"""A real `laari serve` for tests, and callers that speak to it over real HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import httpx

from laari.cli.main import run
from laari.rules.merchants.scopes import SCOPES
from laari.store.postgres.connect import connect
from tests import shops
from tests.acting import acting
from tests.actors import OPERATOR
from tests.cli.installations import environment
from tests.making import NewCustomer, make_customer, make_merchant
from tests.patience.sitecustomize import python_path

T = TypeVar("T")

START_SECONDS = 60
# A pool that closes what it has too much of may close what another thread has just been given:
# "Bad file descriptor". One that keeps everything does not.
KEEP_ALL = httpx.Limits(max_connections=None, max_keepalive_connections=None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Database:
    """One connection that is kept, for tests of any kind: its event loop has its own thread."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: asyncpg.Connection | None = None
        self._turn = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, action: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        return asyncio.run_coroutine_threadsafe(self._run(action), self._loop).result()

    async def _run(self, action: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        async with self._turn:
            if self._connection is None or self._connection.is_closed():
                self._connection = await connect(self._dsn)
            return await action(self._connection)

    def close(self) -> None:
        if self._connection is not None:
            self._loop.call_soon_threadsafe(self._connection.terminate)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass(frozen=True)
class Service:
    """A running service and the database behind it."""

    origin: str
    dsn: str
    master_key: bytes
    process: subprocess.Popen[bytes]
    env: dict[str, str]
    database: Database

    @property
    def metrics_url(self) -> str:
        return f"http://{self.env['LAARI_METRICS_ADDRESS']}/metrics"

    def merchant(
        self, *, mode: str = "sandbox", name: str = "Test Shop", **options: Any
    ) -> Merchant:
        new = self.database.run(
            lambda connection: make_merchant(
                connection, OPERATOR, self.master_key, name=name, mode=mode, **options
            )
        )
        return Merchant(self, new.merchant.id, new.secret_key)

    def customer(self, **contacts: str) -> NewCustomer:
        """A live customer with MVR 1,000.00."""

        return self.database.run(
            lambda connection: make_customer(
                connection,
                OPERATOR,
                name="Aisha",
                mode="live",
                tier="business",
                balance=100_000,
                password="x",
                key_with=self.master_key,
                **contacts,
            )
        )

    def execute(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        """Looks at or tampers with the database behind the service's back."""

        async def act(connection: asyncpg.Connection) -> list[asyncpg.Record]:
            async with acting(connection, OPERATOR, "test.change"):
                return await connection.fetch(statement, *values)

        return self.database.run(act)

    def laari(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the command line, beside the running service.

        In this process, which is ten times as quick, where nothing else runs in it meanwhile.
        """
        if threading.current_thread() is threading.main_thread() and not _in_a_loop():
            settings = {name: self.env[name] for name in self.env if name.startswith("LAARI_")}
            out, error = io.StringIO(), io.StringIO()
            with environment(settings), redirect_stdout(out), redirect_stderr(error):
                status = run(arguments)
            return subprocess.CompletedProcess(arguments, status, out.getvalue(), error.getvalue())
        return subprocess.run(
            [sys.executable, "-m", "laari", *arguments],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Merchant:
    """A merchant's own client: its key, its sandbox, its payments."""

    def __init__(self, service: Service, merchant_id: str, secret_key: str) -> None:
        self.service = service
        self.id = merchant_id
        self.secret_key = secret_key
        self.http = httpx.Client(
            base_url=f"{service.origin}/merchant",
            headers={"X-API-Key": secret_key},
            timeout=30,
            limits=KEEP_ALL,
        )

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query or None)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is None:
            return self.http.post(path, headers=named)
        return self.http.post(path, json=body, headers=named)

    def payment(self, **fields: Any) -> dict[str, Any]:
        """A new payment, with a reference of its own where none is given."""
        body = {"reference": f"ref-{secrets.token_hex(8)}", "amount": 12500, **fields}
        response = self.post("/payments", body)
        assert response.status_code == 201, response.text
        return response.json()["data"]

    def authorization(self, **fields: Any) -> dict[str, Any]:
        """A new authorization that waits for the customer."""
        body = {"reference": f"auth-{secrets.token_hex(8)}", "title": "Monthly box", **fields}
        response = self.post("/authorizations", body)
        assert response.status_code == 201, response.text
        return response.json()["data"]

    def approved(self, **fields: Any) -> dict[str, Any]:
        """A new authorization that the sandbox customer has approved."""
        waiting = self.authorization(**fields)
        return self.control(f"authorizations/{waiting['id']}/approve")

    def charge(
        self, authorization: dict[str, Any], amount: int, reference: str = "", **fields: Any
    ) -> httpx.Response:
        body = {"reference": reference or f"ref-{secrets.token_hex(8)}", "amount": amount, **fields}
        return self.post(f"/authorizations/{authorization['id']}/charge", body)

    def request(self, **fields: Any) -> dict[str, Any]:
        """A new payment request to the sandbox customer."""
        body = {
            "reference": f"ref-{secrets.token_hex(8)}",
            "amount": 12500,
            "customer": {"type": "vpa", "value": "sandbox"},
            **fields,
        }
        response = self.post("/payment-requests", body)
        assert response.status_code == 201, response.text
        return response.json()["data"]

    def client(self, scope: str = " ".join(SCOPES)) -> tuple[str, str]:
        """The id and secret of a new OAuth client."""
        client, secret = self.service.database.run(
            lambda connection: shops.create_client(
                connection, OPERATOR, self.service.master_key, self.id, scope
            )
        )
        return client.id, secret

    def token(self, scope: str = " ".join(SCOPES)) -> str:
        """An access token with exactly this scope, of a new client."""
        response = ask_for_token(self.service, auth=self.client(scope))
        assert response.status_code == 200, response.text
        return response.json()["access_token"]

    def bearer(self, token: str) -> httpx.Client:
        """A client that shows this token and nothing else."""
        return httpx.Client(
            base_url=f"{self.service.origin}/merchant",
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )

    def control(self, path: str, body: Any = None) -> dict[str, Any]:
        """A sandbox control that is expected to work."""
        response = self.post(f"/sandbox/{path}", body)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    def advance(self, seconds: int) -> dict[str, Any]:
        return self.control("clock", {"advance_seconds": seconds})

    def events(self, object_id: str) -> list[str]:
        """The types of the events of one object, in the order they were made."""
        rows = self.service.execute(
            "SELECT type FROM events WHERE object_id = $1::uuid ORDER BY created_at, id",
            object_id.partition("_")[2],
        )
        return [row["type"] for row in rows]


def ask_for_token(
    service: Service, *, auth: tuple[str, str] | None = None, **form: str
) -> httpx.Response:
    return httpx.post(
        f"{service.origin}/merchant/oauth/token",
        data={"grant_type": "client_credentials", **form},
        auth=auth,
    )


@contextmanager
def serving(
    dsn: str,
    directory: Path,
    *,
    workers: int = 1,
    in_earnest: bool = False,
    host: str = "127.0.0.1",
    **settings: str,
) -> Iterator[Service]:
    """Runs `laari serve` on the database until the block ends; `in_earnest` with real deadlines.

    `host` is a name for this machine, under which browsers find the service.
    """
    port = free_port()
    origin = f"http://{host}:{port}"
    master_key = hashlib.sha256(dsn.encode()).digest()  # a database has one: another is refused
    env = {
        **os.environ,
        "LAARI_DATABASE_URL": dsn,
        "LAARI_DATA_DIR": str(directory),
        "LAARI_MASTER_KEY": master_key.hex(),
        "LAARI_MERCHANT_RATE_LIVE": "0",
        "LAARI_MERCHANT_RATE_SANDBOX": "0",
        "LAARI_METRICS_ADDRESS": f"127.0.0.1:{free_port()}",
        **({} if host == "127.0.0.1" else {"LAARI_PUBLIC_URL": origin}),
        **settings,
    }
    if in_earnest:
        env["PYTHONPATH"] = python_path()
    log = directory / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "laari",
                "serve",
                "--port",
                str(port),
                "--workers",
                str(workers),
            ],
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    database = Database(dsn)
    try:
        await_ready(process, origin, log)
        yield Service(origin, dsn, master_key, process, env, database)
    finally:
        database.close()
        process.terminate()
        process.wait(60)


def await_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"laari serve ended:\n{log.read_text()}")
        try:
            if httpx.get(f"{address}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"laari serve is not ready:\n{log.read_text()}")
