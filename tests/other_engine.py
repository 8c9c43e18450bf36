"""A PostgreSQL of another version than the one that is installed with Laari.

`LAARI_TEST_POSTGRES=/usr/lib/postgresql/15/bin` has the tests run on those programs.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from laari.engine.programs import _as_ordinary_user

PROGRAMS = os.environ.get("LAARI_TEST_POSTGRES")

_SETTINGS = (
    "listen_addresses=",
    "max_connections=200",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "timezone=UTC",
)


def _run(programs: str, name: str, *arguments: str) -> None:
    subprocess.run(
        [*_as_ordinary_user(), str(Path(programs, name)), *arguments],
        env={**os.environ, "LC_ALL": "C"},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        timeout=60,
        check=True,
    )


@contextmanager
def other_server(folder: Path, programs: str) -> Iterator[str]:
    """A server of those programs until the block ends; gives the URL of its one database."""
    cluster, sockets = folder / "cluster", folder / "sockets"
    sockets.mkdir(mode=0o700)
    _run(
        programs,
        "initdb",
        "-D",
        str(cluster),
        "-U",
        "laari",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    )
    options = " ".join(f"-c {setting}" for setting in _SETTINGS)
    _run(
        programs,
        "pg_ctl",
        "start",
        "-w",
        "-D",
        str(cluster),
        "-l",
        str(folder / "log"),
        "-o",
        f"-k {sockets} {options}",
    )
    try:
        _run(programs, "createdb", "-h", str(sockets), "-U", "laari", "laari")
        yield f"postgresql://laari@/laari?host={sockets}&port=5432"
    finally:
        _run(programs, "pg_ctl", "stop", "-m", "fast", "-D", str(cluster))
