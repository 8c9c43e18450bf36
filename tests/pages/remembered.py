"""A customer's browser that is remembered, and logged out."""

import httpx

from tests.pages.forms import token_in
from tests.pages.passkeys import Browser
from tests.serving import Service


def remember(browser: Browser, password: str, name: str = "Phone") -> httpx.Response:
    """On the account page, logged in."""
    fields = {"form_token": browser.token(browser.account), "name": name, "password": password}
    return browser.send(f"{browser.account}/devices", fields)


def remembered(service: Service, identity: str, password: str) -> Browser:
    browser = Browser(service)
    browser.log_in(f"{service.origin}/app/login", identity, password)
    answer = remember(browser, password)
    assert answer.headers.get("location") == "/app/password?done=device", answer.text
    out = {"form_token": browser.token(browser.account)}
    assert browser.send(f"{service.origin}/app/logout", out).status_code == 303
    assert not browser.is_in
    return browser


def pay(browser: Browser, payment_url: str) -> httpx.Response:
    """Presses the button of the checkout, also if the page does not offer it."""
    token = token_in(browser.http.get(payment_url).text)
    return browser.send(f"{payment_url}/device", {"form_token": token})
