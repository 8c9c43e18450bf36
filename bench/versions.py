"""Two versions of the service side by side, each with its own environment, engine and rows.

The load generator of this tree drives both, through the public interfaces only. Each tree fills its
own database, because only it knows its schema. For that it must have `bench.stage`.
"""

import asyncio
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bench.fill import Filled, Size, Tell
from bench.load import Target
from bench.service import Service, running
from bench.stage import KEPT

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "compare"
_FILL = """
import sys
from pathlib import Path
from bench.fill import Size
from bench.stage import stage

with stage(Path(sys.argv[1]), Size(*map(int, sys.argv[2:])), keep=False):
    pass
"""


@dataclass(frozen=True)
class Version:
    name: str
    tree: Path
    python: str


@dataclass(frozen=True)
class Side:
    """A version that runs."""

    version: Version
    service: Service
    merchant_id: str
    target: Target

    def log_and_disk(self) -> tuple[int, int]:
        """Bytes of write-ahead log since the beginning, and of the database."""
        return asyncio.run(self._log_and_disk())

    async def _log_and_disk(self) -> tuple[int, int]:
        # Every PostgreSQL writes these lines; the layout of the data directory is the version's.
        lines = self.service.postmaster_file().read_text().splitlines()
        connection = await asyncpg.connect(
            host=lines[4], port=int(lines[3]), user="laari", database="laari"
        )
        try:
            row = await connection.fetchrow(
                "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, "
                "pg_database_size(current_database())"
            )
        finally:
            await connection.close()
        return int(row[0]), int(row[1])


def this_version() -> Version:
    return Version("this tree", ROOT, sys.executable)


def other_version(place: str, patch: Path | None, tell: Tell) -> Version:
    """A directory with a `.venv`, or a commit, which is built below build/compare and kept."""
    if Path(place).is_dir() and patch is None:
        tree = Path(place).resolve()
        return Version(place, tree, str(tree / ".venv" / "bin" / "python"))
    commit = _git("rev-parse", "--verify", "--quiet", "--short=12", f"{place}^{{commit}}")
    if commit is None:
        raise SystemExit(f"{place} is no commit and no directory")
    name = commit
    if patch is not None:
        name += f"-{hashlib.sha256(patch.read_bytes()).hexdigest()[:8]}"
    tree = PLACE / name
    ready = tree / ".venv" / ".compare-ready"
    if not ready.exists():
        _build(tree, commit, patch, tell)
        ready.touch()
    return Version(name, tree, str(tree / ".venv" / "bin" / "python"))


def _build(tree: Path, commit: str, patch: Path | None, tell: Tell) -> None:
    """Makes the worktree with its environment; what an interrupted build left is removed."""
    tell(f"building {tree.name}: once, about a minute")
    shutil.rmtree(tree, ignore_errors=True)
    _git("worktree", "prune")
    _run("git", "worktree", "add", "--quiet", "--detach", str(tree), commit, cwd=ROOT)
    if patch is not None:
        _run("git", "apply", str(patch.resolve()), cwd=tree)
    _run("tools/set-up", "dev", cwd=tree)


def _git(*arguments: str) -> str | None:
    result = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return result.stdout.strip() if result.returncode == 0 else None


def _run(*command: str, cwd: Path) -> None:
    result = subprocess.run(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[:3])} failed: {result.stderr.strip()[-2000:]}")


@contextmanager
def sides(versions: Sequence[Version], size: Size, tell: Tell) -> Iterator[list[Side]]:
    """Fills a database for each version and runs its service until the block ends."""
    PLACE.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=PLACE, prefix="data-")))
        folders = [data / str(number) for number in range(len(versions))]
        tell(f"filling {len(versions)} databases with {size.payments:,} payments each")
        with ThreadPoolExecutor() as together:
            list(together.map(_fill, versions, folders, [size] * len(versions)))
        yield [
            _side(stack, version, folder) for version, folder in zip(versions, folders, strict=True)
        ]


def _fill(version: Version, folder: Path, size: Size) -> None:
    numbers = (size.payments, size.customers, size.authorizations)
    _run(version.python, "-c", _FILL, str(folder), *map(str, numbers), cwd=version.tree)


def _side(stack: ExitStack, version: Version, folder: Path) -> Side:
    settings = {
        "LAARI_WEBHOOK_ALLOW_PRIVATE": "on",
        # Another order in dictionaries and sets would be a difference between equal versions.
        "PYTHONHASHSEED": "0",
    }
    # One interface process: over several the kernel spreads connections unevenly, and in each slice
    # in another way. That would be most of the difference between two slices.
    service = stack.enter_context(running(folder, workers=1, python=version.python, **settings))
    known: dict[str, Any] = json.loads((folder / KEPT).read_text())
    filled = Filled(Size(*known["size"]), *known["names"])
    target = Target(service.origin, known["secret_key"], filled)
    return Side(version, service, known["merchant_id"], target)
