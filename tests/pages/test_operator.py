"""The operator's desk by its forms: search, customers, merchants, money and health."""

import asyncio
import json
import re
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import httpx
import msgspec
import pyotp
import pytest
from playwright.async_api import expect

from laari.edge.pages.app import ROUTES
from laari.edge.pages.operator.request import OperatorRequest
from laari.rules.calendar import local_day
from laari.rules.merchants.applications import SubmitApplication
from laari.rules.people.permissions import may
from laari.rules.records.merchants import ApplicationAnswers
from laari.rules.records.people import OperatorRole
from laari.store.merchants import merchants
from laari.store.postgres.pool import connection_to
from laari.store.reads.money import volume
from tests import people
from tests.actors import OPERATOR
from tests.cli.test_approval import ANSWERS
from tests.logins import opened, whose
from tests.making import sign_up
from tests.pages.factors import with_factor
from tests.pages.forms import Forms, token_in
from tests.pages.operators import PASSWORD, Desk, desk_of, new_operator, open_desk, session_of
from tests.pages.owners import Owner, new_owner
from tests.pages.people import (
    Customer,
    Visitors,
    both_sizes,
    new_customer,
    serious_violations,
    sideways_scroll,
)
from tests.people import decided
from tests.serving import Merchant, Service, serving

PAGES = [route for route in ROUTES if issubclass(route.kind, OperatorRequest)]
FORBIDDEN = "Your role cannot do this"


def page_of(service: Service, customer: Customer) -> str:
    [row] = service.execute("SELECT customer_id FROM wallets WHERE account = $1", customer.account)
    return f"/customers/cus_{row['customer_id'].hex}"


def application_in(page: str) -> dict[str, str]:
    """The field that names the application on a merchant's page."""
    found = re.search(r'name="application" value="(\w+)"', page)
    assert found is not None
    return {"application": found[1]}


@pytest.fixture
async def support(service: Service) -> Desk:
    return await desk_of(service, "support")


@pytest.fixture
async def admin(service: Service) -> Desk:
    return await desk_of(service, "admin")


@pytest.mark.ci
@pytest.mark.parametrize("role", get_args(OperatorRole))
async def test_the_whole_table_of_permissions(service: Service, role: Any) -> None:
    assert {route.access.needs is None for route in PAGES if not route.access.own} == {False}
    for number, route in enumerate(PAGES):
        if number % 20 == 0:  # before the person has opened too many pages
            desk = await desk_of(service, role)
        path = re.sub(r"\{\w+\}", "none", route.path).removeprefix("/operator")
        answers = {"GET": desk.get(path)} if route.get is not None else {}
        if route.post is not None and not path.endswith("everywhere"):
            answers["POST"] = desk.send(path, "")
        for method, answer in answers.items():
            needed = route.access.needs if method == "GET" else route.access.to_change
            allowed = route.access.own or (needed is not None and may(role, needed))
            assert (FORBIDDEN in answer.text) is not allowed, (method, path, role)
            assert answer.status_code < 500, (method, path, role)


async def test_only_operators_log_in(service: Service) -> None:
    owner, email = new_owner(service), await new_operator(service, "support")
    login = f"{service.origin}/operator/login"
    for identity, password in (
        (owner.email, PASSWORD),
        ("nobody@operator.example", PASSWORD),
        (email, "wrong password"),
    ):
        forms = Forms()
        refused = forms.log_in(login, identity, password)
        assert refused.status_code == 422
        assert "do not match a login" in refused.text
        gone = forms.http.get(f"{service.origin}/operator")
        assert gone.headers["location"] == "/operator/login?next=%2Foperator"
    forms, desk = Forms(), f"{service.origin}/operator"
    assert forms.log_in(login, email, PASSWORD).headers["location"] == "/operator"
    # A second factor is required from the first log-in on.
    factor = f"{desk}/account/factor"
    assert forms.http.get(desk).headers["location"] == "/operator/account/factor"
    forms.send(factor, {"form_token": forms.token(factor)})
    page = forms.http.get(factor).text
    [seed] = re.findall(r'id="seed"[^>]* value="([A-Z2-7]+)"', page) or [""]
    code = pyotp.TOTP(seed).now()
    wrong = f"{(int(code) + 1) % 10**6:06}"
    token = token_in(page)
    assert forms.send(f"{factor}/confirm", {"form_token": token, "code": wrong}).status_code == 422
    done = forms.send(f"{factor}/confirm", {"form_token": token, "code": code})
    assert "Your recovery codes" in done.text
    assert "Search" in forms.http.get(desk).text
    again = Forms()
    again.log_in(login, email, PASSWORD)
    assert again.http.get(desk).headers["location"] == "/operator/login/code?next=%2Foperator"
    [recovery] = re.findall(r"<li>([a-z0-9-]+)</li>", done.text)[:1]
    fields = {"form_token": again.token(f"{login}/code"), "code": recovery}
    assert again.send(f"{login}/code", fields).headers["location"] == "/operator"
    assert "Search" in again.http.get(desk).text
    async with connection_to(service.dsn) as connection:
        person = await whose(connection, email)
        await people.remove(connection, OPERATOR, None, person)
    assert forms.http.get(f"{service.origin}/operator").status_code == 303


