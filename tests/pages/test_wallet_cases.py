"""A line that was not the customer: the case in the wallet, on the desk and on the command line."""

import json

from playwright.async_api import expect

from laari.rules import ids
from tests.pages.operators import desk_of
from tests.pages.people import Visitors, both_sizes, serious_violations, sideways_scroll
from tests.pages.wallets import busy_wallet, execute, open_app
from tests.serving import Merchant


@both_sizes
async def test_a_line_is_reported_answered_and_read(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    service = live_shop.service
    customer = await busy_wallet(live_shop)
    page = await open_app(visitors, customer, "/app/transactions", size)
    await page.get_by_role("listitem").filter(has_text="Lunch").get_by_role("link").click()
    await page.get_by_text("Tell us").click()
    await page.get_by_label("What happened?").fill("I was <b>at sea</b>.")
    assert await serious_violations(page) == []
    await page.get_by_role("button", name="Report this movement").click()
    case = page.get_by_role("region", name="This was not me")
    await expect(case).to_contain_text("Open")
    await expect(case).to_contain_text("I was <b>at sea</b>.")
    await expect(page.get_by_role("button", name="Report")).to_have_count(0)
    (row,) = await execute(service, "SELECT id FROM cases WHERE customer_id = $1", customer.id)
    shown = ids.show_id(ids.CASE, row["id"])
    listed = {
        each["case_id"]: each for each in json.loads(service.laari("case", "list", "--json").stdout)
    }
    assert listed[shown]["text"] == "I was <b>at sea</b>."
    desk = await desk_of(service, "support")
    path = f"/cases/{shown}"
    for address in ("/cases", path, f"/customers/{ids.show_id(ids.CUSTOMER, customer.id)}"):
        assert "I was &lt;b&gt;at sea&lt;/b&gt;." in desk.get(address).text
    fields = {"outcome": "resolved", "answer": "The shop has refunded it."}
    assert "The case is answered." in desk.send(path, "/answer", **fields).text
    (entry,) = await execute(
        service,
        "SELECT actor_kind, actor_role, reason FROM journal WHERE object_id = $1 "
        "AND action = 'case.answer'",
        shown,
    )
    assert tuple(entry) == ("operator", "support", "The shop has refunded it.")
    await page.reload()
    await expect(case).to_contain_text("Resolved")
    await expect(case).to_contain_text("The shop has refunded it.")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
