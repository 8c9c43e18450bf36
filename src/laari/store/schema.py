"""`schema.sql`: the whole schema as it stands, for reading; `schema.json` for the audit.

They are written by `python -m laari.store.schema` after a new migration; a test proves them equal
to what the migrations make.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import msgspec

from laari.store.audit.schema import FILE as CATALOG
from laari.store.audit.schema import describe
from laari.store.database import connection_to
from laari.store.embedded import embedded_server
from laari.store.migrate import migrate
from laari.store.postgres import EngineError, last_line, run

FILE = Path(__file__).parent / "schema.sql"
HEADER = "-- The schema as the migrations leave it. Written by `python -m laari.store.schema`.\n"


def dump_schema(dsn: str) -> str:
    """The database's schema as PostgreSQL itself writes it, without the session's settings."""
    dumped = run("pg_dump", "--schema-only", "--no-owner", f"--dbname={dsn}")
    if dumped.returncode != 0:
        raise EngineError(f"pg_dump failed: {last_line(dumped.stderr)}")
    dropped = ("--", "\\", "SET ", "SELECT pg_catalog.set_config")
    kept = [line for line in dumped.stdout.splitlines() if not line.startswith(dropped)]
    paragraphs = "\n".join(kept).strip().split("\n\n")
    return "\n\n".join(part.strip("\n") for part in paragraphs if part.strip()) + "\n"


async def dump_catalog(dsn: str) -> bytes:
    """The same schema as its catalogs describe it: what the audit compares."""
    async with connection_to(dsn) as connection:
        described = await describe(connection)
    return msgspec.json.format(msgspec.json.encode(described), indent=1) + b"\n"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_server(Path(folder, "data"), durable=False) as dsn,
    ):
        asyncio.run(migrate(dsn))
        FILE.write_text(f"{HEADER}\n{dump_schema(dsn)}")
        CATALOG.write_bytes(asyncio.run(dump_catalog(dsn)))


if __name__ == "__main__":
    main()