async def test_a_set_up_without_its_first_code_opens_nothing(service: Service) -> None:
    """Neither in the session that began it nor in another one, which cannot finish it either."""
    email = await new_operator(service, "admin")
    desk, login = f"{service.origin}/operator", f"{service.origin}/operator/login"
    factor = f"{desk}/account/factor"
    first, second = Forms(), Forms()
    first.log_in(login, email, PASSWORD)
    first.send(factor, {"form_token": first.token(factor)})
    [seed] = re.findall(r'id="seed"[^>]* value="([A-Z2-7]+)"', first.http.get(factor).text)
    assert second.log_in(login, email, PASSWORD).headers["location"] == "/operator"
    tokens = {each: {"form_token": each.token(f"{desk}/account")} for each in (first, second)}
    walked = 0
    for route in [route for route in PAGES if not route.access.own][::7]:  # as fast as people may
        path = service.origin + re.sub(r"\{\w+\}", "none", route.path)
        for forms in (first, second):
            answers = [forms.http.get(path)]
            if route.post is not None:
                answers.append(forms.send(path, tokens[forms]))
            for answer in answers:
                assert answer.headers["location"] == "/operator/account/factor", path
            walked += len(answers)
    assert walked > 20
    code = {"code": pyotp.TOTP(seed).now()}
    assert second.send(f"{factor}/confirm", tokens[second] | code).status_code == 409
    done = first.send(f"{factor}/confirm", tokens[first] | code)
    assert "Your recovery codes" in done.text
    assert first.http.get(desk).status_code == 200
    assert second.http.get(desk).headers["location"].startswith("/operator/login?")


def enter(service: Service, email: str, code: str) -> Forms:
    """A new browser of an operator with a second factor, after both steps of the log-in."""
    forms, login = Forms(), f"{service.origin}/operator/login"
    forms.log_in(login, email, PASSWORD)
    fields = {"form_token": forms.token(f"{login}/code"), "code": code}
    assert forms.send(f"{login}/code", fields).headers["location"] == "/operator"
    return forms


async def test_an_operator_renews_recovery_codes_and_keeps_the_factor(service: Service) -> None:
    email = await new_operator(service, "support")
    _, recovery = await asyncio.to_thread(with_factor, Owner(service.merchant(), email))
    forms = enter(service, email, recovery[0])
    factor = f"{service.origin}/operator/account/factor"
    page = forms.http.get(factor).text
    assert ("Get new recovery codes" in page, "Turn it off" in page) == (True, False)

    def send(path: str, **fields: str) -> httpx.Response:
        token = forms.token(f"{factor}/codes")
        return forms.send(f"{factor}/{path}", {"form_token": token, **fields})

    assert send("codes", password=PASSWORD).status_code == 422
    assert send("codes", password="wrong", code=recovery[1]).status_code == 422
    done = send("codes", password=PASSWORD, code=recovery[1])
    codes = re.findall(r"<li>([a-z0-9]{5}-[a-z0-9]{5})</li>", done.text)
    assert len(codes) == 10
    assert send("off", password=PASSWORD, code=codes[0]).status_code == 409  # always required
    assert send("off", password=PASSWORD, code=recovery[2]).status_code == 422  # an old code
    assert enter(service, email, codes[1]).http.get(f"{service.origin}/operator").status_code == 200
    [entry] = service.execute(
        "SELECT actor_kind, actor_role FROM journal WHERE action = 'second_factor.renew_codes' "
        "AND actor_name = $1",
        email,
    )
    assert tuple(entry) == ("operator", "support")


