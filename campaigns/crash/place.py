"""A service on an embedded, durable database of its own, with merchants and a webhook receiver."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from campaigns.receiver import Receiver
from laari.engine.cluster import prepare
from laari.store.secrets import load_master_key
from tests.serving import Database, Service, await_ready, free_port

BALANCE = 10_000_000_000  # laari: more than all payments of a campaign
DAILY_CHARGES = 150_000  # laari: the limit of each merchant's limited authorization
STOP_SECONDS = 45


@dataclass(frozen=True)
class Shop:
    """A merchant, with what its clients need."""

    id: str
    secret_key: str
    authorization_id: str  # without limits
    limited_id: str  # with a limit for a day


@dataclass(frozen=True)
class Place:
    service: Service
    data_dir: Path
    receiver: Receiver
    shops: list[Shop]

    def processes(self, role: str) -> list[int]:
        """The interface processes, or the background process."""
        found = []
        for child in psutil.Process(self.service.process.pid).children():
            try:
                command = child.cmdline()
            except psutil.NoSuchProcess:
                continue
            if command[-2:] == ["laari.process.process", role]:
                found.append(child.pid)
        return found

    def postmaster(self) -> int | None:
        try:
            file = self.data_dir / "postgres" / "postmaster.pid"
            return int(file.read_text().splitlines()[0])
        except (FileNotFoundError, IndexError, ValueError):  # between two lives
            return None


@contextmanager
def embedded(data_dir: Path, *, workers: int = 2, **settings: str) -> Iterator[Service]:
    """Runs `laari serve` without a database of anybody else, so that it keeps its own alive."""
    port = free_port()
    own = {name: value for name, value in os.environ.items() if not name.startswith("LAARI_")}
    env = {
        **own,
        "LAARI_DATA_DIR": str(data_dir),
        "LAARI_MERCHANT_RATE_SANDBOX": "0",
        "LAARI_MERCHANT_RATE_LIVE": "0",
        "LAARI_WEBHOOK_ALLOW_PRIVATE": "on",
        **settings,
    }
    origin, log = f"http://127.0.0.1:{port}", data_dir.with_suffix(".log")
    command = [sys.executable, "-m", "laari", "serve", f"--port={port}", f"--workers={workers}"]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT)
    database: Database | None = None
    try:
        await_ready(process, origin, log)
        dsn, master_key = prepare(data_dir).dsn, load_master_key(data_dir)
        database = Database(dsn)
        yield Service(origin, dsn, master_key, process, env, database)
    finally:
        if database is not None:
            database.close()
        process.terminate()
        process.wait(STOP_SECONDS)


@asynccontextmanager
async def installed(data_dir: Path, shops: int = 4, **settings: str) -> AsyncIterator[Place]:
    receiver = Receiver("127.0.0.1")
    await receiver.start()
    try:
        with embedded(data_dir, **settings) as service:
            made = await asyncio.to_thread(
                lambda: [open_shop(service, receiver.url, number) for number in range(shops)]
            )
            yield Place(service, data_dir, receiver, made)
    finally:
        await receiver.close()


def open_shop(service: Service, webhook_url: str, number: int) -> Shop:
    """The last of four has a customer with the limits of an ordinary wallet."""
    merchant = service.merchant(name=f"Shop {number}", webhook_url=webhook_url)
    tier = "basic" if number == 3 else "business"
    merchant.control("wallet", {"balance": BALANCE, "tier": tier})
    free = merchant.approved()
    limits = {"period": {"interval": "day", "amount": DAILY_CHARGES}}
    limited = merchant.approved(limits=limits)
    merchant.http.close()
    return Shop(merchant.id, merchant.secret_key, free["id"], limited["id"])
