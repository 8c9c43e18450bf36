"""A look at a page of a walk: on a phone and on a desktop, in both colours."""

import os
from pathlib import Path
from typing import Literal

from playwright.async_api import Page

from tests.pages.people import serious_violations, sideways_scroll

# Pictures for a look at every page: LAARI_PICTURES=/tmp/pages
PICTURES = os.environ.get("LAARI_PICTURES")


View = tuple[int, Literal["light", "dark"]]
VIEWS: tuple[View, ...] = ((390, "light"), (1280, "dark"), (390, "dark"), (1280, "light"))


async def glance(page: Page, name: str) -> None:
    """In half of them, if no pictures are taken: it takes half as long."""
    await look(page, name, VIEWS if PICTURES else VIEWS[:2])


async def look(page: Page, name: str, views: tuple[View, ...] = VIEWS) -> None:
    """Nothing is wrong with the page in any of them."""
    for width, colours in views:
        await page.set_viewport_size({"width": width, "height": 844})
        await page.emulate_media(color_scheme=colours)
        assert await serious_violations(page) == []
        assert await sideways_scroll(page) <= 0
        if PICTURES:
            Path(PICTURES).mkdir(exist_ok=True)
            file = Path(PICTURES) / f"{name}-{width}-{colours}.png"
            await page.screenshot(path=file, full_page=True)