async def test_operators_see_and_end_their_own_sessions(service: Service) -> None:
    email = await new_operator(service, "finance")
    async with connection_to(service.dsn) as connection:
        tokens = [await opened(connection, email, master=service.master_key) for _ in range(2)]
    tokens.append(await session_of(service, email))
    here, there, third = (Desk(service, token) for token in tokens)
    page = here.get("/account").text
    ids = re.findall(r'action="/operator/account/sessions/([0-9a-f]{16})"', page)
    assert len(ids) == 2
    foreign = await desk_of(service, "admin")
    assert foreign.send(f"/account/sessions/{ids[0]}", "").status_code == 404
    assert here.get("").status_code == there.get("").status_code == 200
    assert "The session is ended." in here.send(f"/account/sessions/{ids[0]}", "").text
    assert sorted(each.get("").status_code for each in (here, there, third)) == [200, 200, 303]
    assert "All your other sessions are ended." in here.send("/account/end-others", "").text
    assert [each.get("").status_code for each in (here, there, third)] == [200, 303, 303]
    assert "Log in to the operator" in here.send("/account/logout-everywhere", "").text
    assert here.get("").status_code == 303


@both_sizes
async def test_the_account_of_an_operator_in_a_browser(
    visitors: Visitors, service: Service, size: str
) -> None:
    page = await open_desk(visitors, service, "support", "/account", size)
    for link, title in (
        ("Second factor and recovery codes", "Second factor"),
        ("Get new recovery codes", "Get new recovery codes?"),
    ):
        assert await serious_violations(page) == []
        assert await sideways_scroll(page) <= 0
        await page.get_by_role("link", name=link).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0


async def test_a_first_password_has_to_be_changed(service: Service) -> None:
    made = await asyncio.to_thread(
        service.laari, "operator", "create", "new@operator.example", "--role", "finance", "--json"
    )
    assert made.returncode == 0, made.stderr
    desk = Desk(service, await session_of(service, "new@operator.example"))
    assert desk.get("/money").headers["location"] == "/operator/account"


async def test_a_merchants_session_opens_no_desk(service: Service) -> None:
    owner = new_owner(service)
    desk = Desk(service, await session_of(service, owner.email))
    for path in ("", "/merchants", "/customers/none", "/account"):
        assert desk.get(path).status_code == 303


async def test_support_finds_freezes_and_notes(
    service: Service, support: Desk, live_shop: Merchant
) -> None:
    customer = await new_customer(service, balance=5_000)
    page = page_of(service, customer)
    found = support.get(q=customer.mobile)
    assert found.headers["location"] == f"/operator{page}"
    shown = support.get(page).text
    assert customer.name in shown
    assert "Verify the caller" in shown
    refused = support.send(page, "/freeze", reason=" ")
    assert (refused.status_code, "The reason must be" in refused.text) == (422, True)
    frozen = support.send(page, "/freeze", reason="Phone <b>lost</b>", silent="on").text
    assert "Nothing leaves it from now on" in frozen
    assert "Phone &lt;b&gt;lost&lt;/b&gt;" in frozen
    assert "without a word to the customer" in frozen
    again = support.send(page, "/freeze", reason="Other")
    assert again.status_code == 409
    assert "The wallet is frozen already, silently: Phone" in again.text
    changed = support.send(page, "/freeze", reason="Police", change="on").text
    assert "The wallet is frozen." in changed
    assert "without a word to the customer" not in changed
    assert support.send(page, "/unfreeze", reason="Found again").status_code == 200
    notes = support.get(page).text.split('id="notes"')[1].split("</main>")[0]
    assert "Found again" in notes
    assert len(re.findall(r"support-\w+@operator", notes)) == 3  # who froze, changed, unfroze
    assert support.send(page, "/tier", tier="nonsense", reason="x").status_code == 400
    assert "The tier is changed" in support.send(page, "/tier", tier="basic", reason="Down").text
    noted = support.send(page, "/note", note="Two lines\r\nof <i>text</i>").text
    assert "of &lt;i&gt;text&lt;/i&gt;" in noted
    assert support.send(page, "/note", note="").status_code == 422
    assert "sessions of this customer have ended" in support.send(page, "/end-sessions").text


