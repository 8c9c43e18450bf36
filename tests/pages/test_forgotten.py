"""Forgotten passwords on the pages, for people and customers, with and without a transport."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import expect

from tests.messages.outbox import content_of
from tests.pages.conftest import CONTACT
from tests.pages.factors import with_factor
from tests.pages.forms import Forms, token_in
from tests.pages.owners import Owner, new_owner
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.pages.test_second_factor import Browser
from tests.pages.wallets import heading
from tests.serving import Service, serving

pytestmark = pytest.mark.ci

NEW = "two flat whites and a cake"


@pytest.fixture(scope="module")
def mailing(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose messages wait: nobody answers at its mail server, and its command fails."""
    settings = {
        "LAARI_SMTP_URL": "smtp://127.0.0.1:9",
        "LAARI_MAIL_FROM": "Laari <pay@example.com>",
        "LAARI_SMS_COMMAND": "false",
    }
    folder = tmp_path_factory.mktemp("mailing")
    with serving(engine.migrated("mailing"), folder, **settings) as service:
        yield service


def ask(service: Service, area: str, identity: str) -> httpx.Response:
    forms = Forms()
    address = f"{service.origin}/{area}/forgotten"
    return forms.send(address, {"form_token": forms.token(address), "identity": identity})


def sent(service: Service, recipient: str) -> list[dict[str, Any]]:
    rows = service.execute(
        "SELECT * FROM messages WHERE recipient = $1 AND kind LIKE 'password%' ORDER BY id",
        recipient,
    )
    return [content_of(row, service.master_key) for row in rows]


def set_new(link: str, new: str = NEW, repeated: str = NEW, **more: str) -> httpx.Response:
    forms = Forms()
    page = forms.http.get(link)
    if page.status_code != 200:
        return page
    token = {"form_token": token_in(page.text)}
    return forms.send(link, {**token, "new": new, "repeated": repeated, **more})


@pytest.fixture
def owner(mailing: Service) -> Owner:
    return new_owner(mailing, mode="live")


@pytest.fixture
async def customer(mailing: Service) -> Customer:
    return await new_customer(mailing)


def test_a_link_sets_the_password_and_ends_all_sessions(owner: Owner) -> None:
    service = owner.shop.service
    browser = Browser(owner)
    browser.enter()
    assert ask(service, "dashboard", f" {owner.email.upper()} ").status_code == 200
    (message,) = sent(service, owner.email)
    link = message["link"]
    assert link.startswith(f"{service.origin}/dashboard/forgotten/")
    assert "too common" in set_new(link, "Password123", "Password123").text
    assert "passwords are different" in set_new(link, repeated="something else").text
    done = set_new(link)
    assert (done.status_code, done.headers["location"]) == (303, "/dashboard/login?done=password")
    assert browser.get("/live").status_code == 303
    assert browser.enter().status_code == 422
    assert browser.enter(NEW).status_code == 303
    assert browser.get("/live").status_code == 200
    assert set_new(link).status_code == 410


def test_it_does_not_get_around_the_second_factor(owner: Owner) -> None:
    _, recovery = with_factor(owner)
    ask(owner.shop.service, "dashboard", owner.email)
    set_new(sent(owner.shop.service, owner.email)[0]["link"])
    browser = Browser(owner)
    browser.enter(NEW)
    assert browser.get("/live").headers["location"].startswith("/dashboard/login/code")
    assert browser.post("/login/code", code=recovery[0]).status_code == 303
    assert browser.get("/live").status_code == 200


def test_the_answer_and_its_time_say_nothing_about_accounts(
    owner: Owner, customer: Customer
) -> None:
    service = owner.shop.service

    def timed(area: str, identity: str) -> tuple[str, float]:
        began = time.monotonic()
        page = ask(service, area, identity)
        assert page.status_code == 200
        text = re.sub(r'value="[^"]*"', "", page.text)
        return text.replace(identity, ""), time.monotonic() - began

    for area, known, unknown in (
        ("dashboard", owner.email, "nobody@shop.example"),
        ("app", customer.email, "nobody@example.mv"),
        ("app", customer.mobile, "7999999"),
    ):
        (text, seconds), (other, others) = timed(area, known), timed(area, unknown)
        assert text == other
        assert min(seconds, others) >= 0.3
    assert sent(service, "nobody@shop.example") == []


