"""The dashboard's figures and files with a standby: it is asked for them, and for nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from laari.store import sessions
from tests.replication import Pair, replicated
from tests.serving import Merchant, Service, serving

WAIT_SECONDS = 20


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with replicated(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


class Person:
    """One of a merchant's people, and what the service counts of their reads."""

    def __init__(self, service: Service, shop: Merchant) -> None:
        email, now = f"{shop.id}@shop.example", datetime.now(UTC)
        service.execute(
            "INSERT INTO merchant_users (email, merchant_id, password_hash) VALUES ($1, $2, '')",
            email,
            shop.id,
        )
        token = service.database.run(
            lambda connection: sessions.open_for(connection, email, now, "")
        )
        self.shop = shop
        self._service = service
        self._http = httpx.Client(
            base_url=service.origin, headers={"Cookie": f"laari-dashboard={token}"}, timeout=30
        )

    def get(self, path: str) -> str:
        response = self._http.get(f"/dashboard/sandbox{path}")
        assert response.status_code == 200, response.text
        return response.text

    def metric(self, name: str) -> float:
        for line in httpx.get(self._service.metrics_url, timeout=30).text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.rpartition(" ")[2])
        return 0.0

    def await_standby(self, processes: int) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while self.metric("laari_standby_processes") != processes:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def reads(self) -> tuple[float, float]:
        """On the standby, and on the primary."""
        name = "laari_lagging_reads_total"
        return self.metric(f'{name}{{database="standby"}}'), self.metric(
            f'{name}{{database="primary"}}'
        )


def test_only_what_may_lag_is_read_on_the_standby(pair: Pair, tmp_path: Path) -> None:
    with serving(pair.primary, tmp_path, LAARI_DATABASE_READ_URL=pair.standby) as service:
        person = Person(service, service.merchant())
        shop = person.shop
        known = shop.payment()["id"]
        person.await_standby(1)
        asyncio.run(pair.replayed())
        asyncio.run(pair.ask_standby("SELECT pg_wal_replay_pause()"))
        try:
            new = shop.payment()["id"]
            shop.control(f"payments/{new}/pay")
            # What was written is read at once, by programs and by people.
            assert shop.get(f"/payments/{new}").json()["data"]["status"] == "paid"
            assert shop.get("/payments").json()["data"][0]["id"] == new
            assert new in person.get("/payments")
            assert new in person.get(f"/payments/{new}")
            assert person.reads() == (0, 0)
            file = person.get("/payments/export.csv")
            assert (known in file, new in file) == (True, False)
            assert new in person.get("")  # the newest payments, beside older figures
            assert person.reads() == (2, 0)
        finally:
            asyncio.run(pair.ask_standby("SELECT pg_wal_replay_resume()"))
        asyncio.run(pair.replayed())
        assert new in person.get("/payments/export.csv")


def test_a_standby_that_ends_is_missed_by_nobody(pair: Pair, tmp_path: Path) -> None:
    with serving(pair.primary, tmp_path, LAARI_DATABASE_READ_URL=pair.standby) as service:
        person = Person(service, service.merchant())
        new = person.shop.payment()["id"]
        person.await_standby(1)
        with pair.frozen_standby():
            assert new in person.get("/payments/export.csv")
            person.get("")
            assert person.reads()[1] == 2
            assert httpx.get(f"{service.origin}/readyz").status_code == 200
            person.await_standby(0)
        person.await_standby(1)
        log = (tmp_path / "serve.log").read_text()
        assert log.count("the standby for reads is not used, the primary is") == 1
        assert log.count("the standby for reads is used again") == 1


def test_a_service_starts_without_its_standby(pair: Pair, tmp_path: Path) -> None:
    nowhere = f"postgresql://laari@/laari?host={tmp_path}"
    with serving(pair.primary, tmp_path, LAARI_DATABASE_READ_URL=nowhere) as service:
        person = Person(service, service.merchant())
        assert person.shop.payment()["id"] in person.get("/payments/export.csv")
        assert person.reads() == (0, 1)
