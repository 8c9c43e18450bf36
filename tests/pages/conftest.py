"""Pages in a real browser, against one running service per test process."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, async_playwright, expect

from laari.store.migrate import migrate
from tests.serving import Merchant, Service, serving

CHROMIUM = shutil.which("chromium")
# A browser in a container, that talks to nobody but us.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

expect.set_options(timeout=30_000)  # milliseconds, as elsewhere: a busy machine is no failure


@pytest.fixture(scope="session")
def service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    asyncio.run(engine.execute("CREATE DATABASE pages"))
    asyncio.run(migrate(engine.url("pages")))
    with serving(engine.url("pages"), tmp_path_factory.mktemp("pages")) as service:
        yield service


@pytest.fixture
def shop(service: Service) -> Merchant:
    """A merchant in sandbox mode, without fees."""
    return service.merchant()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        yield browser
        await browser.close()
