"""Passwords that the command line sets are known to an operator: people change them."""

import asyncio

import pytest

from laari.cli.main import run
from laari.store.postgres.pool import connection_to


def first_password(dsn: str) -> dict[str, bool]:
    async def read() -> dict[str, bool]:
        async with connection_to(dsn) as connection:
            rows = await connection.fetch(
                "SELECT name, password_first FROM customers WHERE sandbox_of IS NULL "
                "UNION ALL SELECT email, password_first FROM persons"
            )
            return {row[0]: row[1] for row in rows}

    return asyncio.run(read())


def test_people_and_live_customers_change_the_password(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAARI_DATABASE_URL", dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)
    for mode in ("live", "sandbox"):
        email = f"{mode}@shop.mv"
        assert run(["merchant", "create", "Shop", "--mode", mode, "--email", email]) == 0
        assert run(["customer", "create", f"{mode} customer", "--mode", mode]) == 0
    assert first_password(dsn) == {
        "live@shop.mv": True,
        "live customer": True,
        "sandbox@shop.mv": True,
        "sandbox customer": False,
    }
