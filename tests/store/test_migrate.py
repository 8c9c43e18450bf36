from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from laari.store.migrate import (
    DatabaseUnreachableError,
    MigrationError,
    check,
    known_migrations,
    migrate,
    schema_version,
)

LATEST = len(known_migrations())


async def test_migrates_an_empty_database_and_then_has_nothing_to_do(empty_dsn: str) -> None:
    assert await schema_version(empty_dsn) == 0
    assert await migrate(empty_dsn) == (0, LATEST)
    assert await migrate(empty_dsn) == (LATEST, LATEST)
    await check(empty_dsn)


async def test_the_fixture_gives_a_whole_schema(dsn: str) -> None:
    await check(dsn)
