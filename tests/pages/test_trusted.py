"""A trusted person: asked, agreed and ended in two wallets."""

import pytest
from playwright.async_api import Locator, Page, expect

from laari.rules.people.trusted import AgreeToTrust, AskTrustedPerson
from laari.store.postgres.pool import connection_to
from tests.devices import themselves
from tests.pages.operators import desk_of
from tests.pages.people import (
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.wallets import LONG_AGO, execute, open_app, speak_dhivehi
from tests.people import decided
from tests.serving import Merchant

ACCOUNT = "/app/password"


def ask_form(page: Page) -> Locator:
    return page.locator("form[action='/app/password/trusted']")


@both_sizes
async def test_somebody_is_asked_agrees_and_is_ended(
    visitors: Visitors, live_shop: Merchant, size: str
) -> None:
    visitors.expected_statuses = {400, 422}
    service = live_shop.service
    mother, son = await new_customer(service), await new_customer(service)
    page = await open_app(visitors, mother, ACCOUNT, size)
    await page.get_by_text("Ask a trusted person …").click()
    form = ask_form(page)

    async def ask(mobile: str, above: str) -> None:
        await form.get_by_label("Their mobile number").fill(mobile)
        await form.get_by_label("For payments above").fill(above)
        await form.get_by_label("password").fill(mother.password)
        await form.get_by_role("button").click()

    await ask(mother.mobile, "1000")
    await expect(page.get_by_role("alert")).to_contain_text("your own number")
    await ask(son.mobile, "1,000.001")
    await expect(page.get_by_role("alert")).to_be_visible()
    assert await serious_violations(page) == []
    await ask(son.mobile, "1,000")
    await expect(page.get_by_role("status").first).to_contain_text("is asked")
    await expect(page.get_by_text("no answer yet")).to_be_visible()

    other = await open_app(visitors, son, "/app", size)
    await other.get_by_role("link", name="Answer").click()
    await other.get_by_role("button", name="Agree").click()
    await expect(other.get_by_role("status").first).to_contain_text("You are a trusted person now")
    assert await serious_violations(other) == []
    assert await sideways_scroll(other) <= 0

    late = await open_app(visitors, mother, ACCOUNT, size, age=LONG_AGO)
    end = late.locator("form[action='/app/password/trusted/end']")
    await end.get_by_label("password").fill("not it")
    await end.get_by_role("button", name="End it").click()
    await expect(late.get_by_role("alert")).to_contain_text("not your password")
    await end.get_by_label("password").fill(mother.password)
    await end.get_by_role("button", name="End it").click()
    await expect(late.get_by_text("It ends on")).to_be_visible()
    [row] = await execute(
        service,
        "SELECT status, ends_at - now() > interval '23 hours' AS later FROM trusted_people "
        "WHERE customer_id = $1",
        mother.id,
    )
    assert tuple(row) == ("agreed", True)
    await other.reload()
    await expect(other.get_by_text("It ends on")).to_be_visible()
    await other.get_by_role("button", name="Get no more messages").click()
    await expect(other.get_by_role("status").first).to_contain_text("The messages have ended")


async def test_the_page_does_not_tell_whether_a_number_has_a_wallet(
    visitors: Visitors, live_shop: Merchant
) -> None:
    service = live_shop.service
    asked = []
    for mobile in ((await new_customer(service)).mobile, "9000001"):
        customer = await new_customer(service)
        page = await open_app(visitors, customer, ACCOUNT)
        await page.get_by_text("Ask a trusted person …").click()
        await ask_form(page).get_by_label("Their mobile number").fill(mobile)
        await ask_form(page).get_by_label("For payments above").fill("1000")
        await ask_form(page).get_by_label("password").fill(customer.password)
        await ask_form(page).get_by_role("button").click()
        end = page.locator("form[action='/app/password/trusted/end']")
        names = "inputs => inputs.map(each => [each.name, each.value.length])"
        asked.append(await end.locator("input").evaluate_all(names))
        await end.get_by_role("button", name="End it").click()
        await expect(page.get_by_text("Ask a trusted person …")).to_be_visible()
    assert asked[0] == asked[1]


async def test_the_desk_shows_and_ends_it(live_shop: Merchant) -> None:
    service = live_shop.service
    mother, son = await new_customer(service), await new_customer(service)
    async with connection_to(service.dsn) as connection:
        for command in (
            AskTrustedPerson(themselves(mother.id), mother.id, son.mobile, 50_000),
            AgreeToTrust(themselves(son.id), mother.id, son.id),
        ):
            await decided(connection, command, master=service.master_key)
    desk, finance = await desk_of(service, "support"), await desk_of(service, "finance")
    page, other = (f"/customers/cus_{each.id.hex}" for each in (mother, son))
    assert son.mobile in desk.get(page).text
    assert f"/operator{other}" in desk.get(page).text
    assert f"/operator{page}" in desk.get(other).text
    assert finance.send(page, "/end-trust", reason="Asked").status_code == 403
    assert desk.send(page, "/end-trust").status_code == 422  # without a reason
    done = desk.send(page, "/end-trust", reason="Asked by both")
    assert "The trusted person gets no messages now" in done.text
    assert "Trusted by" not in desk.get(other).text
    entries = service.execute(
        "SELECT actor_kind, reason FROM journal WHERE action = 'trusted_person.end' "
        "AND object_id = $1",
        f"cus_{mother.id.hex}",
    )
    assert [tuple(row) for row in entries] == [("operator", "Asked by both")]
    again = desk.send(page, "/end-trust", reason="Asked by both")
    assert (again.status_code, "has no trusted person" in again.text) == (409, True)


@pytest.mark.journey
async def test_the_forms_are_in_dhivehi_too(visitors: Visitors, live_shop: Merchant) -> None:
    customer = await new_customer(live_shop.service)
    await speak_dhivehi(live_shop.service, customer)
    page = await open_app(visitors, customer, ACCOUNT)
    await expect(page.get_by_role("heading", name="އިތުބާރުކުރައްވާ މީހާ")).to_be_visible()
    assert await sideways_scroll(page) <= 0
