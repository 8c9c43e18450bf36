"""The counter speaks the amount of a paid sale, in the language that the seller chose."""

import asyncio
from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Page, expect

from laari.edge.pages.assets import SPEECH
from tests.pages.counters import Shop, new_shop, paid_by
from tests.pages.people import Visitors, new_customer, serious_violations, sideways_scroll
from tests.pages.test_offline import paired_page
from tests.pages.test_permissions import TILL
from tests.serving import Service

# What begins to sound: its file, the moment and the seconds.
LISTEN = """
window.heard = [];
const files = new WeakMap();
const { decodeAudioData } = BaseAudioContext.prototype;
BaseAudioContext.prototype.decodeAudioData = async function (file) {
    const text = btoa(String.fromCharCode(...new Uint8Array(file)));
    const decoded = await decodeAudioData.call(this, file);
    files.set(decoded, text);
    return decoded;
};
const { start } = AudioBufferSourceNode.prototype;
AudioBufferSourceNode.prototype.start = function (when) {
    heard.push([files.get(this.buffer), when, this.buffer.duration]);
    start.call(this, when);
};
"""
# Says amounts one after the other without a pause.
SAY = """async (amounts) => {
    const sounds = new AudioContext();
    await sounds.resume();
    const choice = document.querySelector("[data-speech]");
    const { say } = await import(choice.dataset.speech);
    for (const amount of amounts) {
        const place = document.createElement("p");
        place.setAttribute("data-spoken-en", amount);
        say(sounds, place, choice);
    }
}"""
BREAK = "() => { AudioContext.prototype.createBufferSource = () => { throw new Error(); } }"
FILES = {
    b64encode(path.read_bytes()).decode(): f"{path.parent.name}/{path.stem}"
    for path in SPEECH.glob("*/*.mp3")
}


@pytest.fixture
async def shop(service: Service) -> Shop:
    return await new_shop(service)


async def listening(shop: Shop, visitors: Visitors) -> Page:
    page = await paired_page(shop, visitors)
    await page.add_init_script(LISTEN)
    await page.reload()
    return page


async def heard(page: Page) -> list[str]:
    return [FILES[file] for file, *_ in await page.evaluate("heard")]


def words(language: str, amount: str) -> list[str]:
    return [f"{language}/{word}" for word in amount.split()]


async def until_heard(page: Page, *expected: str) -> None:
    async with asyncio.timeout(30):
        while len(await heard(page)) < len(expected):
            await asyncio.sleep(0.1)
    assert await heard(page) == [*expected]


async def sell(page: Page, shop: Shop, amount: str) -> None:
    """From the keypad until it is green."""
    customer = await new_customer(shop.service)
    await page.locator("#amount").fill(amount)
    await page.locator("main form .button").click()
    await expect(page.locator("[data-sale=pending]")).to_be_visible()
    await paid_by(shop, customer, (await asyncio.to_thread(shop.payments))[-1])
    await expect(page.locator("[data-sale=paid]")).to_be_visible()


async def test_an_amount_is_spoken_in_the_chosen_language(shop: Shop, visitors: Visitors) -> None:
    page = await listening(shop, visitors)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    choice = page.get_by_label("Speak the amount")
    await expect(choice).to_have_value("")
    # Off: nothing is loaded, and nothing is said.
    await sell(page, shop, "7")
    assert [url for url in asked if "speech" in url] == []
    await choice.select_option("en")
    await page.locator("[data-next]").click()
    await page.wait_for_timeout(700)
    assert await heard(page) == []
    loaded = [url.rpartition("/")[2] for url in asked if "speech" in url]
    assert loaded == ["speech.js", "speech-en.json"]
    await sell(page, shop, "325.50")
    english = words("en", "received three hundred twenty five rufiyaa fifty laari")
    await until_heard(page, *english)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    # The device keeps the choice. A sale of the static code is spoken too.
    await choice.select_option("dv")
    await page.locator("[data-next]").click()
    await expect(page.locator("#latest")).to_be_visible()
    await page.reload()
    await expect(choice).to_have_value("dv")
    await page.locator("#amount").click()
    payment = await asyncio.to_thread(shop.owner.shop.payment, terminal_label=TILL, amount=100)
    [*_, row] = await asyncio.to_thread(shop.payments)
    assert row["reference"] == payment["reference"]
    await paid_by(shop, await new_customer(shop.service), row)
    await until_heard(page, *words("dv", "eh rufiyaa libijje"))


async def test_amounts_do_not_speak_over_each_other(shop: Shop, visitors: Visitors) -> None:
    """One is spoken to its end. Of those that wait, the newest is spoken."""
    page = await listening(shop, visitors)
    await page.get_by_label("Speak the amount").select_option("en")
    said = [f"received {number} rufiyaa" for number in ("one", "two", "three")]
    await page.evaluate(SAY, said)
    await until_heard(page, *words("en", said[0]), *words("en", said[2]))
    sounds: list[tuple[str, float, float]] = await page.evaluate("heard")
    for (_, begins, seconds), (_, later, _) in pairwise(sounds):
        assert later >= begins + seconds - 0.001


async def test_a_counter_that_cannot_speak_goes_on(shop: Shop, visitors: Visitors) -> None:
    page = await listening(shop, visitors)

    async def lose(route: Any) -> None:
        await route.abort()

    await page.route("**/speech-en.json", lose)
    await page.get_by_label("Speak the amount").select_option("en")
    await sell(page, shop, "7")
    await page.locator("[data-next]").click()
    await page.unroute("**/speech-en.json")
    await sell(page, shop, "8")
    spoken = words("en", "received eight rufiyaa")
    await until_heard(page, *spoken)
    await page.evaluate(BREAK)
    for amount in ("9", "10"):
        await page.locator("[data-next]").click()
        await sell(page, shop, amount)
    assert await heard(page) == spoken
    visitors.complaints = [text for text in visitors.complaints if "ERR_FAILED" not in text]