def test_requests_are_throttled_whether_the_account_exists_or_not(owner: Owner) -> None:
    service = owner.shop.service
    for identity in (owner.email, "stranger@shop.example"):
        statuses = [ask(service, "dashboard", identity).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
    assert len(sent(service, owner.email)) == 3


def test_only_the_latest_link_works_and_none_in_the_other_area(
    owner: Owner, customer: Customer
) -> None:
    service = owner.shop.service
    for _ in range(2):
        ask(service, "dashboard", owner.email)
    first, second = (each["link"] for each in sent(service, owner.email))
    assert set_new(first).status_code == 410
    assert set_new(second.replace("/dashboard/", "/app/")).status_code == 410
    guessed = second[:-1] + ("a" if second[-1] != "a" else "b")
    assert set_new(guessed).status_code == 410
    assert set_new(second).status_code == 303


def test_a_link_that_expires_on_the_open_page_sets_nothing(owner: Owner) -> None:
    service = owner.shop.service
    ask(service, "dashboard", owner.email)
    link = sent(service, owner.email)[0]["link"]
    forms = Forms()
    token = token_in(forms.http.get(link).text)
    service.execute("UPDATE password_links SET expires_at = now()")
    late = forms.send(link, {"form_token": token, "new": NEW, "repeated": NEW})
    assert late.status_code == 410
    assert Browser(owner).enter().status_code == 303


def test_a_customer_without_email_enters_a_code_and_comes_back_to_the_payment(
    mailing: Service,
) -> None:
    mobile, payment = "7654321", "/pay/abc_1"
    mailing.customer(mobile=mobile)
    forms = Forms()
    address = f"{mailing.origin}/app/forgotten"
    asked = {"form_token": forms.token(address), "identity": mobile, "next": payment}
    page = forms.send(address, asked)
    assert f'name="next" value="{payment}"' in page.text
    handle = re.search(r'name="handle" value="([^"]+)"', page.text)
    assert handle is not None
    code = sent(mailing, f"+960{mobile}")[0]["code"]
    token = token_in(page.text)

    def enter(code: str, handle: str = handle[1]) -> httpx.Response:
        fields = {"form_token": token, "handle": handle, "code": code, "next": payment}
        return forms.send(f"{address}-code", fields)

    wrong = enter(f"{(int(code) + 1) % 10**6:06}")
    assert (wrong.status_code, "not valid" in wrong.text) == (422, True)
    assert enter(code, "another").status_code == 422
    right = enter(f"{code[:3]} {code[3:]}")
    assert right.status_code == 303
    assert enter(code).status_code == 422
    link = mailing.origin + right.headers["location"]
    assert f'name="next" value="{payment}"' in forms.http.get(link).text
    done = set_new(link, next=payment)
    assert done.headers["location"] == payment  # from which the customer came
    entered = Forms().log_in(f"{mailing.origin}/app/login", mobile, NEW)
    assert entered.status_code == 303


def test_an_unknown_browser_is_reported_once(owner: Owner) -> None:
    browser = Browser(owner)
    browser.enter()
    browser.enter()
    rows = owner.shop.service.execute(
        "SELECT * FROM messages WHERE kind = 'new_device' AND recipient = $1", owner.email
    )
    master = owner.shop.service.master_key
    (content,) = (content_of(row, master) for row in rows)
    assert content["address"] == "127.0.0.1"


@pytest.mark.parametrize("area", ["dashboard", "app"])
def test_without_a_transport_the_page_says_whom_to_ask(service: Service, area: str) -> None:
    page = httpx.get(f"{service.origin}/{area}/forgotten")
    assert page.status_code == 200
    assert "for a link" in page.text
    assert CONTACT in page.text
    assert 'name="identity"' not in page.text


@pytest.mark.ci  # starts processes
async def test_the_command_line_prints_links(mailing: Service) -> None:
    owner = new_owner(mailing)
    customer = await new_customer(mailing)

    def run(*words: str) -> dict[str, Any]:
        done = mailing.laari(*words, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    shown = run("person", "password-link", owner.email)
    assert set_new(shown["link"]).status_code == 303
    shown = run("customer", "password-link", f"cus_{customer.id.hex}")
    assert set_new(shown["link"]).status_code == 303
    refused = mailing.laari("person", "password-link", "nobody@shop.example")
    assert (refused.returncode, refused.stdout) == (1, "")
    with_factor(owner)
    assert run("person", "remove-factor", owner.email)["removed"] is True
    assert run("person", "remove-factor", owner.email)["removed"] is False


@both_sizes
async def test_a_customer_sets_a_forgotten_password(
    visitors: Visitors, mailing: Service, size: str
) -> None:
    customer = await new_customer(mailing)
    visitors.service = mailing
    page = await visitors.page(size)
    await page.goto(f"{mailing.origin}/app/login")
    await page.get_by_role("link", name="Forgotten your password?").click()
    assert await serious_violations(page) == []
    await page.get_by_label("Mobile number, email or VPA").fill(customer.mobile)
    await page.get_by_role("button", name="Send").click()
    await heading(page).to_have_text("Check your messages")
    assert await serious_violations(page) == []
    await page.goto(sent(mailing, customer.email)[0]["link"])
    await heading(page).to_have_text("Choose a new password")
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_label("New password, at").fill(NEW)
    await page.get_by_label("New password again").fill(NEW)
    await page.get_by_role("button", name="Set the password").click()
    await expect(page.get_by_role("status")).to_contain_text("new password is set")
    await page.get_by_label("Mobile number, email or VPA").fill(customer.mobile)
    await page.get_by_label("Password").fill(NEW)
    await page.get_by_role("button", name="Log in").click()
    await page.goto(f"{mailing.origin}/app/password")
    await heading(page).to_have_text("Account")
    await expect(page.get_by_text("(this one)")).to_be_visible()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