async def test_a_verified_call_is_noted_for_its_own_customer_only(
    service: Service, support: Desk
) -> None:
    first, second = [page_of(service, await new_customer(service)) for _ in range(2)]
    shown = support.get(first).text
    fields = {
        name: re.findall(f'name="{name}" value="([^"]+)"', shown)[0] for name in ("asked", "seal")
    }
    assert support.send(second, "/verify", result="yes", **fields).status_code == 422
    assert support.send(first, "/verify", result="yes", **fields).status_code == 200
    assert "Caller verified" in support.get(first).text
    assert "Caller verified" not in support.get(second).text


async def test_a_failed_attempt_says_why(service: Service, support: Desk) -> None:
    shop = service.merchant()
    asked = shop.payment(amount=90_000_000)
    assert shop.post(f"/sandbox/payments/{asked['id']}/pay").status_code == 402
    found = support.get(q=asked["id"])
    assert found.headers["location"] == f"/operator/payments/{asked['id']}"
    assert asked["reference"] in support.get(f"/payments/{asked['id']}").text
    account = service.execute("SELECT sandbox_account FROM merchants WHERE id = $1", shop.id)
    [place] = [support.get(q=str(account[0]["sandbox_account"])).headers["location"]]
    assert "The balance was too low" in support.get(place.removeprefix("/operator")).text


async def test_a_search_shows_everything_that_fits(service: Service, support: Desk) -> None:
    # Other tests have customers here too: a name that no one else has.
    word = f"Zulfa{secrets.token_hex(4)}"
    first, second = [await new_customer(service, name=f"{word} Ibrahim") for _ in range(2)]
    shown = support.get(q=word)
    assert shown.status_code == 200
    assert first.mobile in shown.text
    assert second.mobile in shown.text
    nothing = support.get(q="zzzz<script>")
    assert "Nothing fits" in nothing.text
    assert "<script>" not in nothing.text.split("<main")[1]


async def test_an_amount_is_found_within_a_merchant_and_day(
    service: Service, support: Desk
) -> None:
    shop = service.merchant()
    asked = shop.payment(amount=12_345)
    day = local_day(datetime.now(UTC))
    where = {"merchant": shop.id, "mode": "sandbox", "amount": "123.45"}
    assert asked["reference"] in support.get("/amounts", **where, day=str(day)).text
    before = support.get("/amounts", **where, day=str(day - timedelta(days=1)))
    assert asked["reference"] not in before.text
    assert support.get("/amounts", **where, day="never").status_code == 422
    assert support.get("/amounts", **{**where, "merchant": "mer_none"}).status_code == 404


