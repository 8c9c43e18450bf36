"""The second factor on the pages: the second step, set-up, confirmations, and who must have one."""

import re
import secrets
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from playwright.async_api import expect

from laari.edge.pages.app import ROUTES
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.rules.people.persons import NewLogin
from laari.store.people.passwords import hash_password
from tests import people
from tests.actors import OPERATOR
from tests.pages.factors import Phone, with_factor
from tests.pages.forms import Forms, token_in
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations, sideways_scroll
from tests.pages.wallets import heading
from tests.serving import Service

pytestmark = pytest.mark.ci


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, mode="live")


class Browser(Forms):
    """A browser of the dashboard without pictures."""

    def __init__(self, owner: Owner) -> None:
        super().__init__()
        self.owner = owner
        self.home = f"{owner.shop.service.origin}/dashboard"
        self.merchant = f"{self.home}/{owner.shop.id}"

    def address(self, path: str) -> str:
        has_mode = path.startswith(("/live", "/sandbox"))
        return (self.merchant if has_mode else self.home) + path

    def enter(self, password: str = PASSWORD) -> httpx.Response:
        return self.log_in(f"{self.home}/login", self.owner.email, password)

    def get(self, path: str) -> httpx.Response:
        return self.http.get(self.address(path))

    def post(self, path: str, page: str | None = None, **fields: str) -> httpx.Response:
        shown = self.http.get(self.address(page or path), follow_redirects=True)
        return self.send(self.address(path), {"form_token": token_in(shown.text), **fields})


def test_the_log_in_has_a_second_step(owner: Owner) -> None:
    phone, _ = with_factor(owner)
    browser = Browser(owner)
    entered = browser.enter()
    assert (entered.status_code, entered.headers["location"]) == (303, "/dashboard")
    page = browser.get("/live/payments")
    wanted = f"/dashboard/{owner.shop.id}/live/payments"
    assert page.status_code == 303
    assert page.headers["location"] == f"/dashboard/login/code?{urlencode({'next': wanted})}"
    half_open = browser.http.cookies["laari-dashboard"]
    refused = browser.post("/login/code", code="000000")
    assert refused.status_code == 422
    assert "not valid" in refused.text
    code = phone.code()
    done = browser.post("/login/code", code=code, next=wanted)
    assert (done.status_code, done.headers["location"]) == (303, wanted)
    assert browser.get("/live/payments").status_code == 200
    assert browser.http.cookies["laari-dashboard"] != half_open
    # The same code opens nothing in another browser.
    thief = Browser(owner)
    thief.enter()
    assert thief.post("/login/code", code=code).status_code == 422


def test_a_half_open_session_reaches_no_other_page(owner: Owner) -> None:
    with_factor(owner)
    browser = Browser(owner)
    browser.enter()
    token = token_in(browser.get("/login/code").text)
    walked = 0
    for route in ROUTES:
        if not route.path.startswith(DashboardRequest.prefix):
            continue
        path = route.path.format_map(
            {name: "live" if name == "mode" else "x" for name in re.findall(r"{(\w+)}", route.path)}
        )
        address = f"{owner.shop.service.origin}{path}"
        replies = [browser.http.get(address)]
        if route.post is not None:
            replies.append(browser.send(address, {"form_token": token}))
        for reply in replies:
            assert reply.status_code == 303, path
            assert reply.headers["location"].startswith("/dashboard/login/code?"), path
        walked += len(replies)
    assert walked > 40


def test_guesses_of_the_code_are_stopped(owner: Owner) -> None:
    phone, recovery = with_factor(owner)
    browser = Browser(owner)
    browser.enter()
    statuses = [browser.post("/login/code", code=f"00000{n}").status_code for n in range(7)]
    assert statuses == [422] * 4 + [429] * 3
    # Another browser and the right codes wait too.
    other = Browser(owner)
    other.enter()
    refused = other.post("/login/code", code=phone.code())
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert other.post("/login/code", code=recovery[0]).status_code == 429


def test_a_recovery_code_opens_once(owner: Owner) -> None:
    _, recovery = with_factor(owner)
    browser = Browser(owner)
    browser.enter()
    assert browser.post("/login/code", code=recovery[0]).status_code == 303
    assert "Recovery codes left: 9" in browser.get("/live/account").text
    again = Browser(owner)
    again.enter()
    assert again.post("/login/code", code=recovery[0]).status_code == 422


def test_a_session_without_a_due_code_has_no_second_step(owner: Owner) -> None:
    browser = Browser(owner)
    assert browser.get("/login/code").headers["location"] == "/dashboard/login"
    browser.enter()
    assert browser.get("/live").status_code == 200
    assert browser.get("/login/code").headers["location"] == "/dashboard/login"


