"""What surrounds the service fails: its disk is full, or its clocks disagree at midnight."""

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from campaigns.crash.calls import Caller
from campaigns.crash.campaign import Plan, campaign, remaining, summary
from campaigns.crash.checker import check
from campaigns.crash.clients import Load, replay_every_key, use_up_limits
from campaigns.crash.faults import FULL_DISK
from campaigns.crash.found import read_everything
from campaigns.crash.place import Place, open_shop
from campaigns.journal import Journal
from campaigns.receiver import Receiver
from laari.engine.embedded import embedded_server
from tests.serving import Service, serving

SMALL_DISK = "size=600m"  # the log alone keeps 256 MB once it has had them
FULL_TIMES = int(os.environ.get("LAARI_CRASH_FULL_DISKS", "3"))

APART_SECONDS = 2.0  # the clocks of the two services
BEFORE_SECONDS = 60.0  # until midnight, from when the first of them starts
AFTER_SECONDS = 6.0
MIDNIGHT_UTC_HOUR = 19  # in +05:00
LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", SMALL_DISK, "tmpfs", str(place)]
    try:
        subprocess.run(mounting, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        pytest.skip(f"no small file system can be mounted here: {reason.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.campaign
async def test_a_full_disk_loses_nothing(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan([FULL_DISK] * FULL_TIMES, tmp_path / "results", clients=16, home=small_disk)
    with capsys.disabled():
        outcome = await campaign(plan)
        print(summary(outcome))
    assert outcome.complaints() == []
    assert any(each.status == 503 for op in outcome.operations for each in op.attempts)


def faked(library: Path, ahead_seconds: float) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{ahead_seconds:+.3f}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@pytest.fixture
def library() -> Path:
    found = sorted(Path("/").glob(LIBRARY.removeprefix("/")))
    if not found:
        pytest.skip("the Debian package faketime is not installed")
    return found[0]


@pytest.mark.campaign
async def test_two_services_whose_clocks_disagree_over_midnight(
    library: Path, tmp_path: Path
) -> None:
    """The later clock begins the new day; what the other spends after that counts in it too."""
    now = datetime.now(UTC)
    midnight = now.replace(hour=MIDNIGHT_UTC_HOUR, minute=0, second=0, microsecond=0)
    ahead = (midnight - timedelta(seconds=BEFORE_SECONDS) - now).total_seconds()
    journal = Journal(tmp_path / "journal.jsonl")
    receiver = Receiver("127.0.0.1")
    await receiver.start()
    folders = [tmp_path / name for name in ("behind", "ahead")]
    for folder in folders:
        folder.mkdir()
    open_to = {"LAARI_WEBHOOK_ALLOW_PRIVATE": "on"}
    with (
        embedded_server(tmp_path / "engine") as dsn,
        serving(dsn, folders[0], **open_to, **faked(library, ahead)) as own,
        serving(dsn, folders[1], **open_to, **faked(library, ahead + APART_SECONDS)) as other,
    ):
        shops = await asyncio.to_thread(
            lambda: [open_shop(own, receiver.url, number) for number in range(4)]
        )
        assert datetime.now(UTC) + timedelta(seconds=ahead + APART_SECONDS) < midnight
        place = Place(own, tmp_path, receiver, shops)
        ends = midnight - timedelta(seconds=ahead)
        assert await _over_midnight(place, other, journal, ends) == []
        shown = await asyncio.to_thread(other.laari, "audit", "--json")
        assert shown.returncode == 0, shown.stdout + shown.stderr
    await receiver.close()


async def _over_midnight(
    place: Place, other: Service, journal: Journal, ends: datetime
) -> list[tuple[str, str]]:
    callers = [Caller(each.origin, journal) for each in (place.service, other)]
    loads = [Load(caller, place.shops, clients=10) for caller in callers]
    try:
        left = (ends - datetime.now(UTC)).total_seconds() + AFTER_SECONDS
        await asyncio.sleep(left)
        for load in loads:
            load.check()
            await load.stop()
        found = await read_everything(place.service.dsn, place.receiver.ids)
        days = {spend.at.hour for spend in found.spends}
        assert {MIDNIGHT_UTC_HOUR - 1, MIDNIGHT_UTC_HOUR} <= days, days
        began = time.monotonic()
        problems = await replay_every_key(callers[1], place.shops, journal.operations)
        today = max(spend.at for spend in found.spends)
        problems += await use_up_limits(callers[0], place.shops, remaining(place, found, today))
        assert time.monotonic() - began < 3600
        found = await read_everything(place.service.dsn, place.receiver.ids)
        return [*problems, *check(journal.operations, found)]
    finally:
        for load, caller in zip(loads, callers, strict=True):
            await load.abort()
            await caller.close()
