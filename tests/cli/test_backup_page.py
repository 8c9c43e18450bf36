"""The commands of docs/backup.md run, in the order in which a reader would type them."""

import asyncio
import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from laari.cli.main import run
from laari.engine.embedded import embedded_server
from laari.store.postgres.migrate import migrate
from laari.store.secrets import load_master_key
from tests.cli.installations import environment
from tests.databases import Engine

PAGE = Path(__file__).parents[2] / "docs" / "backup.md"

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks() -> list[str]:
    """What a reader types; the first block only names places, for which the test has its own."""
    names, *commands = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert all(line.startswith("export ") for line in names.splitlines())
    return commands


def execute(block: str, variables: dict[str, str]) -> str:
    # Every command of a block has to work; -u: a variable nobody has set is a mistake.
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "backups").mkdir()
    return {
        "LAARI_DATA_DIR": str(tmp_path / "data"),
        "BACKUPS": str(tmp_path / "backups"),
        "KEY_FILE": str(tmp_path / "laari-master.key"),
        "RESTORED": str(tmp_path / "restored"),
        "WAL_ARCHIVE": str(tmp_path / "wal"),
    }


def merchants(data_dir: str) -> str:
    return execute("laari merchant list --json", {"LAARI_DATA_DIR": data_dir})


@pytest.mark.campaign
def test_the_page_works_as_written(
    variables: dict[str, str], engine: Engine, tmp_path: Path
) -> None:
    keep_key, backup, restore, to_a_moment, external = blocks()
    data = Path(variables["LAARI_DATA_DIR"])
    load_master_key(data)
    with (
        environment({"LAARI_DATA_DIR": str(data)}),
        embedded_server(data, wal_archive=variables["WAL_ARCHIVE"]) as dsn,
    ):
        asyncio.run(migrate(dsn))
        assert run(["merchant", "create", "Before"]) == 0
        execute(keep_key, variables)
        assert '"verified":true' in execute(backup, variables)
        assert run(["merchant", "create", "After"]) == 0
        time.sleep(0.05)
        variables["MOMENT"] = datetime.now(UTC).isoformat()
        time.sleep(0.05)
        assert run(["merchant", "create", "Late"]) == 0

    assert "The books balance." in execute(restore, variables)
    listed = merchants(variables["RESTORED"])
    assert "Before" in listed
    assert "After" not in listed
    assert "The books balance." in execute(to_a_moment, variables)
    listed = merchants(variables["RESTORED"] + "-at-noon")
    assert "After" in listed
    assert "Late" not in listed
    own = {"RESTORED_URL": engine.migrated("of_the_page"), "LAARI_MASTER_KEY": "00" * 32}
    assert "The books balance." in execute(external, {**variables, **own})