def test_what_moves_money_or_gives_access_asks_for_a_code(owner: Owner) -> None:
    phone, recovery = with_factor(owner)
    browser = Browser(owner)
    browser.enter()
    used = phone.code()
    browser.post("/login/code", code=used)

    def shown_fields(path: str) -> set[str]:
        page = browser.get(path).text
        return {name for name in ("password", "code") if f'name="{name}"' in page}

    for path in ("/live/keys/rotate", "/live/keys/mode", "/live/keys", "/live/webhooks"):
        assert shown_fields(path) == {"password", "code"}, path
    without = browser.post("/live/keys/mode", mode="sandbox", password=PASSWORD)
    assert (without.status_code, "not valid" in without.text) == (422, True)
    replayed = browser.post("/live/keys/mode", mode="sandbox", password=PASSWORD, code=used)
    assert replayed.status_code == 422
    code = phone.code()
    wrong = browser.post("/live/keys/mode", mode="sandbox", password="wrong", code=code)
    assert (wrong.status_code, "not your password" in wrong.text) == (422, True)
    # A wrong password uses up no code.
    done = browser.post("/live/keys/mode", mode="sandbox", password=PASSWORD, code=code)
    assert (done.status_code, done.headers["location"].rpartition("=")[2]) == (
        303,
        "merchant.set-mode",
    )
    # People and keys are those of live mode too, in whatever mode the credentials act now.
    for path in ("/sandbox/keys", "/sandbox/people", "/sandbox/webhooks"):
        assert shown_fields(path) == {"password", "code"}, path
    friend = {"email": "friend@shop.example", "role": "owner"}
    assert browser.post("/sandbox/people", **friend).status_code == 422
    new = browser.post(
        "/live/keys/clients",
        "/live/keys",
        **{"payments:read": "on", "password": PASSWORD},
        clients="0",
        code=recovery[0],
    )
    assert new.status_code == 200


def test_a_live_refund_asks_for_a_code(service: Service, owner: Owner) -> None:
    phone, recovery = with_factor(owner)
    payment = owner.shop.payment()
    browser = Browser(owner)
    browser.enter()
    browser.post("/login/code", code=phone.code())
    path = f"/live/payments/{payment['id']}/refund"
    refused = browser.post(path, "/live/account", password=PASSWORD)
    assert (refused.status_code, "not valid" in refused.text) == (422, True)
    # With a code the refund itself is decided: this payment is not paid.
    decided = browser.post(path, "/live/account", password=PASSWORD, code=recovery[0])
    assert "not valid" not in decided.text


def test_the_password_is_changed_with_a_code_and_this_browser_goes_on(owner: Owner) -> None:
    phone, recovery = with_factor(owner)
    browser = Browser(owner)
    browser.enter()
    browser.post("/login/code", code=phone.code())
    new = {"password": PASSWORD, "new": "two flat whites", "repeated": "two flat whites"}
    assert browser.post("/live/account", **new).status_code == 422
    assert browser.post("/live/account", **new, code=recovery[0]).status_code == 303
    assert browser.get("/live/account").status_code == 200


def test_turning_off_and_new_codes_need_password_and_code(owner: Owner) -> None:
    phone, recovery = with_factor(owner)
    browser = Browser(owner)
    browser.enter()
    browser.post("/login/code", code=phone.code())
    for path in ("/live/account/factor/codes", "/live/account/factor/off"):
        assert browser.post(path, password=PASSWORD).status_code == 422
        assert browser.post(path, code=recovery[9]).status_code == 422
    renewed = browser.post("/live/account/factor/codes", password=PASSWORD, code=recovery[0])
    codes = re.findall(r"<li>([a-z0-9]{5}-[a-z0-9]{5})</li>", renewed.text)
    assert len(codes) == 10
    off = "/live/account/factor/off"
    assert browser.post(off, password=PASSWORD, code=recovery[1]).status_code == 422
    assert browser.post(off, password=PASSWORD, code=codes[0]).status_code == 303
    plain = Browser(owner)
    plain.enter()
    assert plain.get("/live").status_code == 200


def colleague(owner: Owner, role: Any = "manager") -> Owner:
    """Another person of the same merchant."""
    email = f"{secrets.token_hex(6)}@shop.example"
    owner.shop.service.database.run(
        lambda connection: people.add(
            connection,
            OPERATOR,
            owner.shop.id,
            email,
            role,
            None,
            NewLogin(hash_password(PASSWORD)),
        )
    )
    return Owner(owner.shop, email)


