"""`laari serve` says in one line why it does not start, before anybody is served."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from laari.store.postgres.migrate import migrate
from laari.store.postgres.pool import connection_to


def refused(dsn: str, place: Path, **settings: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "laari", "serve", "--port", "0"],
        env={
            **os.environ,
            "LAARI_DATABASE_URL": dsn,
            "LAARI_MASTER_KEY": bytes(32).hex(),
            "LAARI_DATA_DIR": str(place),
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    return ended.stderr


@pytest.mark.parametrize("ahead", [1_000_000, 2**40])
async def test_it_does_not_start_on_a_server_that_counts_transactions_anew(
    empty_dsn: str, tmp_path: Path, ahead: int
) -> None:
    """A database that was moved there by a dump: what is written next would be counted nowhere."""
    await migrate(empty_dsn)
    async with connection_to(empty_dsn) as connection:
        await connection.execute("UPDATE figures_upto SET xid = xid + $1", ahead)
    assert "moved by a dump" in refused(empty_dsn, tmp_path)
