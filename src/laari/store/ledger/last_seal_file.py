"""The last seal, kept outside the database: a chain does not show that its end was cut off.

If the database contradicts the file, the file stays until an operator removes it.
"""

import re
from pathlib import Path
from typing import NamedTuple

from asyncpg import Connection

from laari.errors import LaariError
from laari.store.secrets import fingerprint

_FORM = re.compile(r"([1-9][0-9]{0,18}):([0-9a-f]{64})", re.ASCII)


class KnownSeal(NamedTuple):
    """A seal that was seen once: it has to stay in the chain."""

    number: int
    mac: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.mac.hex()}"


def read_seal(text: str) -> KnownSeal | None:
    form = _FORM.fullmatch(text.strip())
    return None if form is None else KnownSeal(int(form[1]), bytes.fromhex(form[2]))


def last_seal_file(data_dir: Path, master_key: bytes) -> Path:
    """Named after the master key: nothing in the database can lead to another file."""
    return data_dir / f"last-seal-{fingerprint(master_key)[:16]}"


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
    """A reader finds the old seal or the new one."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(f"{seal}\n")
    new.replace(path)


class ShownSeals(NamedTuple):
    """The end of the chain, for the metrics.

    `to_keep` is the last seal before this hour: each value is a time series, so it changes rarely.
    """

    last_number: int
    to_keep: KnownSeal | None


async def shown_seals(connection: Connection) -> ShownSeals | None:
    last: int | None = await connection.fetchval("SELECT max(number) FROM seals")
    if last is None:
        return None
    row = await connection.fetchrow(
        "SELECT number, mac FROM seals WHERE sealed_at < date_trunc('hour', now()) "
        "ORDER BY number DESC LIMIT 1"
    )
    return ShownSeals(last, None if row is None else KnownSeal(**row))


async def is_in_chain(connection: Connection, seal: KnownSeal) -> bool:
    mac: bytes | None = await connection.fetchval(
        "SELECT mac FROM seals WHERE number = $1", seal.number
    )
    return mac == seal.mac