def test_an_owner_requires_it_of_everybody(owner: Owner) -> None:
    required = "/live/account/factor/required"
    page = "/live/account/factor"
    browser = Browser(owner)
    browser.enter()
    early = browser.post(required, page, required="yes", password=PASSWORD)
    assert (early.status_code, "your own second factor first" in early.text) == (409, True)
    _, recovery = with_factor(owner)
    browser.enter()
    browser.post("/login/code", code=recovery[0])
    assert browser.post(required, page, required="yes", password=PASSWORD).status_code == 422
    done = browser.post(required, page, required="yes", password=PASSWORD, code=recovery[1])
    assert done.status_code == 303
    (entry,) = owner.shop.service.execute(
        "SELECT actor_name, after::json ->> 'requires_factor' AS after FROM journal "
        "WHERE object_id = $1 AND action = 'merchant.require_factor'",
        owner.shop.id,
    )
    assert tuple(entry) == (owner.email, "true")
    refused = browser.post("/live/account/factor/off", password=PASSWORD, code=recovery[2])
    assert (refused.status_code, "cannot be turned off" in refused.text) == (409, True)
    # A manager without one is led to the set-up, and cannot change the setting.
    manager = colleague(owner)
    other = Browser(manager)
    other.enter()
    led = other.get("/live/payments")
    assert (led.status_code, led.headers["location"]) == (
        303,
        f"/dashboard/{owner.shop.id}/live/account/factor",
    )
    assert "requires a second factor" in other.get("/live/account/factor").text
    _, codes = with_factor(manager)
    other.enter()
    other.post("/login/code", code=codes[0])
    assert other.get("/live/payments").status_code == 200
    refused = other.post(required, page, required="no", password=PASSWORD, code=codes[1])
    assert refused.status_code == 403
    assert browser.get("/live/payments").status_code == 200


def test_sessions_are_listed_and_ended(owner: Owner) -> None:
    here, there, third = Browser(owner), Browser(owner), Browser(owner)
    there.http.headers["User-Agent"] = "Mozilla/5.0 (Android 14) Firefox/140.0"
    for browser in (here, there, third):
        browser.enter()
    page = here.get("/sandbox/account").text
    assert "Firefox on Android" in page
    assert "127.0.0.1" in page
    ids = re.findall(r'account/sessions/([0-9a-f]{16})"', page)
    assert len(ids) == 2
    # A session of somebody else does not exist.
    stranger = Browser(new_owner(owner.shop.service))
    stranger.enter()
    foreign = stranger.post(f"/sandbox/account/sessions/{ids[0]}", "/sandbox/account")
    assert foreign.status_code == 404
    assert here.post(f"/sandbox/account/sessions/{ids[0]}", "/sandbox/account").status_code == 303
    open_now = [each.get("/sandbox").status_code for each in (here, there, third)]
    assert sorted(open_now) == [200, 200, 303]
    assert here.post("/sandbox/account/end-others", "/sandbox/account").status_code == 303
    open_now = [each.get("/sandbox").status_code for each in (here, there, third)]
    assert open_now == [200, 303, 303]


@both_sizes
async def test_it_is_set_up_and_used_in_a_browser(
    visitors: Visitors, owner: Owner, size: str
) -> None:
    page = await owner.open(visitors, "/live/account", size)
    await page.get_by_role("link", name="Set up a second factor").click()
    await page.get_by_role("button", name="Start").click()
    await heading(page).to_have_text("Second factor")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    shown = page.get_by_role("img", name="QR code")
    assert await shown.evaluate("image => image.naturalWidth") > 200
    phone = Phone(await page.get_by_label("Or type this key").input_value())
    await page.get_by_label("Code of your authenticator app").fill(phone.code())
    await page.get_by_role("button", name="Turn it on").click()
    await heading(page).to_have_text("Your recovery codes")
    assert await page.locator("ol.codes li").count() == 10
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_role("link", name="I have kept them").click()
    await page.get_by_role("button", name="Log out", exact=True).click()
    await page.get_by_label("Email address").fill(owner.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await heading(page).to_have_text("Enter your code")
    assert await serious_violations(page) == []
    await page.get_by_label("Code of your authenticator app").fill(phone.code())
    await page.get_by_role("button", name="Log in", exact=True).click()
    await expect(page.get_by_role("link", name="Your account")).to_be_visible()


@pytest.mark.parametrize(
    ("home", "area"), [("/dashboard", "/dashboard/mer_x/live"), ("/operator", "/operator")]
)
def test_an_address_puts_nothing_into_the_headers(service: Service, home: str, area: str) -> None:
    evil = "%0d%0aX-Evil:%201"
    for path in (f"{area}/{evil}", f"{area}/account{evil}", f"{area}/payouts?next={evil}"):
        answer = httpx.get(f"{service.origin}{path}")
        assert "x-evil" not in answer.headers
        assert "\n" not in answer.headers.get("location", "")
    for wanted in (f"{area}{evil}", "//evil.example", "https://evil.example", "/app"):
        page = httpx.get(f"{service.origin}{home}/login?next={wanted}").text
        assert f'name="next" value="{home}"' in page, wanted


def test_a_merchants_name_is_text_on_the_shared_pages(service: Service) -> None:
    owner = new_owner(service, name="<b>Bold</b> & Co")
    browser = Browser(owner)
    browser.enter()
    service.execute("UPDATE merchants SET requires_factor = true WHERE id = $1", owner.shop.id)
    page = browser.get("/live/account/factor").text
    assert "&lt;b&gt;Bold&lt;/b&gt; &amp; Co</bdi> requires a second factor" in page
    assert "<b>" not in page
