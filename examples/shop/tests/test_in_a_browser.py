"""A customer with a real browser: from the shop to Laari's checkout, and back to a voucher."""

from __future__ import annotations

import re
import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
PATIENCE = 30_000  # milliseconds


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_customer_buys_a_dive(shop, laari_merchant):
    shop_url = shop.settings.shop_url
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.set_default_timeout(PATIENCE)
        complaints = []
        page.on("console", lambda said: complaints.append(said.text))
        page.goto(shop_url)
        page.get_by_role("button", name="Buy: Night dive").click()
        page.get_by_role("button", name=re.compile(r"^Pay MVR\s1,500.00$")).click()
        page.get_by_role("link", name="Return to").click()
        playwright.expect(page.get_by_role("status")).to_contain_text("your payment has arrived")
        assert page.url.startswith(f"{shop_url}/orders/")
        assert complaints == []
        browser.close()
    (payment,) = laari_merchant.client.payments.list()
    assert payment.status == "paid"
