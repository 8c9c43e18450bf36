"""The last seal, kept outside the database: what is taken back there does not go unnoticed.

Whoever can write to the database can also remove its newest seals, or put an older copy of it in
place. So the background process notes the last seal in the data directory, and the audit asks for
it. A file that the database contradicts is never overwritten: an operator who knows why (a restored
backup) removes it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import asyncpg

from laari.errors import LaariError

_FORM = re.compile(r"([1-9][0-9]{0,18}):([0-9a-f]{64})", re.ASCII)


class KnownSeal(NamedTuple):
    """A seal that was seen: it has to be in the chain for ever."""

    number: int
    mac: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.mac.hex()}"


def read_seal(text: str) -> KnownSeal | None:
    """A seal as the audit and the log write it: its number, a colon, 64 hexadecimal digits."""
    form = _FORM.fullmatch(text.strip())
    return None if form is None else KnownSeal(int(form[1]), bytes.fromhex(form[2]))


async def note_path(connection: asyncpg.Connection, data_dir: Path) -> Path:
    """Where the last seal of this database is noted: several may share a data directory.

    A cluster's identifier stays the same in backups and standbys, and no statement changes it.
    """
    name: str = await connection.fetchval(
        "SELECT 'last-seal-' || c.system_identifier || '-' || d.oid "
        "FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()"
    )
    return data_dir / name


def noted_seal(path: Path) -> KnownSeal | None:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise LaariError(f"{path} cannot be read: {error}") from None
    seal = read_seal(text)
    if seal is None:
        raise LaariError(f"{path} does not hold a seal")
    return seal


def note_seal(path: Path, seal: KnownSeal) -> None:
    """Replaces what was noted; a reader finds the old seal or the new one."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(f"{seal}\n")
    new.replace(path)


async def is_in_chain(connection: asyncpg.Connection, seal: KnownSeal) -> bool:
    mac: bytes | None = await connection.fetchval(
        "SELECT mac FROM seals WHERE number = $1", seal.number
    )
    return mac == seal.mac
