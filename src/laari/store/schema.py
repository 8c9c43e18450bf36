"""`schema.sql`: the whole schema as it stands, for reading.

It is written by `python -m laari.store.schema` after a new migration; a test proves it equal to
what the migrations make.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

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


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_server(Path(folder, "data"), durable=False) as dsn,
    ):
        asyncio.run(migrate(dsn))
        FILE.write_text(f"{HEADER}\n{dump_schema(dsn)}")


if __name__ == "__main__":
    main()
