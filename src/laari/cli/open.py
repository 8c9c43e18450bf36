"""The service as every command finds it: its engine running, its key at hand, its schema right."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from laari.settings import Settings
from laari.store.database import check_writable
from laari.store.embedded import embedded_server
from laari.store.migrate import check, migrate, schema_version
from laari.store.secrets import load_master_key


@dataclass(frozen=True, slots=True)
class Service:
    dsn: str = field(repr=False)  # may hold a password
    master_key: bytes = field(repr=False)
    settings: Settings


@contextmanager
def open_engine(settings: Settings) -> Iterator[Service]:
    """The operator's own server, or the embedded one for as long as it is used."""
    # The key comes before the database, so that no database is ever found without its key.
    master_key = settings.master_key or load_master_key(settings.data_dir)
    if settings.database_url is not None:
        yield Service(settings.database_url, master_key, settings)
        return
    with embedded_server(settings.data_dir) as dsn:
        yield Service(dsn, master_key, settings)


@asynccontextmanager
async def open_service(settings: Settings, *, upgrade: bool = False) -> AsyncIterator[Service]:
    """`upgrade` migrates the schema and wants a database that can be written; otherwise a schema
    that does not fit is refused.

    A new embedded database is filled by whichever command comes first: there is nothing in it
    that an operator would want to look after.
    """
    with open_engine(settings) as service:
        is_new = settings.database_url is None and await schema_version(service.dsn) == 0
        if upgrade or is_new:
            await migrate(service.dsn)
            await check_writable(service.dsn)
        else:
            await check(service.dsn)
        yield service
