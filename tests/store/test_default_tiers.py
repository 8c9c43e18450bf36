"""The numbers of rules/limits that the schema has too."""

from laari.rules.limits.default_tiers import DEFAULT_TIERS
from laari.store.postgres.pool import connection_to


async def test_a_new_installation_has_the_default_tiers(dsn: str) -> None:
    async with connection_to(dsn) as connection:
        rows = await connection.fetch("SELECT * FROM tiers")
    assert {row["name"]: tuple(row)[1:] for row in rows} == DEFAULT_TIERS