async def test_an_application_is_approved_once(service: Service, admin: Desk) -> None:
    async with connection_to(service.dsn) as connection, connection.transaction():
        made = await sign_up(connection, OPERATOR, bytes(32), 10**6, name="Bodu <i>Boat</i>")
    assert made is not None
    merchant_id = made.merchant.id
    options = [
        text
        for name, value in ANSWERS.items()
        for text in (f"--{name.replace('_', '-')}", str(value))
    ]
    applied = await asyncio.to_thread(service.laari, "application", "submit", merchant_id, *options)
    assert applied.returncode == 0, applied.stderr
    page = f"/merchants/{merchant_id}"
    assert page in admin.get("/merchants").text
    shown = admin.get(page).text
    assert ANSWERS["registration_number"] in shown
    assert "Bodu &lt;i&gt;Boat&lt;/i&gt;" in shown
    read = application_in(shown)
    assert admin.send(page, "/refuse", reason="", **read).status_code == 422
    assert "is refused" in admin.send(page, "/refuse", reason="Wrong register", **read).text
    assert admin.send(page, "/refuse", reason="Again", **read).status_code == 409
    again = await asyncio.to_thread(service.laari, "application", "submit", merchant_id, *options)
    assert again.returncode == 0
    read = application_in(admin.get(page).text)
    for wrong in (
        {"max_payment": "much"},
        {"minimum": "0"},
        {"hold": "\x07"},
        {"percent": "101"},
        {"fixed": "-1"},
    ):
        assert admin.send(page, "/approve", **wrong, **read).status_code == 422
    terms = {"max_payment": "5,000", "minimum": "100", "hold": "First <b>month</b>"}
    terms |= {"percent": "1.75", "fixed": "0.50"}
    approved = admin.send(page, "/approve", **terms, **read).text
    for text in (
        "is approved",
        "First &lt;b&gt;month",
        "MVR\u00a05,000.00",
        "MVR\u00a0100.00",
        "1.75",
    ):
        assert text in approved
    assert ANSWERS["bank_account"][-4:] in approved.partition('id="payouts"')[2]
    assert admin.send(page, "/approve", **read).status_code == 409
    limit = {"reason": "Grown", "mode": "live"}
    assert admin.send(page, "/limit", max_payment="-5", **limit).status_code == 422
    assert "no limit" in admin.send(page, "/limit", max_payment="", **limit).text
    rows = service.execute("SELECT mode FROM tenants WHERE merchant_id = $1", merchant_id)
    assert sorted(row["mode"] for row in rows) == ["live", "sandbox"]


async def test_an_application_that_nobody_has_read_is_not_decided(
    service: Service, admin: Desk
) -> None:
    """Or a shop replaces the bank account while the operator reads the application."""
    async with connection_to(service.dsn) as connection:
        async with connection.transaction():
            made = await sign_up(connection, OPERATOR, bytes(32), 10**6, name="Boat")
        assert made is not None
        merchant_id, answers = made.merchant.id, ApplicationAnswers(**ANSWERS)
        await decided(connection, SubmitApplication(OPERATOR, merchant_id, answers))
        page = f"/merchants/{merchant_id}"
        read = application_in(admin.get(page).text)
        other = msgspec.structs.replace(answers, bank_account="999900001111")
        await decided(connection, SubmitApplication(OPERATOR, merchant_id, other))
        for form in (read, {}):
            refused = admin.send(page, "/approve", **form)
            assert refused.status_code == 409
            assert "999900001111" in refused.text  # the page shows the present one
            assert admin.send(page, "/refuse", reason="No", **form).status_code == 409
        assert not (await merchants.show(connection, merchant_id)).has_live
    assert "is approved" in admin.send(page, "/approve", **application_in(refused.text)).text
    ended = service.execute(
        "SELECT actor_kind, after FROM journal WHERE action = 'application.approve' "
        "AND merchant_id = $1",
        merchant_id,
    )
    assert [(row["actor_kind"], json.loads(row["after"])["status"]) for row in ended] == [
        ("operator", "approved")
    ]


async def test_fees_and_a_pause(service: Service, admin: Desk) -> None:
    owner = new_owner(service, mode="sandbox")
    page = f"/merchants/{owner.shop.id}"
    today = local_day(datetime.now(UTC))
    for fees in (
        {"percent": "101", "fixed": "0"},
        {"percent": "1.5", "fixed": "-1"},
        {"percent": "1.5", "fixed": "0", "first_day": "soon"},
    ):
        assert admin.send(page, "/fees", reason="New terms", **fees).status_code == 422
    passed = {"percent": "1.5", "fixed": "0", "first_day": str(today - timedelta(days=1))}
    refused = admin.send(page, "/fees", reason="New terms", **passed)
    assert (refused.status_code, "The first day has passed" in refused.text) == (400, True)
    assert (
        "The fees are set"
        in admin.send(page, "/fees", percent="1.5", fixed="0.50", reason="New terms").text
    )
    tomorrow = today + timedelta(days=1)
    later = {"percent": "1.25", "fixed": "0", "first_day": str(tomorrow)}
    shown = admin.send(page, "/fees", reason="Later", **later).text
    assert "scheduled" in shown
    [moment] = re.findall(r'name="starts_at" value="([^"]+)"', shown)
    assert "cancelled" in admin.send(page, "/cancel-fees", starts_at=moment).text
    assert admin.send(page, "/cancel-fees", starts_at=moment).status_code == 409
    [row] = service.execute("SELECT fee_bps, fee_fixed FROM merchants WHERE id = $1", owner.shop.id)
    assert tuple(row) == (150, 50)
    paused = admin.send(page, "/pause", reason="Documents <b>expired</b>").text
    assert "Documents &lt;b&gt;expired&lt;/b&gt;" in paused
    assert owner.shop.post("/payments", {"reference": "r", "amount": 100}).status_code == 401
    assert "active again" in admin.send(page, "/resume").text
    assert owner.shop.payment()["status"] == "pending"


