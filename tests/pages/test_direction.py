"""A shop's name that turns direction: what stands around it on a page stays as it is."""

import pytest
from playwright.async_api import Page

from tests.pages.owners import new_owner
from tests.pages.people import Visitors
from tests.serving import Service

# The second one ends the isolation around it first; the third uses up its end.
NAMES = ["Café \u202eevil", "Café \u2069\u202eevil", "Café \u2067\u2067evil"]

# Whether the characters of these words stand in a row from left to right.
IN_ORDER = """words => {
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    const places = [...words].map((_, index) => {
      const range = document.createRange();
      range.setStart(node, at + index);
      range.setEnd(node, at + index + 1);
      return range.getBoundingClientRect().left;
    });
    return places.every((left, index) => index === 0 || left > places[index - 1]);
  }
  return "not on the page";
}"""


async def reads_forwards(page: Page, words: str) -> bool | str:
    found: bool | str = await page.evaluate(IN_ORDER, words)
    return found


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_turns_nothing_but_itself(
    visitors: Visitors, service: Service, name: str
) -> None:
    owner = new_owner(service, name=name)
    payment = owner.shop.payment(reference=f"order {name}", title=name)
    page = await visitors.page()
    await page.goto(payment["payment_url"])
    assert await reads_forwards(page, "asks you") is True
    # The browser's own title has no markup: it keeps the name apart with controls of its own.
    assert (await page.title()).endswith("\u2069 · Laari")
    page = await owner.open(visitors, f"/sandbox/payments/{payment['id']}/cancel")
    assert await page.locator("h1 bdi").count() == 1
    stored = owner.shop.get(f"/payments/{payment['id']}").json()["data"]
    assert stored["title"] == name
