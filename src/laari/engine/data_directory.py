"""Checks that the data directory has an installation and belongs to this user alone."""

import os
import stat
from pathlib import Path

from laari.errors import LaariError


class HomeError(LaariError):
    """The data directory has no installation, or is not safe to use."""


def refuse_missing(data_dir: Path) -> None:
    """A mistyped name must not become a new, empty installation."""
    if not (data_dir / "postgres" / "PG_VERSION").is_file():
        raise HomeError(
            f"there is no Laari database in {data_dir.absolute()}: "
            "set LAARI_DATA_DIR, or make one with `laari init`"
        )


def refuse_shared(data_dir: Path) -> None:
    """A user who may write there could replace our key and database."""
    try:
        found = data_dir.stat()
    except FileNotFoundError:
        return  # it is made with the right mode
    except OSError as error:
        raise HomeError(f"data directory {data_dir} cannot be used: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        return  # reported by the caller that uses it
    if found.st_uid != os.geteuid():
        raise HomeError(f"data directory {data_dir} belongs to another user: run laari as that one")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise HomeError(
            f"data directory {data_dir} can be written by others: run `chmod go-w {data_dir}`"
        )
