"""A backup while payments are made: what was acknowledged before it began is in it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from campaigns.test_sigkill import Installation, load

CLIENTS = 8


async def saved_under_load(
    first: Installation, secret_key: str, folder: Path
) -> tuple[dict[str, str], dict[str, Any]]:
    """What was acknowledged before the backup began, and what the backup says."""
    acknowledged: dict[str, str] = {}
    writers = [
        asyncio.create_task(load(first.origin, secret_key, acknowledged, worker))
        for worker in range(CLIENTS)
    ]
    while len(acknowledged) < 50:
        await asyncio.sleep(0.05)
    before = dict(acknowledged)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "laari",
        "backup",
        str(folder),
        "--with-key",
        "--json",
        env=first.env,
        stdout=subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert len(acknowledged) > len(before), "the service stood still meanwhile"
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    return before, json.loads(out)


def missing(origin: str, secret_key: str, payments: dict[str, str]) -> list[str]:
    """Those that are not there, or less than was told of them."""
    with httpx.Client(
        base_url=f"{origin}/merchant", headers={"X-API-Key": secret_key}, timeout=30
    ) as client:
        answers = {id_: client.get(f"/payments/{id_}") for id_ in payments}
    return [
        id_
        for id_, answer in answers.items()
        if answer.status_code != 200
        or (payments[id_] == "paid" and answer.json()["data"]["status"] != "paid")
    ]


@pytest.mark.campaign
def test_every_acknowledged_payment_is_in_the_backup(tmp_path: Path) -> None:
    first = Installation(tmp_path / "data")
    service = first.start()
    try:
        merchant = json.loads(first.laari("merchant", "create", "Shop").stdout)
        key = merchant["secret_key"]
        before, made = asyncio.run(saved_under_load(first, key, tmp_path / "b"))
        assert made["verified"] is True
    finally:
        service.terminate()
        service.wait(30)

    copy = Installation(tmp_path / "copy")
    restored = copy.laari("restore", str(tmp_path / "b"))
    assert restored.returncode == 0, restored.stderr
    assert json.loads(restored.stdout)["ok"] is True
    service = copy.start()
    try:
        assert missing(copy.origin, key, before) == []
        assert json.loads(copy.laari("audit").stdout)["ok"] is True
    finally:
        service.terminate()
        service.wait(30)
