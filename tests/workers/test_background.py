import asyncio
import logging
from pathlib import Path

import pytest

from laari.settings import read_settings
from laari.workers import background
from laari.workers.background import Job, run_jobs
from laari.workers.webhooks.delivery import Deliverer
from laari.workers.webhooks.sender import Sender


async def test_a_failing_job_is_tried_again_and_does_not_disturb_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "FIRST_RETRY_SECONDS", 0.001)
    stop, runs = asyncio.Event(), {"good": 0, "bad": 0}

    async def good() -> None:
        runs["good"] += 1

    async def bad() -> None:
        runs["bad"] += 1
        if runs["bad"] < 4:
            raise RuntimeError("no luck")
        stop.set()

    with caplog.at_level(logging.ERROR):
        async with asyncio.timeout(30):
            await run_jobs([Job("good", 0.001, good), Job("bad", 60, bad)], stop)
    assert runs["bad"] == 4
    assert runs["good"] > 1
    assert [record.message for record in caplog.records] == [
        f"bad failed, next attempt in {seconds:.0f} s" for seconds in (0.001, 0.002, 0.004)
    ]


async def test_stop_ends_a_long_wait_but_not_the_job_under_way() -> None:
    stop, began, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        began.set()
        await asyncio.sleep(0.05)
        finished.set()

    running = asyncio.create_task(run_jobs([Job("slow", 3600, slow)], stop))
    await began.wait()
    stop.set()
    async with asyncio.timeout(30):
        await running
    assert finished.is_set()


async def test_the_real_jobs_run_on_the_real_database(
    dsn: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    stop = asyncio.Event()
    settings = read_settings({"LAARI_DATA_DIR": str(tmp_path)})
    running = asyncio.create_task(background.run(dsn, bytes(32), settings, stop))
    await asyncio.sleep(0.3)
    stop.set()
    async with asyncio.timeout(30):
        await running
    assert not caplog.records


async def test_delivery_stops_though_it_is_woken_at_the_same_moment(dsn: str) -> None:
    sender = Sender(allow_private=True)
    stop = asyncio.Event()
    deliverer = Deliverer(dsn, sender, lambda merchant, secret: "", (60,))
    running = asyncio.create_task(deliverer.run(stop))
    await asyncio.sleep(0.5)  # it waits for something to do
    deliverer._wake.set()
    stop.set()
    done, _ = await asyncio.wait([running], timeout=30)
    assert done
    await sender.close()


async def test_a_job_with_more_to_do_goes_on_at_once_and_stops_between_its_steps() -> None:
    stop, steps = asyncio.Event(), 0

    async def endless() -> bool:
        nonlocal steps
        steps += 1
        if steps == 50:
            stop.set()
        return True

    async with asyncio.timeout(30):
        await run_jobs([Job("endless", 3600, endless)], stop)
    assert steps == 50
