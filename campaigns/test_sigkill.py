"""The whole service dies in the middle of load: nothing that was acknowledged is lost."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.serving import await_ready, free_port

CLIENTS = 24


class Installation:
    """A service on its own embedded, durable engine, as `make run` starts it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.env = {
            **os.environ,
            "LAARI_DATA_DIR": str(data_dir),
            "LAARI_MERCHANT_RATE_SANDBOX": "0",
        }
        self.env.pop("LAARI_DATABASE_URL", None)

    def start(self) -> subprocess.Popen[bytes]:
        log = self.data_dir.with_suffix(".log")
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "laari", "serve", f"--port={self.port}", "--workers=2"],
                env=self.env,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        await_ready(process, self.origin, log)
        return process

    def laari(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "laari", *arguments, "--json"],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def kill_everything(self, process: subprocess.Popen[bytes], *, engine: bool) -> None:
        tree = psutil.Process(process.pid)
        victims = [tree, *tree.children(recursive=True)]
        if engine:
            pid = int((self.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
            postmaster = psutil.Process(pid)
            victims += [postmaster, *postmaster.children(recursive=True)]
        for victim in victims:
            with suppress(psutil.NoSuchProcess):  # a backend ends when its client does
                victim.kill()
        process.wait(10)


async def load(origin: str, secret_key: str, acknowledged: dict[str, str], worker: int) -> None:
    """Creates and pays until the service is gone, keeping what it was told."""
    async with httpx.AsyncClient(
        base_url=f"{origin}/merchant", headers={"X-API-Key": secret_key}, timeout=10
    ) as client:
        for number in range(100_000):
            body = {"reference": f"w{worker}-{number}", "amount": 100}
            headers = {"Idempotency-Key": f"k{worker}-{number}"}
            try:
                created = await client.post("/payments", json=body, headers=headers)
                assert created.status_code == 201
                payment_id = created.json()["data"]["id"]
                acknowledged[payment_id] = "pending"
                paid = await client.post(f"/sandbox/payments/{payment_id}/pay")
                assert paid.status_code == 200
                acknowledged[payment_id] = "paid"
            except httpx.TransportError:
                return


async def load_then_kill(
    installation: Installation, process: subprocess.Popen[bytes], secret_key: str, *, engine: bool
) -> dict[str, str]:
    acknowledged: dict[str, str] = {}
    clients = [
        asyncio.create_task(load(installation.origin, secret_key, acknowledged, n))
        for n in range(CLIENTS)
    ]
    while len(acknowledged) < 150:
        await asyncio.sleep(0.01)
    installation.kill_everything(process, engine=engine)
    await asyncio.gather(*clients)
    return acknowledged


@pytest.mark.parametrize("engine", [False, True], ids=["service", "service and engine"])
def test_every_acknowledged_payment_survives(tmp_path: Path, engine: bool) -> None:
    installation = Installation(tmp_path / "data")
    process = installation.start()
    merchant = json.loads(installation.laari("merchant", "create", "Shop").stdout)
    key = merchant["secret_key"]
    acknowledged = asyncio.run(load_then_kill(installation, process, key, engine=engine))
    again = installation.start()
    try:
        with httpx.Client(
            base_url=f"{installation.origin}/merchant", headers={"X-API-Key": key}
        ) as client:
            for payment_id, status in acknowledged.items():
                found = client.get(f"/payments/{payment_id}").json()["data"]["status"]
                # One may have been paid without the answer arriving; none may be less than told.
                assert found == "paid" or (found, status) == ("pending", "pending")
        audit = installation.laari("audit")
        assert audit.returncode == 0, audit.stdout
        assert json.loads(audit.stdout)["payments"] >= len(acknowledged)
    finally:
        again.terminate()
        assert again.wait(30) == 0
