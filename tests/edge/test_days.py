"""An overview is added up in pieces and comes to the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from laari.edge import backend
from laari.edge.backend import Backend
from laari.edge.metrics import Metrics
from laari.edge.rate import RateBuckets
from laari.settings import read_settings
from laari.store import merchants, reports
from laari.store.database import connection_to
from laari.store.reports import Day, Span

FIRST = datetime(2026, 3, 31, 19, tzinfo=UTC)  # midnight in the Maldives
DAYS = 30


@pytest.fixture
async def span(dsn: str) -> Span:
    """Days on which a growing number of payments was made, the first of them at midnight."""
    async with connection_to(dsn) as connection:
        made = await merchants.create(connection, bytes(32), name="Shop", mode="sandbox")
        tenant = await connection.fetchval(
            "SELECT id FROM tenants WHERE merchant_id = $1 AND mode = 'sandbox'", made.merchant.id
        )
        await connection.execute(
            "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, metadata, "
            "created_at, expires_at, status) "
            "SELECT gen_random_uuid(), $1, 'hosted', 'd' || d || '-' || n, 'd' || d || '-' || n, "
            "100, '{}', $2::timestamptz + (d - 1) * interval '1 day' + (n - 1) * interval '1 hour',"
            " now() + interval '1 day', 'pending' "
            "FROM generate_series(0, 31) AS d, generate_series(1, 24) AS n WHERE n <= d % 24 + 1",
            tenant,
            FIRST,
        )
    return Span(tenant, FIRST, FIRST + timedelta(days=DAYS))


@pytest.fixture
async def edge(dsn: str) -> AsyncIterator[Backend]:
    settings = read_settings({})
    made = Backend(dsn, bytes(32), settings, RateBuckets(None), Metrics([], []))
    await made.open()
    yield made
    await made.close()


@pytest.mark.parametrize("piece_seconds", [0.0, 0.005, 60.0])
async def test_pieces_of_any_length_come_to_the_same(
    dsn: str, span: Span, edge: Backend, monkeypatch: pytest.MonkeyPatch, piece_seconds: float
) -> None:
    asked: list[Span] = []
    by_day = reports.by_day

    async def spied(connection: object, piece: Span) -> list[Day]:
        asked.append(piece)
        return await by_day(connection, piece)

    monkeypatch.setattr(backend, "PIECE_SECONDS", piece_seconds)
    monkeypatch.setattr(reports, "by_day", spied)
    found = await edge.days(span)
    async with connection_to(dsn) as connection:
        assert found == await by_day(connection, span)
    assert len(found) == DAYS
    if piece_seconds == 0.0:  # none is quick enough
        assert len(asked) == DAYS
    elif piece_seconds == 60.0:  # every one is: 1, 2, 4, 8 and the rest
        assert len(asked) == 5
