"""Pages in a real browser: one browser and one running service per test process.

The tests share the browser and therefore its event loop; each has a context of its own, with its
own cookies.
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests.pages.people import Visitors
from tests.serving import Merchant, Service, serving

# The shell is the same engine without the windows around it: twice as fast here.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
# A browser in a container, that talks to nobody but us.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

CONTACT = "support@laari.example or 330 1234"

expect.set_options(timeout=30_000)  # milliseconds, as elsewhere: a busy machine is no failure


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test in a browser takes two seconds: `make test` runs a few for each group of pages."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if not str(item.path).startswith(here):
            continue
        if pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        journey = item.get_closest_marker("journey") is not None
        if "browser" in getattr(item, "fixturenames", ()) and not journey:
            item.add_marker(pytest.mark.ci)


@pytest.fixture(scope="session")
def service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = {
        "LAARI_TRUSTED_PROXIES": "127.0.0.1",  # so that a header can stand for https
        "LAARI_SUPPORT_CONTACT": CONTACT,
        "LAARI_WITHDRAWAL_MINIMUM": "1000",
    }
    with serving(engine.migrated("pages"), tmp_path_factory.mktemp("pages"), **settings) as service:
        yield service


@pytest.fixture(scope="session")
def named_service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with a name, as browsers want it for passkeys. Its messages wait."""
    settings = {
        "LAARI_TRUSTED_PROXIES": "127.0.0.1",
        "LAARI_SUPPORT_CONTACT": CONTACT,
        "LAARI_SMTP_URL": "smtp://127.0.0.1:9",
        "LAARI_MAIL_FROM": "Laari <pay@example.com>",
        "LAARI_REMEMBERED_DEVICE_DAILY_LIMIT": "10000",
    }
    folder = tmp_path_factory.mktemp("named")
    with serving(engine.migrated("named"), folder, host="localhost", **settings) as service:
        yield service


@pytest.fixture
def shop(service: Service) -> Merchant:
    """A merchant in sandbox mode, without fees."""
    return service.merchant()


@pytest.fixture
def live_shop(service: Service) -> Merchant:
    return service.merchant(mode="live", name="Seagull Café", fee_bps=150)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*OPTIONS])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visitors(browser: Browser, service: Service) -> AsyncIterator[Visitors]:
    """Opens pages as people with screens of two sizes; none of them may meet an error."""
    visitors = Visitors(browser, service)
    yield visitors
    await visitors.leave()
