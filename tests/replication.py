"""A primary and standbys of it that stream from it, on real servers."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg

from laari.engine.embedded import embedded_server
from laari.engine.programs import run
from laari.store.postgres.migrate import migrate


class Pair(NamedTuple):
    primary: str
    standby: str
    cluster: Path  # the standby's

    @property
    def both(self) -> str:
        """One URL with the standby first."""
        return self.primary.replace("host=", f"host={socket_of(self.standby)},")

    async def execute(self, *statements: str) -> None:
        connection = await asyncpg.connect(self.primary)
        try:
            await connection.execute("SET synchronous_commit = local")
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    async def waiting_commits(self) -> int:
        connection = await asyncpg.connect(self.primary)
        try:
            return await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            )
        finally:
            await connection.close()

    async def ask_standby(self, statement: str) -> object:
        connection = await asyncpg.connect(self.standby)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def replayed(self) -> None:
        """Waits until the standby has all that the primary has."""
        connection = await asyncpg.connect(self.primary)
        try:
            lsn = await connection.fetchval("SELECT pg_current_wal_insert_lsn()::text")
        finally:
            await connection.close()
        while not await self.ask_standby(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'"):
            await asyncio.sleep(0.05)

    async def pause_replay(self) -> None:
        await self.ask_standby("SELECT pg_wal_replay_pause()")
        while await self.ask_standby("SELECT pg_get_wal_replay_pause_state()") != "paused":
            await asyncio.sleep(0.02)

    async def configure_standby(self, name: str, value: str) -> None:
        with (self.cluster / "postgresql.auto.conf").open("a") as file:
            file.write(f"{name} = {value}\n")
        await self.ask_standby("SELECT pg_reload_conf()")
        while await self.ask_standby(f"SHOW {name}") != value:
            await asyncio.sleep(0.02)

    def promote(self) -> None:
        promoted = run("pg_ctl", "promote", "-w", "-D", str(self.cluster))
        assert promoted.returncode == 0, promoted.stderr

    def stop_standby(self) -> None:
        run("pg_ctl", "stop", "-m", "immediate", "-D", str(self.cluster))

    @contextmanager
    def frozen_standby(self) -> Iterator[None]:
        """Its server accepts connections and answers nothing, and nothing is replayed."""
        pids = _tree(int((self.cluster / "postmaster.pid").read_text().split()[0]))
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)


def _tree(postmaster: int) -> list[int]:
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text()
    return [postmaster, *map(int, children.split())]


def socket_of(dsn: str) -> str:
    return dsn.partition("host=")[2].partition("&")[0]


@contextmanager
def copy_of(dsn: str, folder: Path, *, standby: bool = True) -> Iterator[Pair]:
    """A copy of a running server, which follows it or goes its own way."""
    cluster = folder / "cluster"
    sockets = Path(tempfile.mkdtemp(prefix="laari-"))  # a socket's path has to be short
    own = socket_of(dsn)
    follows = ("-R",) if standby else ()
    folder.mkdir(parents=True)
    copied = run("pg_basebackup", "-h", own, "-U", "laari", "-D", str(cluster), "-cfast", *follows)
    assert copied.returncode == 0, copied.stderr
    started = run(
        "pg_ctl",
        "start",
        "-w",
        "-D",
        str(cluster),
        "-l",
        str(folder / "log"),
        "-o",
        f"-k {sockets}",
    )
    assert started.returncode == 0, (folder / "log").read_text()
    pair = Pair(dsn, dsn.replace(own, str(sockets)), cluster)
    try:
        yield pair
    finally:
        pair.stop_standby()
        shutil.rmtree(sockets)


@contextmanager
def replicated(folder: Path) -> Iterator[Pair]:
    """A primary with the schema and a standby of it."""
    with embedded_server(folder / "primary", durable=False) as primary:
        with ThreadPoolExecutor(1) as own_loop:  # for tests that have one themselves
            own_loop.submit(lambda: asyncio.run(migrate(primary))).result()
        with copy_of(primary, folder / "standby") as pair:
            yield pair
