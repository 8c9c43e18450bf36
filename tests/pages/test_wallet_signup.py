"""Sign-up of customers: a code by SMS, the lowest tier, and no word about existing numbers."""

import re
import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.messages.outbox import content_of
from tests.pages.forms import Forms
from tests.pages.people import Visitors, new_customer, serious_violations, sideways_scroll
from tests.serving import Service, serving

PASSWORD = "two flat whites and a cake"


@pytest.fixture(scope="module")
def opening(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service in which customers sign up; its SMS wait, because the command fails."""
    settings = {
        "LAARI_CUSTOMER_SIGNUP": "on",
        "LAARI_SMS_COMMAND": "false",
        "LAARI_TOPUP_BANK": "Bank of Maldives",
        "LAARI_TOPUP_ACCOUNT": "7730000099999",
        "LAARI_TOPUP_HOLDER": "Wallet Pvt Ltd",
    }
    folder = tmp_path_factory.mktemp("opening")
    with serving(engine.migrated("opening"), folder, **settings) as service:
        yield service


def new_mobile() -> str:
    return f"9{secrets.randbelow(10**6):06}"


class Stranger:
    """A browser that signs up."""

    def __init__(self, service: Service, mobile: str) -> None:
        self.service, self.mobile, self.forms = service, mobile, Forms()
        self.page = f"{service.origin}/app/signup"

    def begin(self, **fields: str) -> httpx.Response:
        given = {"name": "Aishath Ibrahim", "mobile": self.mobile, "new": PASSWORD}
        token = {"form_token": self.forms.token(self.page)}
        answer = self.forms.send(self.page, {**token, **given, **fields})
        if answer.status_code == 200:
            [self.handle] = re.findall(r'name="handle" value="([^"]+)"', answer.text)
        return answer

    def finish(self, code: str, **fields: str) -> httpx.Response:
        token = {"form_token": self.forms.token(self.page)}
        given = {"handle": self.handle, "code": code, **fields}
        return self.forms.send(f"{self.page}/code", {**token, **given})


def sent(service: Service, mobile: str) -> list[tuple[str, dict[str, Any]]]:
    rows = service.execute(
        "SELECT * FROM messages WHERE recipient = $1 ORDER BY id", f"+960{mobile}"
    )
    found = [(row["kind"], content_of(row, service.master_key)) for row in rows]
    return [each for each in found if each[0].startswith("signup")]


def code_to(service: Service, mobile: str) -> str:
    kind, content = sent(service, mobile)[-1]
    assert kind == "signup_code"
    return str(content["code"])


def wallets(service: Service, mobile: str) -> list[tuple[Any, ...]]:
    rows = service.execute(
        "SELECT c.name, c.mode, c.language, w.tier, w.balance, "
        "(SELECT count(*) FROM wallet_keys k WHERE k.account = w.account) FROM customers c "
        "JOIN wallets w ON w.customer_id = c.id WHERE c.mobile = $1",
        mobile,
    )
    return [tuple(row) for row in rows]


def test_sign_up_is_closed_by_default(service: Service) -> None:
    assert httpx.get(f"{service.origin}/app/signup").status_code == 404
    forms = Forms()
    token = forms.token(f"{service.origin}/app/login")
    for page in ("/app/signup", "/app/signup/code"):
        assert forms.send(service.origin + page, {"form_token": token}).status_code == 404
    assert "Open a wallet" not in httpx.get(f"{service.origin}/app/login").text


def test_a_code_opens_one_wallet(opening: Service) -> None:
    assert "Open a wallet" in httpx.get(f"{opening.origin}/app/login").text
    stranger = Stranger(opening, new_mobile())
    for wrong in (
        {"name": " "},
        {"name": "Unlock: https://laari-help.mv/u"},
        {"mobile": "12"},
        {"new": "short"},
        {"new": "password123"},
    ):
        assert stranger.begin(**wrong).status_code == 422
    assert sent(opening, stranger.mobile) == []
    assert "Enter the code" in stranger.begin(mobile=f"+960 {stranger.mobile}").text
    assert wallets(opening, stranger.mobile) == []
    code = code_to(opening, stranger.mobile)
    done = stranger.finish(code)
    assert (done.status_code, done.headers["location"]) == (303, "/app")
    assert "Aishath Ibrahim" in stranger.forms.http.get(f"{opening.origin}/app").text
    opened = [("Aishath Ibrahim", "live", "en", "basic", 0, 0)]
    assert wallets(opening, stranger.mobile) == opened
    assert stranger.finish(code).status_code == 422
    assert wallets(opening, stranger.mobile) == opened
    log_in = Forms().log_in(f"{opening.origin}/app/login", stranger.mobile, PASSWORD)
    assert log_in.headers["location"] == "/app"
    actions = opening.execute(
        "SELECT DISTINCT actor_kind || ' ' || actor_name AS actor FROM journal "
        "WHERE action = 'customer.create'"
    )
    assert "service sign-up" in {row["actor"] for row in actions}
    assert opening.execute("SELECT FROM customer_signups WHERE mobile = $1", stranger.mobile) == []


@pytest.mark.parametrize("kind", ["payment", "authorization"])
def test_a_stranger_with_a_link_opens_a_wallet_and_comes_back(opening: Service, kind: str) -> None:
    """To a payment that the page cannot take yet, with the way to put money in."""
    shop = opening.merchant(mode="live", name="Seagull")
    url = (
        shop.payment()["payment_url"] if kind == "payment" else shop.authorization()["approval_url"]
    )
    page = url.removeprefix(opening.origin)
    text = httpx.get(url).text
    assert f'href="/app/signup?next={page}"' in text
    assert f'href="/app/forgotten?next={page}"' in text
    stranger = Stranger(opening, new_mobile())
    first = httpx.get(f"{opening.origin}/app/signup?next={page}").text
    assert f'name="next" value="{page}"' in first
    code_page = stranger.begin(next=page).text
    assert f'name="next" value="{page}"' in code_page
    done = stranger.finish(code_to(opening, stranger.mobile), next=page)
    assert (done.status_code, done.headers["location"]) == (303, page)
    shown = stranger.forms.http.get(url).text
    assert "Aishath Ibrahim" in shown
    if kind == "payment":
        account = str(
            opening.execute(
                "SELECT w.account FROM wallets w JOIN customers c ON c.id = w.customer_id "
                "WHERE c.mobile = $1",
                stranger.mobile,
            )[0][0]
        )
        for words in ("too low", "Bank of Maldives", "7730000099999", "Wallet Pvt Ltd", account):
            assert words in shown
        assert "Check again" in shown
        assert f'action="{page}/pay"' not in shown
        home = stranger.forms.http.get(f"{opening.origin}/app").text
        assert "7730000099999" in home
        assert 'data-copy="topup-reference"' in home


@pytest.mark.ci
@pytest.mark.parametrize(
    "page", ["//evil.example", "/pay/a/../b", "/operator", "https://x.mv/pay/a"]
)
def test_a_sign_up_leads_only_to_a_payment_or_the_wallet(opening: Service, page: str) -> None:
    stranger = Stranger(opening, new_mobile())
    assert page not in stranger.begin(next=page).text
    done = stranger.finish(code_to(opening, stranger.mobile), next=page)
    assert done.headers["location"] == "/app"


@pytest.mark.ci
async def test_a_number_with_a_wallet_gets_the_same_page(opening: Service) -> None:
    customer = await new_customer(opening)
    fresh = Stranger(opening, new_mobile())
    known = Stranger(opening, customer.mobile)
    pages = [each.begin() for each in (fresh, known)]
    texts = [re.sub(r' value="[^"]+"', "", page.text) for page in pages]
    assert texts[0] == texts[1]
    assert [len(page.content) for page in pages] == [len(pages[0].content)] * 2
    assert [kind for kind, _ in sent(opening, customer.mobile)] == ["signup_known"]
    assert known.finish("12345678").status_code == 422
    assert len(wallets(opening, customer.mobile)) == 1


@pytest.mark.ci
def test_three_wrong_codes_end_it(opening: Service) -> None:
    stranger = Stranger(opening, new_mobile())
    stranger.begin()
    code = code_to(opening, stranger.mobile)
    for _ in range(3):
        wrong = stranger.finish(f"{(int(code) + 1) % 10**8:08}")
        assert (wrong.status_code, "not valid" in wrong.text) == (422, True)
    assert stranger.finish(code).status_code == 422
    assert wallets(opening, stranger.mobile) == []


@pytest.mark.ci
async def test_a_code_needs_its_own_request_and_time(opening: Service) -> None:
    mobile = new_mobile()
    victim, thief = Stranger(opening, mobile), Stranger(opening, mobile)
    victim.begin()
    code = code_to(opening, mobile)
    thief.begin(name="Thief")
    assert thief.finish(code).status_code == 422
    late = code_to(opening, mobile)
    expire = "UPDATE customer_signups SET expires_at = now() WHERE mobile = $1 AND name = 'Thief'"
    opening.execute(expire, mobile)
    assert thief.finish(late).status_code == 422
    assert victim.finish(code).status_code == 303
    # A request from before cannot make a second wallet for the number.
    third = Stranger(opening, new_mobile())
    third.begin()
    code = code_to(opening, third.mobile)
    opening.execute(
        "UPDATE customer_signups SET mobile = $2 WHERE mobile = $1", third.mobile, mobile
    )
    assert third.finish(code).status_code == 422
    assert len(wallets(opening, mobile)) == 1


@pytest.mark.ci
def test_messages_to_one_number_are_few(opening: Service) -> None:
    stranger = Stranger(opening, new_mobile())
    statuses = [stranger.begin().status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert len(sent(opening, stranger.mobile)) == 3


async def test_a_wallet_is_opened_in_dhivehi(opening: Service, browser: Any) -> None:
    visitors = Visitors(browser, opening)
    page, mobile = await visitors.page("phone"), new_mobile()
    await page.goto(f"{opening.origin}/app/login")
    await page.get_by_role("link", name="Open a wallet").click()
    await page.get_by_role("link", name="ދިވެހި").click()
    await expect(page.locator("html")).to_have_attribute("dir", "rtl")
    await page.locator("#name").fill("އައިޝަތު")
    await page.locator("#mobile").fill(mobile)
    await page.locator("#new").fill(PASSWORD)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) == 0
    await page.locator("button.button").click()
    await expect(page.locator("#code")).to_be_visible()
    assert await serious_violations(page) == []
    await page.locator("#code").fill(code_to(opening, mobile))
    await page.locator("button.button").click()
    await page.wait_for_url("**/app")
    assert wallets(opening, mobile) == [("އައިޝަތު", "live", "dv", "basic", 0, 0)]
    await visitors.leave()
