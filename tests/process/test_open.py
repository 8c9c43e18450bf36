"""Opening the service: what it says about the schema."""

import logging

import pytest

from laari.process.open import open_service
from laari.settings import read_settings
from laari.store.postgres import migrate
from laari.store.postgres.migrate import Migration, known_migrations

KNOWN = known_migrations()
NEXT = Migration(len(KNOWN) + 1, "next", "SELECT 1")


async def test_an_upgrade_of_the_schema_is_one_line_of_the_log(
    empty_dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = read_settings({"LAARI_DATABASE_URL": empty_dsn, "LAARI_MASTER_KEY": "ab" * 32})
    caplog.set_level(logging.INFO, "laari.process.open")

    async def said() -> list[str]:
        caplog.clear()
        async with open_service(settings, "upgrade"):
            return [line.getMessage() for line in caplog.records if "schema" in line.getMessage()]

    assert await said() == []  # a new database
    monkeypatch.setattr(migrate, "known_migrations", lambda *_: [*KNOWN, NEXT])
    assert await said() == [f"schema upgraded from {len(KNOWN)} to {NEXT.version}"]
    assert await said() == []
