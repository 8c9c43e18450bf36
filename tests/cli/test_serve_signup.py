"""`laari serve` does not open sign-up beside merchants that move real money."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from laari.store import merchants
from laari.store.database import connection_to
from laari.store.migrate import migrate


async def test_sign_up_does_not_start_where_a_merchant_is_live(
    empty_dsn: str, tmp_path: Path
) -> None:
    await migrate(empty_dsn)
    async with connection_to(empty_dsn) as connection:
        await merchants.create(connection, bytes(32), name="Shop", mode="live")
    ended = subprocess.run(
        [sys.executable, "-m", "laari", "serve", "--port", "0"],
        env={
            **os.environ,
            "LAARI_DATABASE_URL": empty_dsn,
            "LAARI_MASTER_KEY": bytes(32).hex(),
            "LAARI_DATA_DIR": str(tmp_path),
            "LAARI_SANDBOX_SIGNUP": "on",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "LAARI_SANDBOX_SIGNUP" in ended.stderr
