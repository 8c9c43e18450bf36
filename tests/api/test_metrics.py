"""What the service tells about itself: figures, request ids, and the admission when it is full."""

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from laari.edge.load.metrics import PROCESS_BYTES, Metrics
from laari.store.postgres.pool import connection_to
from tests.audit.books import MASTER_KEY, seal_all, write_books
from tests.serving import Service, serving

pytestmark = pytest.mark.ci


@pytest.fixture
def pair(dsn: str, tmp_path: Path) -> Iterator[Service]:
    """A service with two interface processes."""
    with serving(dsn, tmp_path, workers=2) as running:
        yield running


def scrape(service: Service) -> dict[str, float]:
    response = httpx.get(service.metrics_url)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = (line for line in response.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def requests(samples: dict[str, float], operation: str, status: int, code: str = "") -> float:
    name = f'laari_requests_total{{operation="{operation}",status="{status}",code="{code}"}}'
    return samples.get(name, 0)


def test_every_scrape_tells_of_all_processes(pair: Service) -> None:
    merchant = pair.merchant()
    with ThreadPoolExecutor(8) as pool:  # connections of their own, spread over both processes
        bodies = [{"reference": f"r{n}", "amount": 100} for n in range(40)]
        key = {"X-API-Key": merchant.secret_key}
        url = f"{pair.origin}/merchant/payments"
        answers = list(pool.map(lambda body: httpx.post(url, json=body, headers=key), bodies))
    assert {answer.status_code for answer in answers} == {201}
    merchant.post("/payments", {"reference": "r0", "amount": 1})
    merchant.get("/payments/pay_none")
    httpx.get(f"{pair.origin}/merchant/payments")
    httpx.post(f"{pair.origin}/merchant/oauth/token")
    httpx.get(f"{pair.origin}/wallet/balance")
    for _ in range(4):
        samples = scrape(pair)
        assert requests(samples, "create_payment", 201) == 40
        assert requests(samples, "create_payment", 409, "reference_conflict") == 1
        assert requests(samples, "get_payment", 404, "not_found") == 1
        assert requests(samples, "list_payments", 401, "unauthorized") == 1
        assert requests(samples, "issue_token", 400, "invalid_request") == 1
        assert requests(samples, "wallet_balance", 401, "unauthorized") == 1
        assert samples['laari_request_seconds_count{operation="create_payment"}'] == 41
        assert samples["laari_batch_commands_sum"] == 41
        assert samples["laari_batch_wait_seconds_count"] == samples["laari_batch_commands_count"]
        assert samples["laari_commands_waiting"] == 0
        assert samples["laari_read_connections"] >= 1
        assert samples["laari_webhooks_waiting"] == 0


def test_counters_outlive_a_process(pair: Service) -> None:
    merchant = pair.merchant()
    for _ in range(10):
        merchant.payment()
    before = scrape(pair)
    children = psutil.Process(pair.process.pid).children()
    workers = [child for child in children if child.cmdline()[-1] == "interface"]
    for worker in workers:
        os.kill(worker.pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            merchant.payment()
            break
        except httpx.TransportError:
            time.sleep(0.1)
    assert requests(scrape(pair), "create_payment", 201) == 11
    assert requests(before, "create_payment", 201) == 10


def test_webhooks_that_wait_are_counted(service: Service) -> None:
    merchant = service.merchant()
    before = scrape(service)["laari_webhooks_waiting"]
    service.execute(
        "INSERT INTO deliveries (event_id, tenant_id, next_attempt_at) VALUES "
        "(('0190' || repeat('0', 28))::uuid, 0, now() + interval '1 day')"
    )
    try:
        samples = scrape(service)
        assert samples["laari_webhooks_waiting"] == before + 1
        assert samples["laari_webhooks_oldest_seconds"] > 3600
    finally:
        service.execute("DELETE FROM deliveries WHERE tenant_id = 0")
    assert merchant.id


async def test_the_last_seal_is_shown(dsn: str, tmp_path: Path) -> None:
    """A history of metrics on another machine is a place to keep it."""
    await write_books(dsn)
    seals = await seal_all(dsn)
    async with connection_to(dsn) as connection:
        await connection.execute(
            "SET session_replication_role = replica; "
            "UPDATE seals SET sealed_at = sealed_at - interval '1 day' WHERE number = 1"
        )
    with serving(dsn, tmp_path, LAARI_MASTER_KEY=MASTER_KEY.hex()) as service:
        samples = scrape(service)
    assert samples["laari_last_seal_number"] == seals[-1].number
    assert samples[f'laari_kept_seal_info{{seal="1:{seals[0].mac.hex()}"}}'] == 1


def test_each_answer_has_a_request_id_of_its_own(service: Service) -> None:
    merchant = service.merchant()
    sent = {"Request-Id": "mine"}
    answers = [
        merchant.http.get("/payments", headers=sent),
        merchant.http.get("/nothing"),
        httpx.get(f"{service.origin}/wallet/balance"),
        httpx.post(f"{service.origin}/merchant/oauth/token"),
        httpx.get(f"{service.origin}/healthz"),
        httpx.get(f"{service.origin}/nowhere"),
    ]
    ids = [answer.headers["request-id"] for answer in answers]
    assert all(re.fullmatch(r"req_[0-9a-f]{18}", each) for each in ids)
    assert len(set(ids)) == len(ids)


def test_the_log_names_the_request_and_nothing_private(dsn: str, tmp_path: Path) -> None:
    with serving(dsn, tmp_path) as service:
        merchant = service.merchant()
        service.execute("ALTER TABLE reference_claims RENAME TO hidden")
        try:
            body = {"reference": "private-reference", "amount": 1, "title": "private-title"}
            answer = merchant.post("/payments", body)
        finally:
            service.execute("ALTER TABLE hidden RENAME TO reference_claims")
    assert answer.status_code == 500
    logged = (tmp_path / "serve.log").read_text().splitlines()
    greeting = ("Laari is ready at ", "Its metrics are at ")  # for people, whenever it comes
    lines = [json.loads(line) for line in logged if not line.startswith(greeting)]
    failed = [line for line in lines if line.get("request_id") == answer.headers["request-id"]]
    assert [line["message"] for line in failed] == ["create_payment failed"]
    assert failed[0]["error"][0].startswith("UndefinedTableError")
    text = (tmp_path / "serve.log").read_text()
    assert "private" not in text
    assert merchant.secret_key not in text


def test_pages_are_counted_by_their_route_and_outcome(pair: Service) -> None:
    payment = pair.merchant().payment()
    with httpx.Client(base_url=pair.origin) as browser:
        page = browser.get(payment["payment_url"])
        browser.head(payment["payment_url"])
        browser.post(f"{payment['payment_url']}/pay", data={"form_token": "x"})
        browser.get("/pay/nobodys")
        browser.get("/app")
        browser.get("/app/no-such-page")
        browser.put("/app")
        found = re.search(r'href="(/static/[^"]+[.]css)"', page.text)
        assert found is not None
        browser.get(found[1])
    samples = scrape(pair)
    assert requests(samples, "GET /pay/{token}", 200) == 2
    assert requests(samples, "GET /pay/{token}", 404) == 1
    assert requests(samples, "POST /pay/{token}/pay", 403) == 1
    assert requests(samples, "GET /app", 303) == 1
    assert requests(samples, "no_page", 404) == requests(samples, "no_page", 405) == 1
    assert requests(samples, "asset", 200) == 1
    assert samples['laari_request_seconds_count{operation="GET /pay/{token}"}'] == 3
    assert not any(payment["payment_url"].rpartition("/")[2] in name for name in samples)


def test_a_count_is_cheap() -> None:
    metrics = Metrics(["create_payment"], [(409, "conflict")])
    start = time.process_time()
    for _ in range(10_000):
        metrics.count("create_payment", 201, "", 0.004)
    assert (time.process_time() - start) / 10_000 < 20e-6  # it takes about one


def test_an_outcome_that_is_not_listed_is_counted_too() -> None:
    metrics = Metrics(["one"], [])
    metrics.count("one", 418, "teapot", 0.1)
    text = metrics.text(True, (0, 0.0)).decode()
    assert 'laari_requests_total{operation="one",status="0",code="unknown"} 1' in text
    assert 'laari_request_seconds_bucket{operation="one",le="0.1"} 1' in text
    assert 'laari_request_seconds_bucket{operation="one",le="0.05"} 0' in text


def test_processes_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    path.write_bytes(bytes(2 * PROCESS_BYTES))
    with path.open("r+b") as file:
        first, second = (Metrics(["one"], [], file.fileno(), process) for process in (0, 1))
        first.count("one", 200, "", 0.001)
        second.count("one", 200, "", 0.002)
        second.batch(3, 0.5)
        for metrics in (first, second):
            text = metrics.text(True, (0, 0.0)).decode()
            assert 'laari_requests_total{operation="one",status="200",code=""} 2' in text
            assert 'laari_request_seconds_sum{operation="one"} 0.003' in text
            assert "laari_batch_commands_sum 3" in text


def test_every_interface_says_when_to_come_back() -> None:
    from laari.edge.merchant import envelope as merchant
    from laari.edge.merchant import oauth
    from laari.edge.wallet import envelope as wallet
    from laari.rules.refusals import refuse

    full = refuse("service_unavailable")._replace(retry_after=7)
    for refused in (merchant.refused, oauth.token_refused, wallet.refused):
        assert refused(full).status == 503
        assert dict(refused(full).headers)[b"retry-after"] == b"7"


def test_those_refused_come_back_one_after_another() -> None:
    from laari.edge.load.admission import LONGEST_WAIT_SECONDS, RETURNS_PER_SECOND, Admission

    admission = Admission()
    now = 1000.0
    told = Counter(admission.wait_seconds(now) for _ in range(3 * RETURNS_PER_SECOND))
    assert told == dict.fromkeys((1, 2, 3), RETURNS_PER_SECOND)
    now += 3.5  # all have had their turn
    assert admission.wait_seconds(now) == 1
    waits = [admission.wait_seconds(now) for _ in range(20 * RETURNS_PER_SECOND)]
    assert max(waits) == waits[-1] == LONGEST_WAIT_SECONDS