async def test_money_is_moved_by_finance(service: Service) -> None:
    finance = await desk_of(service, "finance")
    customer = await new_customer(service, balance=0)
    account = str(customer.account)
    for fields in (
        {"account": "12x", "amount": "1"},
        {"account": account, "amount": "nothing"},
        {"account": account, "amount": "0"},
        {"account": account, "amount": "-5"},
        {"account": account, "amount": "5", "details": ""},
        {"account": account, "amount": "5", "kind": "adjustment", "slip": "S"},
        {"account": "1", "amount": "5"},
    ):
        answer = finance.send("/money", "", **{"kind": "topup", "details": "Bank", **fields})
        assert answer.status_code in (400, 404, 422), fields
    slip = f"slip-{account}"
    topup = {"kind": "topup", "account": account, "amount": "1,250.50", "details": "Bank"}
    topup["slip"] = slip
    assert "The money is moved" in finance.send("/money", "", **topup).text
    assert "entered before" in finance.send("/money", "", **topup).text
    below = {"kind": "adjustment", "account": account, "amount": "-1250.51", "details": "Wrong"}
    assert finance.send("/money", "", **below).status_code == 400
    assert "is moved" in finance.send("/money", "", **below, below_zero="on").text
    [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
    assert row["balance"] == -1
    assert slip in finance.get("/money").text


MONEY = "/operator/money"


async def test_one_top_up_or_correction_sent_eight_times_at_once_acts_once(
    service: Service,
) -> None:
    finance = await desk_of(service, "finance")  # who has moved no money yet
    for kind in ("topup", "adjustment"):
        customer = await new_customer(service, balance=0)
        form = {"kind": kind, "account": str(customer.account), "amount": "10", "details": "Cash"}
        form["moved"] = finance.moved("/money")
        form["form_token"] = finance.token
        with ThreadPoolExecutor(8) as pool:
            answers = [
                *pool.map(lambda _, sent=form: finance.http.post(MONEY, data=sent), range(8))
            ]
        done = [answer for answer in answers if answer.status_code == 303]
        refused = {answer.status_code for answer in answers if answer not in done}
        assert len(done) == 1
        assert refused <= {409, 503}  # a person has one long page at a time
        [row] = service.execute("SELECT balance FROM wallets WHERE account = $1", customer.account)
        assert row["balance"] == 1_000


@pytest.mark.ci
async def test_sales_by_day_as_a_page_and_as_csv(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finance = await desk_of(service, "finance")
    shop = service.merchant(name="=Formula Café")
    asked = shop.payment(amount=20_000)
    shop.post(f"/sandbox/payments/{asked['id']}/pay")
    for _ in range(50):
        file = finance.get("/money/volume.csv", mode="sandbox")
        if shop.id in file.text:
            break
        await asyncio.sleep(0.2)
    assert file.headers["content-type"].startswith("text/csv")
    [line] = [line for line in file.text.splitlines() if shop.id in line]
    day = local_day(datetime.now(UTC))
    assert line.startswith(f"{day},sandbox,{shop.id},'=Formula Café,1,200.00,")
    assert "Formula Café" in finance.get("/money/volume", mode="sandbox").text
    assert finance.get("/money/volume", first="x", last="y").status_code == 200
    target = tmp_path / "sales.csv"
    options = ("--mode", "sandbox", "--csv", str(target), "--json")
    listed = await asyncio.to_thread(service.laari, "volume", *options)
    [row] = [row for row in json.loads(listed.stdout) if row["merchant_id"] == shop.id]
    assert (row["day"], row["payments"], row["gross"]) == (str(day), 1, 20_000)
    assert line in target.read_text("utf-8-sig").splitlines()
    for wrong in (options[:4], ("--from", "2026-01-01", "--to", "2025-01-01")):
        assert (await asyncio.to_thread(service.laari, "volume", *wrong)).returncode == 1
    monkeypatch.setattr(volume, "MOST", 0)
    async with connection_to(service.dsn) as connection:
        assert len(await volume.by_day(connection, "sandbox", day, day)) == 1


@pytest.fixture
def untouched(engine, tmp_path: Path) -> Iterator[Service]:
    """A service of its own: tests that share one write rows that no audit accepts."""
    with serving(engine.migrated("untouched"), tmp_path) as service:
        yield service


@pytest.mark.ci
async def test_health_shows_the_last_audit(untouched: Service) -> None:
    service, support = untouched, await desk_of(untouched, "support")
    metrics = httpx.get(service.metrics_url).text
    for age in ("laari_last_audit_age_seconds", "laari_last_backup_age_seconds"):
        assert 0 <= float(metrics.split(f"\n{age} ")[1].split("\n")[0]) < 600, "since installation"
    audited = await asyncio.to_thread(service.laari, "audit")
    assert audited.returncode == 0, audited.stderr
    shown = support.get("/health").text
    assert "Last audit" in shown
    assert "found differences" not in shown
    asked = await asyncio.to_thread(service.laari, "health", "--json")
    found = json.loads(asked.stdout)
    state = {check["name"]: check["ok"] for check in found["checks"]}
    assert (found["ok"], state["Last audit"], state["Processes"]) == (True, True, True)
    assert state["Last backup"], "the installation is new"
    [second] = [check for check in found["checks"] if check["name"] == "Second person"]
    told = "One person can move money alone."
    assert (second["ok"], second["notice"], second["text"]) == (True, True, told)
    assert told in shown
    assert {each["role"] for each in found["processes"]} == {"interface", "background"}
    for each in found["processes"]:
        assert Path(f"/proc/{each['pid']}").exists()
        assert f"{each['role']} {each['pid']}" in support.get("/health").text
    metrics = httpx.get(service.metrics_url).text
    assert "laari_last_audit_ok 1" in metrics
    assert "laari_second_person 0" in metrics
    assert "laari_last_audit_age_seconds" in metrics
    assert "laari_webhooks_failed 0" in metrics


@pytest.mark.ci
async def test_health_is_not_ok_without_backups_until_one_is_recorded(untouched: Service) -> None:
    service = untouched
    service.execute("UPDATE installation SET created_at = now() - interval '3 days'")
    asked = await asyncio.to_thread(service.laari, "health", "--json")
    assert (asked.returncode, json.loads(asked.stdout)["ok"]) == (1, False)
    assert asked.stderr == "laari: not ok: Last backup\n"
    age = httpx.get(service.metrics_url).text.split("\nlaari_last_backup_age_seconds ")[1]
    assert float(age.split("\n")[0]) > 2 * 86_400
    recorded = await asyncio.to_thread(service.laari, "backup", "--record", "--json")
    assert "recorded_at" in json.loads(recorded.stdout)
    asked = await asyncio.to_thread(service.laari, "health", "--json")
    assert (asked.returncode, asked.stderr) == (0, "")


@pytest.mark.parametrize("given", [[], ["there", "--record"], ["--record", "--with-key"]])
def test_a_backup_has_a_directory_or_is_recorded(service: Service, given: list[str]) -> None:
    refused = service.laari("backup", *given)
    assert refused.returncode == 1
    assert refused.stderr == "laari: name a new directory, or use --record alone\n"


async def test_an_unknown_page_of_the_desk(service: Service) -> None:
    missing = httpx.get(f"{service.origin}/operator/nothing/here")
    assert missing.status_code == 404
    assert "/operator" in missing.text
