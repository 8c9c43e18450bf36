"""The guides at /docs/guides: whole, linked, readable by everybody, and asking nobody else."""

import re
from typing import Literal
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import expect

from laari.edge.pages.security import HEADERS
from laari.edge.reference.guides import FOLDER, GUIDES, HOME, PATHS
from tests.pages.people import SIZES, Visitors, violations
from tests.serving import Service

CHECKOUT = f"{HOME}/checkout"

_ID = re.compile(r'\bid="([^"]+)"')
_HREF = re.compile(r'<a\b[^>]* href="([^"]+)"')


@pytest.fixture
def pages(service: Service) -> dict[str, httpx.Response]:
    return {path: httpx.get(f"{service.origin}{path}") for path in PATHS}


def test_every_file_has_a_page_and_its_place() -> None:
    assert {f"{name}.md" for name in GUIDES} == {file.name for file in FOLDER.iterdir()}


def test_every_link_leads_to_a_page_and_an_anchor(
    service: Service, pages: dict[str, httpx.Response]
) -> None:
    anchors = {path: set(_ID.findall(page.text)) for path, page in pages.items()}
    for path, page in pages.items():
        assert len(_ID.findall(page.text)) == len(anchors[path]), f"{path} has an id twice"
        for target in map(urlsplit, _HREF.findall(page.text)):
            where = target.path or path
            assert not target.netloc
            if target.fragment:
                assert target.fragment in anchors[where], f"{path}: {target.geturl()}"
            elif where not in pages:
                answer = httpx.get(f"{service.origin}{where}", follow_redirects=True)
                assert answer.status_code == 200, f"{path}: {where}"


def test_one_leads_to_the_next(pages: dict[str, httpx.Response]) -> None:
    order = list(PATHS)
    for place, path in enumerate(order):
        for relation, neighbours in (("next", order[place + 1 :]), ("prev", order[:place][::-1])):
            found = re.findall(rf'<a rel="{relation}" href="([^"]+)"', pages[path].text)
            assert found == neighbours[:1]
        assert f'<a href="{path}" aria-current="page">' in pages[path].text


def test_headers_are_those_of_the_pages(pages: dict[str, httpx.Response]) -> None:
    for page in pages.values():
        for name, value in HEADERS:
            assert page.headers[name.decode()] == value.decode()
        assert "style=" not in page.text
        assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_a_page_is_sent_again_only_if_it_changed(service: Service) -> None:
    with httpx.Client(base_url=service.origin) as browser:
        first = browser.get(CHECKOUT)
        assert first.headers["content-encoding"] == "gzip"
        again = browser.get(CHECKOUT, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert browser.head(CHECKOUT).status_code == 200
        assert browser.post(CHECKOUT).status_code == 405
        for unknown in ("/docs/guides/", "/docs/guides/none", "/docs/guides/checkout.md"):
            assert browser.get(unknown).status_code == 404


@pytest.mark.ci
@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        ("light", "phone"),
        pytest.param("dark", "desktop", marks=pytest.mark.campaign),
        pytest.param("light", "desktop", marks=pytest.mark.campaign),
        pytest.param("dark", "phone", marks=pytest.mark.campaign),
    ],
)
async def test_nobody_is_kept_from_reading(
    visitors: Visitors, scheme: Literal["light", "dark"], size: str
) -> None:
    page = await visitors.page(size, color_scheme=scheme)
    for path in PATHS:
        await page.goto(f"{visitors.service.origin}{path}")
        background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = max(map(int, re.findall(r"[0-9]+", background)))
        assert brightness > 200 if scheme == "light" else brightness < 60
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= SIZES[size]["width"], f"{path} scrolls sideways"
        assert await violations(page) == [], path


@pytest.mark.ci
async def test_one_choice_of_language_holds_for_all_samples(visitors: Visitors) -> None:
    page = await visitors.page("desktop")
    await page.goto(f"{visitors.service.origin}{CHECKOUT}")
    await expect(page.locator('[data-language="sh"]').first).to_be_visible()
    await page.get_by_text("PHP", exact=True).first.click()
    await page.goto(f"{visitors.service.origin}{HOME}/sandbox")
    for sample in await page.locator('[data-language="php"]').all():
        await expect(sample).to_be_visible()
    for sample in await page.locator('[data-language="sh"]').all():
        await expect(sample).to_be_hidden()


async def test_tabs_work_with_the_keyboard(visitors: Visitors) -> None:
    page = await visitors.page("desktop")
    await page.goto(f"{visitors.service.origin}{CHECKOUT}")
    await page.get_by_role("radio", name="curl").first.focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.locator('[data-language="python"]').first).to_be_visible()
    await expect(page.locator('[data-language="sh"]').first).to_be_hidden()


async def test_everything_can_be_read_without_javascript(visitors: Visitors) -> None:
    page = await visitors.page("phone", java_script_enabled=False)
    await page.goto(f"{visitors.service.origin}{CHECKOUT}")
    python = page.locator('[data-language="python"]').first
    await expect(python).to_be_hidden()
    await page.get_by_text("Python", exact=True).first.click()
    await expect(python).to_be_visible()
    await expect(python).to_contain_text("laari.payments.create")
    await page.get_by_text("All guides", exact=True).click()
    await page.get_by_role("navigation", name="All guides").get_by_text("Webhooks").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")


async def test_a_sample_is_copied_as_it_stands(visitors: Visitors) -> None:
    context = await visitors.context("desktop", permissions=["clipboard-read", "clipboard-write"])
    page = await context.new_page()
    await page.goto(f"{visitors.service.origin}{CHECKOUT}")
    sample = page.locator('.samples > [data-language="sh"]').first
    await sample.hover()
    await sample.get_by_role("button", name="Copy").click()
    await expect(sample.get_by_role("button", name="Copied")).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == await sample.locator("code").text_content()
    assert copied in (FOLDER / "checkout.md").read_text(encoding="utf-8")


async def test_the_reference_and_the_guides_lead_to_each_other(visitors: Visitors) -> None:
    page = await visitors.page("phone")
    await page.goto(f"{visitors.service.origin}/docs")
    await page.get_by_role("link", name="Guides").click()
    await expect(page).to_have_url(f"{visitors.service.origin}{HOME}")
    await page.get_by_role("link", name="Reference").click()
    await expect(page).to_have_url(f"{visitors.service.origin}/docs")
