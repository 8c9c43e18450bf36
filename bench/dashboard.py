"""The dashboard's first page for a merchant with all the payments, one visitor at a time."""

import asyncio
import http.client
import time
from contextlib import closing
from datetime import UTC, datetime
from statistics import median
from urllib.parse import urlsplit

from bench.report import Verdict
from bench.service import Service
from bench.stage import Stage
from laari.edge.pages.request import PAGES_PER_SECOND
from laari.rules.actors import Actor
from laari.rules.people.memberships import AddMember
from laari.rules.people.persons import NewLogin
from laari.store.batch.runner import BatchRunner
from laari.store.counters import sessions
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import logins
from laari.store.secrets import load_master_key

EMAIL = "bench@laari.test"
_NO_PASSWORD = "x"  # no password fits it
SAMPLES = 40
WARM_UP = 5
PAUSE_SECONDS = 1.1 / PAGES_PER_SECOND  # as fast as one person may ask
IDLE_SECONDS = 4
WANTED_MS = 10


def home(ready: Stage) -> str:
    return f"/dashboard/{ready.merchant_id}/live"


def cookie(ready: Stage) -> str:
    """That of one of the merchant's people, who has logged in."""
    return asyncio.run(_log_in(ready))


async def _log_in(ready: Stage) -> str:
    async with connection_to(ready.dsn) as connection:
        if await logins.of_person(connection, EMAIL) is None:
            actor = Actor("command_line", "bench", "admin")
            command = AddMember(
                actor, ready.merchant_id, EMAIL, "owner", None, NewLogin(_NO_PASSWORD)
            )
            runner = BatchRunner(ready.dsn, ready.service.origin)
            await runner.run([command], 5.0)
            await runner.close()
        login = await logins.of_person(connection, EMAIL)
        assert login is not None
        token = await sessions.open_for(
            connection,
            load_master_key(ready.data_dir),
            login.whose,
            datetime.now(UTC),
            sessions.Proof(_NO_PASSWORD),
        )
        return f"laari-dashboard={token}"


def measure(ready: Stage) -> list[Verdict]:
    """The time counts that a view takes of the processors, beyond what an idle service takes: a
    long page is written with pauses, in which payments come first."""
    service, headers = ready.service, {"Cookie": cookie(ready)}
    path = home(ready)
    with closing(http.client.HTTPConnection(urlsplit(service.origin).netloc)) as connection:
        for _ in range(WARM_UP):
            _view(connection, path, headers)
        idle = _processors_used(service, IDLE_SECONDS)
        began, before = time.monotonic(), service.all_processor_seconds()
        waits = [_view(connection, path, headers) for _ in range(SAMPLES)]
        used = service.all_processor_seconds() - before - idle * (time.monotonic() - began)
    taken = used / SAMPLES * 1000
    text = f"overview of a merchant with {ready.target.filled.size.payments:,} payments: ms of the"
    text += f" processors (there after {median(waits):.0f} ms)"
    return [Verdict(text, round(taken, 2), f"at most {WANTED_MS}", taken <= WANTED_MS)]


def _view(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> float:
    """Returns how many ms the page took."""
    time.sleep(PAUSE_SECONDS)
    began = time.perf_counter()
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    page = response.read()
    assert response.status == 200, response.status
    assert b"30 days" in page
    return (time.perf_counter() - began) * 1000


def _processors_used(service: Service, seconds: float) -> float:
    """How much of a processor the service takes meanwhile."""
    before = service.all_processor_seconds()
    time.sleep(seconds)
    return (service.all_processor_seconds() - before) / seconds
