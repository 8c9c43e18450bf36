"""Services and commands that share one data directory share one server."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from campaigns.test_sigkill import Installation
from tests.engine.engines import is_running
from tests.engine.test_engine_lock import ELSEWHERE, needs_namespaces

pytestmark = pytest.mark.campaign

PAYMENTS = 20


def pay(installation: Installation, secret_key: str, prefix: str) -> None:
    """Acknowledged payments."""
    with httpx.Client(
        base_url=f"{installation.origin}/merchant", headers={"X-API-Key": secret_key}, timeout=30
    ) as client:
        for number in range(PAYMENTS):
            body = {"reference": f"{prefix}-{number}", "amount": 100}
            created = client.post("/payments", json=body)
            assert created.status_code == 201, created.text
            paid = client.post(f"/sandbox/payments/{created.json()['data']['id']}/pay")
            assert paid.status_code == 200, paid.text


def audited(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    assert report["ok"] is True
    return report


@pytest.fixture
def first(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "data")


@needs_namespaces
def test_an_audit_in_another_container_harms_no_payment(first: Installation) -> None:
    service = first.start()
    try:
        merchant = json.loads(first.laari("merchant", "create", "Shop").stdout)
        for turn in range(2):
            pay(first, merchant["secret_key"], f"turn{turn}")
            audit = subprocess.run(
                [*ELSEWHERE, sys.executable, "-m", "laari", "audit", "--json"],
                env=first.env,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert audited(audit)["payments"] == PAYMENTS * (turn + 1)
        # The service's own processes may die and come back meanwhile.
        first.kill_everything(service, engine=True)
        service = first.start()
        assert audited(first.laari("audit"))["payments"] == PAYMENTS * 2
    finally:
        service.terminate()
        service.wait(30)


def test_two_services_on_one_directory_share_one_server(first: Installation) -> None:
    second = Installation(first.data_dir)
    services = [first.start(), second.start()]
    try:
        merchant = json.loads(first.laari("merchant", "create", "Shop").stdout)
        pay(first, merchant["secret_key"], "first")
        pay(second, merchant["secret_key"], "second")
        pid = int((first.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
        # The one that started the server goes, its supervisor and all: the other goes on.
        first.kill_everything(services[0], engine=False)
        pay(second, merchant["secret_key"], "third")
        assert psutil.pid_exists(pid)
        assert audited(second.laari("audit"))["payments"] == PAYMENTS * 3
    finally:
        for service in services:
            service.terminate()
            service.wait(30)
    assert not is_running(first.data_dir)
