"""Opens the service for a command: starts the engine, loads the key, checks the schema."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from laari.engine.data_directory import refuse_missing, refuse_shared
from laari.engine.embedded import embedded_server
from laari.settings import Settings
from laari.store.merchants.installation import prove_master_key
from laari.store.postgres.migrate import check, migrate, schema_version
from laari.store.postgres.pool import check_writable
from laari.store.secrets import KEY_FILE, load_master_key

log = logging.getLogger(__name__)

# What opening may do to the database; "upgrade" includes "create".
Change: TypeAlias = Literal["nothing", "create", "upgrade"]


@dataclass(frozen=True, slots=True)
class Service:
    dsn: str = field(repr=False)  # may contain a password
    master_key: bytes = field(repr=False)
    settings: Settings

    async def prove_master_key(self) -> None:
        """Raises an error if the key does not belong to the database."""
        given = self.settings.master_key is not None
        named = "LAARI_MASTER_KEY" if given else str(self.settings.data_dir / KEY_FILE)
        await prove_master_key(self.dsn, self.master_key, named)


@contextmanager
def open_engine(settings: Settings, *, create: bool = False) -> Iterator[Service]:
    """Opens the operator's server, or runs the embedded one until the block ends."""
    embedded = settings.database_url is None
    if embedded:
        refuse_shared(settings.data_dir)
        if not create:
            refuse_missing(settings.data_dir)
    # Creates the key before the database, so that no database is without its key.
    master_key = settings.master_key or load_master_key(settings.data_dir)
    if settings.database_url is not None:
        yield Service(settings.database_url, master_key, settings)
        return
    with embedded_server(settings.data_dir, create=create, wal_archive=settings.wal_archive) as dsn:
        yield Service(dsn, master_key, settings)


@asynccontextmanager
async def open_service(settings: Settings, change: Change = "nothing") -> AsyncIterator[Service]:
    """Opens the service. Raises an error if the schema or the key does not match."""
    with open_engine(settings, create=change != "nothing") as service:
        if change == "upgrade" or (change == "create" and await schema_version(service.dsn) == 0):
            before, after = await upgrade(service)
            if 0 < before < after:  # a new database is not worth a line
                log.info("schema upgraded from %d to %d", before, after)
            await check_writable(service.dsn)
        else:
            await check(service.dsn)
            await service.prove_master_key()
        yield service


async def upgrade(service: Service) -> tuple[int, int]:
    """Upgrades the schema; returns the versions before and after.

    Checks the key first: a wrong key usually means a wrong database.
    """
    if await schema_version(service.dsn):
        await service.prove_master_key()
    versions = await migrate(service.dsn)
    await service.prove_master_key()
    return versions
