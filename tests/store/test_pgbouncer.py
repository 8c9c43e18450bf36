"""Through pgbouncer in session mode, which refuses start-up parameters that it does not know."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from laari.engine.programs import _as_ordinary_user
from laari.rules.records.merchants import AccessToken
from laari.rules.tokens import IssueToken
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.migrate import check
from laari.store.postgres.pool import open_pool
from tests.serving import free_port

pytestmark = pytest.mark.ci

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@pytest.fixture
def bounced(dsn: str, tmp_path: Path) -> Iterator[str]:
    """The test's database, through a pgbouncer of its own."""
    if PGBOUNCER is None:
        pytest.skip("pgbouncer is not installed")
    parts = urlsplit(dsn)
    host = parse_qs(parts.query)["host"][0]
    port = free_port()
    settings = tmp_path / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={host} port=5432 user=laari\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n"
        "pool_mode = session\nunix_socket_dir =\n"
    )
    process = subprocess.Popen([*_as_ordinary_user(), PGBOUNCER, "-q", str(settings)])
    try:
        _await_listener(port)
        yield f"postgresql://laari@127.0.0.1:{port}{parts.path}"
    finally:
        process.terminate()
        process.wait(10)


def _await_listener(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < deadline, "pgbouncer does not start"
            time.sleep(0.02)
        else:
            return


async def test_everything_works_through_pgbouncer(bounced: str) -> None:
    await check(bounced)
    pool = await open_pool(bounced)
    runner = BatchRunner(bounced, "http://laari.test")
    spine = Spine(runner.run)
    spine.start()
    try:
        assert await pool.is_writable()
        issue = IssueToken(bytes(32), bytes(32), "cl_" + "a" * 20, "payments:read", 0)
        assert isinstance(await spine.submit(issue), AccessToken)
        count = "SELECT count(*) FROM access_tokens"
        assert await pool.read(asyncpg.Connection.fetchval, count) == 1
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await pool.read(asyncpg.Connection.execute, "DELETE FROM access_tokens")
        # What one session has set is not found by the next that is given the same server.
        await pool.close()
        again = await open_pool(bounced)
        await again.write(asyncpg.Connection.execute, "DELETE FROM access_tokens")
        assert await again.read(asyncpg.Connection.fetchval, count) == 0
        await again.close()
    finally:
        await spine.close()
        await runner.close()
