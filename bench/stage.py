"""Everything a run needs, started and filled: engine, service, bare route and peers."""

import asyncio
import base64
import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import peers
from bench.ceilings import SCRIPTS, PgBench, echo
from bench.depth import DEPTH, Pages
from bench.fill import FEE_BPS, TOPUP, Filled, Size, Tell, fill
from bench.load import Load, Target, drive
from bench.service import Service, environment, laari, running
from bench.settle import catch_up
from laari.engine.embedded import embedded_server
from laari.store.merchants.merchants import key_digest
from laari.store.postgres.pool import connection_to
from laari.store.secrets import load_master_key

KEPT = "bench.json"  # in the data directory: how to name what it was filled with
# The event whose body gives pgbench's rows their size.
_EVENTS = {"charge": "payment.paid", "charge_function": "payment.paid"}


@dataclass
class Stage:
    data_dir: Path
    dsn: str
    service: Service
    merchant_id: str
    target: Target
    fill_seconds: float
    _stack: ExitStack = field(repr=False)
    _origins: dict[str, str] = field(default_factory=dict)
    _ceilings: dict[str, PgBench] = field(default_factory=dict)
    _values: dict[str, str] = field(default_factory=dict)
    _peers: dict[str, peers.Peer] = field(default_factory=dict)

    def drive(self, script: str, extra: str, clients: int, seconds: int) -> Load:
        return drive(self.target, script, self.fill_in(extra), clients=clients, seconds=seconds)

    def fill_in(self, extra: str) -> str:
        """Puts the value where an extra argument names one; each is made at its first use."""
        for name, make in _VALUES.items():
            if name in extra:
                if name not in self._values:
                    self._values[name] = make(self)
                extra = extra.replace(name, self._values[name])
        return extra

    def peer(self, name: str, clients: int, seconds: int) -> Load:
        if name == "segno":
            return peers.segno(seconds)
        if name not in self._peers:
            self._peers[name] = self._stack.enter_context(peers.STARTERS[name]())
        return self._peers[name].run(clients, seconds)

    def echo(self, clients: int, seconds: int) -> Load:
        if "echo" not in self._origins:
            self._origins["echo"] = self._stack.enter_context(echo())
        target = self.target._replace(origin=self._origins["echo"])
        return drive(target, "echo", clients=clients, seconds=seconds)

    def unbatched(self, script: str, clients: int, seconds: int) -> Load:
        """The same service on the same rows, but each command has a transaction of its own.

        It ends afterwards: it would deliver and seal in the place of the one that is measured.
        """
        with running(self.data_dir, LAARI_MAX_BATCH="1", LAARI_WEBHOOK_ALLOW_PRIVATE="on") as other:
            target = self.target._replace(origin=other.origin)
            drive(target, script, clients=clients, seconds=1)
            return drive(target, script, clients=clients, seconds=seconds)

    def ceiling(self, script: str) -> PgBench:
        if script not in self._ceilings:
            # So that there is such an event.
            drive(self.target, script.removesuffix("_function"), clients=1, seconds=1)
            variables = {
                "tenant": str(self.target.filled.tenant),
                "authorizations": str(self.target.filled.size.authorizations),
                "first_ms": str(self.target.filled.first_ms),
                "digest": self._key_digest().hex(),
                "event": self._event(_EVENTS.get(script, "payment.created")),
            }
            self._ceilings[script] = PgBench(self.dsn, script, variables)
        return self._ceilings[script]

    def _key_digest(self) -> bytes:
        return key_digest(load_master_key(self.data_dir), self.target.secret_key)

    def _event(self, event_type: str) -> str:
        body: bytes | None = self.query(
            "SELECT body FROM events WHERE tenant_id = $1 AND type = $2 AND length(body) > 2 "
            "ORDER BY created_at DESC LIMIT 1",
            self.target.filled.tenant,
            event_type,
        )
        if body is None:
            raise RuntimeError(f"the service made no {event_type}")
        return body.decode()

    def query(self, statement: str, *values: Any) -> Any:
        async def ask() -> Any:
            async with connection_to(self.dsn) as connection:
                return await connection.fetchval(statement, *values)

        return asyncio.run(ask())

    def rows(self, statement: str, *values: Any) -> list[Any]:
        async def ask() -> list[Any]:
            async with connection_to(self.dsn) as connection:
                return list(await connection.fetch(statement, *values))

        return asyncio.run(ask())

    def commits(self) -> int:
        name = "current_database()"
        return int(self.query(f"SELECT xact_commit FROM pg_stat_database WHERE datname = {name}"))

    def log_position(self) -> int:
        """How many bytes of write-ahead log there have been."""
        return int(self.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


def _post(url: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)  # type: ignore[no-any-return]


def _basic(ready: Stage) -> str:
    client = ready.service.laari("client", "create", ready.merchant_id)
    pair = f"{client['client_id']}:{client['client_secret']}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _bearer(ready: Stage) -> str:
    headers = {
        "Authorization": _basic(ready),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    url = f"{ready.service.origin}/merchant/oauth/token"
    return f"Bearer {_post(url, b'grant_type=client_credentials', headers)['access_token']}"


def _sandbox_key(ready: Stage) -> str:
    """The key of a merchant whose sandbox customer can pay for as long as a run takes."""
    key = str(ready.service.laari("merchant", "create", "Sandbox")["secret_key"])
    body = json.dumps({"balance": TOPUP, "tier": "business"}).encode()
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    _post(f"{ready.service.origin}/merchant/sandbox/wallet", body, headers)
    return key


def _deep(ready: Stage) -> str:
    return Pages(ready.target).deep_cursor({}, DEPTH)[0]


_VALUES: dict[str, Callable[[Stage], str]] = {
    "{deep}": _deep,  # a cursor 100,000 rows on
    "{basic}": _basic,
    "{bearer}": _bearer,
    "{sandbox_key}": _sandbox_key,
}


@contextmanager
def stage(
    data_dir: Path, size: Size, *, keep: bool, tell: Tell = lambda text: None
) -> Iterator[Stage]:
    """Starts everything; a kept data directory is used as an earlier run left it.

    One whose filling was interrupted is filled anew.
    """
    if not keep or not (data_dir / KEPT).exists():
        shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    load_master_key(data_dir)
    with ExitStack() as stack:
        dsn = stack.enter_context(embedded_server(data_dir))
        known, filled, seconds = _filled(dsn, data_dir, size, tell)
        catch_up(dsn, data_dir, tell)
        service = stack.enter_context(running(data_dir, LAARI_WEBHOOK_ALLOW_PRIVATE="on"))
        asyncio.run(_install_functions(dsn))
        target = Target(service.origin, known["secret_key"], filled)
        yield Stage(data_dir, dsn, service, known["merchant_id"], target, seconds, stack)


async def _install_functions(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        await connection.execute((SCRIPTS / "functions.sql").read_text())


def _filled(
    dsn: str, data_dir: Path, size: Size, tell: Tell
) -> tuple[dict[str, Any], Filled, float]:
    """The merchant, the names of its rows, and how long it took to make them.

    Filled before there is a service: indexes are missing meanwhile, and what the background process
    keeps up to date is made at once instead of while the first workloads run.
    """
    kept = data_dir / KEPT
    if kept.exists():
        known = json.loads(kept.read_text())
        filled = Filled(Size(*known["size"]), *known["names"])
        if filled.size != size:
            raise SystemExit(f"{data_dir} was filled with another size: run without --keep")
        return known, filled, 0.0
    env = environment(data_dir)
    laari(env, "init")
    merchant = laari(
        env, "merchant", "create", "Bench", "--mode", "live", "--fee-bps", str(FEE_BPS)
    )
    filled, seconds = fill(dsn, merchant["merchant_id"], size, tell, load_master_key(data_dir))
    known = {**merchant, "size": size, "names": filled[1:]}
    kept.write_text(json.dumps(known))
    return known, filled, seconds
