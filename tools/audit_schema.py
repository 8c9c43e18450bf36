"""`schema.json`: the schema as the migrations make it, for the audit.

`python -m tools.audit_schema` writes it after a change of the schema, and a test compares it.
"""

import asyncio
import tempfile
from pathlib import Path

import msgspec

from laari.engine.embedded import embedded_server
from laari.store.audit.schema import FILE as CATALOG
from laari.store.audit.schema import describe
from laari.store.postgres.migrate import migrate
from laari.store.postgres.pool import connection_to


async def dump_catalog(dsn: str) -> bytes:
    """The schema as its catalogs describe it: what the audit compares."""
    async with connection_to(dsn) as connection:
        described = await describe(connection)
    return msgspec.json.format(msgspec.json.encode(described), indent=1) + b"\n"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_server(Path(folder, "data"), durable=False) as dsn,
    ):
        asyncio.run(migrate(dsn))
        CATALOG.write_bytes(asyncio.run(dump_catalog(dsn)))


if __name__ == "__main__":
    main()
