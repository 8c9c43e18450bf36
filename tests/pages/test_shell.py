"""The counter of a paired device that is opened without a connection."""

import asyncio
import re

import httpx
import pytest
from playwright.async_api import Error, Page, expect

from laari.edge.pages.assets import asset_reply
from laari.edge.pages.language import LANGUAGES
from laari.edge.pages.tills.shell import shell_of
from tests.pages.counters import Device, Shop, elsewhere, new_shop
from tests.pages.people import Visitors, serious_violations, sideways_scroll
from tests.pages.test_offline import paired_page, scanned, secret_of, shown_to_the_customer
from tests.pages.test_permissions import TILL, logged_in, member
from tests.serving import Service

KEPT = """async () => {
    const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
    const requests = await Promise.all(caches_.map((cache) => cache.keys()));
    return requests.flat().map((request) => new URL(request.url).pathname);
}"""


@pytest.fixture
async def shop(service: Service) -> Shop:
    return await new_shop(service)


def worker_in(html: str) -> str | None:
    found = re.search(r'data-worker="([^"]+)"', html)
    return found and found[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_worker_keeps_files_that_exist(language: str) -> None:
    shell = shell_of(language)
    listed = re.search(r"FILES = \[(.+?)\]", shell.worker)
    assert listed is not None
    files = set(re.findall(r'"([^"]+)"', listed[1]))
    assert shell.page_address in files
    static = files - {shell.page_address}
    assert len(static) > 5
    assert [path for path in static if asset_reply(path, "") is None] == []
    assert set(re.findall(r'"(/static/[^"]+)"', shell.page)) <= static


async def test_the_shell_is_the_same_for_all_and_tells_nothing(
    shop: Shop, service: Service
) -> None:
    other = await new_shop(service)
    workers, pages = set(), set()
    for each in (shop, other):
        device = Device(each)
        keypad = device.get().text
        worker, secret = worker_in(keypad), secret_of(keypad)
        assert worker is not None
        assert secret is not None
        script = device.forms.http.get(service.origin + worker)
        found = re.search(r'SHELL = "([^"]+)"', script.text)
        assert found is not None
        for browser in (device.forms.http, httpx):  # also somebody who is paired with nothing
            page = browser.get(service.origin + found[1])
            assert (page.status_code, "set-cookie" in page.headers) == (200, False)
            pages.add(page.text)
        workers.add(script.text)
        for told in (TILL, "Seagull", secret, "form_token"):
            assert told not in page.text + script.text, told
        # The counter and nothing beside it; the policy of all pages.
        assert script.headers["service-worker-allowed"] == "/counter"
        assert script.headers["content-type"].startswith("text/javascript")
        for reply in (script, page):
            assert "unsafe" not in reply.headers["content-security-policy"]
            assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert (len(workers), len(pages)) == (1, 1)
    for path in ("shell", "worker"):
        assert httpx.get(f"{service.origin}/counter/{path}/000000000000").status_code == 404


async def test_a_cashier_keeps_no_shell(shop: Shop, service: Service) -> None:
    cashier = await logged_in(service, await member(service, shop.owner.shop.id, "cashier"))
    assert worker_in(cashier.get(f"{shop.home}/counter").text) is None


async def kept(page: Page) -> list[str]:
    """The paths that the browser keeps, once its worker is ready."""
    await page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    found: list[str] = await page.evaluate(KEPT)
    return [path for path in found if not path.startswith("/static/")]


def without_connection(visitors: Visitors) -> None:
    """Browsers complain of it, and nothing else may have gone wrong."""
    visitors.complaints = [text for text in visitors.complaints if "ERR_INTERNET" not in text]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_counter_that_is_reloaded_without_a_connection(
    shop: Shop, visitors: Visitors, language: str
) -> None:
    page = await paired_page(shop, visitors, language)
    assert await kept(page) == [shell_of(language).page_address]
    await page.context.set_offline(True)
    # A sale that is not made: the same customer pays with the printed code instead.
    await page.locator("#amount").fill("45.50")
    await page.locator("main form .button").click()
    await expect(page.locator("[data-offline]")).to_be_visible()
    await page.reload()
    await expect(page.locator("[data-shell]")).to_be_visible()
    await expect(page.locator("[data-offline]")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", language)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    for key in "45.50":
        await page.locator(f"[data-key='{key}']").click()
    paid = await scanned(shop, "45.50")
    digits = await asyncio.to_thread(shown_to_the_customer, shop, paid)
    assert digits is not None
    await page.locator("[data-check-open]").click()
    await expect(page.locator("#check-amount")).to_have_value("45.50")
    for amount, said in (("45.50", "good"), ("46.50", "bad")):
        await page.locator("#check-amount").fill(amount)
        await page.locator("#check-digits").fill(digits)
        await page.locator("dialog form .button").first.click()
        await expect(page.locator(f"[data-says={said}]")).to_be_visible()
    # The connection is back: an answer can be read first. Then the counter has the sale, once.
    async with page.expect_response("**/counter/news*"):
        await page.context.set_offline(False)
    await expect(page.locator("dialog")).to_be_visible()
    await page.locator("[data-check-close]").click()
    await expect(page.locator("#latest li")).to_have_count(1)
    await expect(page.locator(".brand")).to_contain_text(TILL)
    assert len(await asyncio.to_thread(shop.payments)) == 1
    without_connection(visitors)


async def test_the_browser_keeps_no_page_but_the_shell(shop: Shop, visitors: Visitors) -> None:
    page = await paired_page(shop, visitors)
    origin = shop.service.origin
    await kept(page)
    await page.locator("#amount").fill("12.34")
    await page.locator("main form .button").click()
    await expect(page.locator("[data-sale=pending]")).to_be_visible()
    sale = page.url
    [row] = await asyncio.to_thread(shop.payments)
    elsewhere_ = ("/", "/app/login", "/dashboard/login", f"/pay/{row['token']}", "/counter/pair")
    for path in (*elsewhere_, "/counter"):
        await page.goto(origin + path)
    assert await kept(page) == [shell_of("en").page_address]
    await page.context.set_offline(True)
    await page.goto(sale)
    await expect(page.locator("[data-shell]")).to_be_visible()
    assert "12.34" not in await page.content()
    for path in elsewhere_:
        with pytest.raises(Error, match="ERR_INTERNET_DISCONNECTED"):
            await (await page.context.new_page()).goto(origin + path)
    # Back: the same sale, still one.
    await page.context.set_offline(False)
    await expect(page.locator("[data-sale=pending]")).to_be_visible()
    assert page.url == sale
    assert len(await asyncio.to_thread(shop.payments)) == 1
    without_connection(visitors)


async def test_an_ended_till_says_so_as_soon_as_it_is_online(
    shop: Shop, visitors: Visitors
) -> None:
    page = await paired_page(shop, visitors)
    await kept(page)
    await page.context.set_offline(True)
    await page.reload()
    await expect(page.locator("[data-shell]")).to_be_visible()
    await asyncio.to_thread(shop.end_all)
    await page.context.set_offline(False)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Pair this device with a till")
    # It keeps nothing: no secret, and nothing that opens the counter.
    assert await page.evaluate("localStorage.getItem('laari-offline')") is None
    registered = "navigator.serviceWorker.getRegistration('/counter').then(Boolean)"
    assert not await page.evaluate(registered)
    await page.context.set_offline(True)
    with pytest.raises(Error, match="ERR_INTERNET_DISCONNECTED"):
        await page.goto(f"{shop.service.origin}/counter")
    without_connection(visitors)


async def test_another_version_replaces_the_shell(shop: Shop, visitors: Visitors) -> None:
    """The shell of another language is another one, as that of another version is."""
    page = await paired_page(shop, visitors)
    assert await kept(page) == [shell_of("en").page_address]
    await page.goto(f"{shop.service.origin}/counter?lang=dv")
    async with asyncio.timeout(30):
        while await kept(page) != [shell_of("dv").page_address]:
            await asyncio.sleep(0.1)
    await page.context.set_offline(True)
    await page.reload()
    await expect(page.locator("[data-shell]")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "dv")
    without_connection(visitors)


async def test_the_counter_can_be_installed(shop: Shop, visitors: Visitors) -> None:
    page = await visitors.page("phone", extra_http_headers=elsewhere())
    await page.goto(f"{shop.service.origin}/counter")
    control = await page.context.new_cdp_session(page)
    found = await control.send("Page.getAppManifest")
    assert found["errors"] == []
    assert found["url"].startswith(f"{shop.service.origin}/static/")
    assert (await control.send("Page.getInstallabilityErrors"))["installabilityErrors"] == []
