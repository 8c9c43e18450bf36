"""A shop applies to go live on its dashboard, and reads the operator's decision."""

import json
import re

import httpx
import pytest

from laari.rules.merchants.applications import ApproveMerchant, RefuseApplication
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.merchants import applications
from tests import shops
from tests.actors import OPERATOR, change
from tests.cli.test_approval import ANSWERS
from tests.logins import opened
from tests.making import sign_up
from tests.pages.finance import take
from tests.pages.forms import token_in
from tests.people import decided
from tests.serving import Service

pytestmark = pytest.mark.ci

FORM = {**ANSWERS, "monthly_volume": "250,000", "bank_account": "7730 0000 12345"}


class Shop:
    def __init__(self, service: Service, merchant_id: str, token: str) -> None:
        self.id = merchant_id
        self.home = f"/dashboard/{merchant_id}/sandbox"
        self.http = httpx.Client(
            base_url=service.origin,
            cookies={"laari-dashboard": token},
            headers={"Sec-Fetch-Site": "same-origin"},
            follow_redirects=True,
            timeout=30,
        )

    def get(self, path: str = "") -> httpx.Response:
        return self.http.get(self.home + path)

    def send(self, action: str, **fields: str) -> httpx.Response:
        token = token_in(self.get("/account").text)
        return self.http.post(self.home + action, data={"form_token": token, **fields})


@pytest.fixture
async def shop(service: Service) -> Shop:
    async with connection_to(service.dsn) as connection:
        count = await connection.fetchval("SELECT count(*) FROM persons")
        email = f"new{count}@shop.example"
        async with connection.transaction():
            made = await sign_up(
                connection, OPERATOR, service.master_key, 10**6, name="Bodu Boat", email=email
            )
        assert made is not None
        token = await opened(connection, email, master=service.master_key)
        return Shop(service, made.merchant.id, token)


async def test_a_shop_applies_and_reads_the_decision(service: Service, shop: Shop) -> None:
    assert "Before you take real money" in shop.get().text
    for wrong in ({"legal_name": " "}, {"monthly_volume": "much"}, {"bank_holder": "=1+1"}):
        refused = shop.send("/application", **{**FORM, **wrong})
        assert refused.status_code == 422
        assert ANSWERS["contact"] in refused.text  # nothing has to be typed again
    sent = shop.send("/application", **{**FORM, "tax_number": "", "legal_name": "<b>Boat</b>"})
    assert "Your application is sent" in sent.text
    async with connection_to(service.dsn) as connection:
        found = await applications.latest_of(connection, shop.id)
        assert found is not None
        assert (found.tax_number, found.monthly_volume) == (None, 25_000_000)
        assert found.submitted_by.endswith("@shop.example")
        await decided(connection, RefuseApplication(OPERATOR, found.id, "No <i>such</i> register"))
    assert "No &lt;i&gt;such&lt;/i&gt; register" in shop.get("/application").text
    assert "Your application is sent" in shop.send("/application", **FORM).text
    assert "is withdrawn" in shop.send("/application/withdraw").text
    assert "Your application is sent" in shop.send("/application", **FORM).text
    async with connection_to(service.dsn) as connection:
        await decided(connection, ApproveMerchant(OPERATOR, shop.id))
        actions = await connection.fetch(
            "SELECT action FROM journal WHERE merchant_id = $1 AND object_type IN "
            "('application', 'tenant') AND action <> 'merchant.create' ORDER BY id",
            shop.id,
        )
        accounts = await connection.fetch(
            "SELECT account_number FROM bank_accounts b JOIN tenants t ON t.id = b.tenant_id "
            "WHERE t.merchant_id = $1 AND t.mode = 'live'",
            shop.id,
        )
    assert [row["account_number"] for row in accounts] == [ANSWERS["bank_account"]]
    assert "is approved for live mode" in shop.get("/application").text
    assert shop.get().url.path.endswith("/sandbox")
    found_actions = [row["action"] for row in actions]
    assert found_actions[-7:] == [
        "application.submit",
        "application.refuse",
        "application.submit",
        "application.withdraw",
        "application.submit",
        "merchant.approve",
        "application.approve",
    ]


async def test_all_errors_are_told_at_once_next_to_their_fields(shop: Shop) -> None:
    wrong = {"legal_name": " ", "bank_account": "77-x", "monthly_volume": "much"}
    page = shop.send("/application", **{**FORM, **wrong})
    assert page.status_code == 422
    told = dict(re.findall(r'class="hint wrong" id="(\w+)-hint">([^<]+)<', page.text))
    assert told == {
        "legal_name": "This must be 1 to 255 printable characters, not blank.",
        "bank_account": "The account number must have 4 to 20 digits.",
        "monthly_volume": "This must be in rufiyaa, such as 125.50.",
    }
    marked = re.findall(r'<input id="(\w+)"[^>]* aria-invalid="true"', page.text)
    assert marked == list(told)
    needed = re.findall(r'<(?:input|select) id="(\w+)"[^>]* required', page.text)
    assert set(FORM) - set(needed) == {"tax_number"}


async def test_what_was_sent_stays_on_the_page_and_in_the_form(
    service: Service, shop: Shop
) -> None:
    number = "7730-0000 12345"
    page = shop.send("/application", **{**FORM, "bank_account": number}).text
    assert "Expect an answer within 5 working days" in page
    facts = re.findall(r"<dd[^>]*><bdi[^>]*>([^<]+)<", page)
    assert {ANSWERS["legal_name"], ANSWERS["contact"], ANSWERS["bank_account"]} <= set(facts)
    async with connection_to(service.dsn) as connection:
        found = await applications.latest_of(connection, shop.id)
        assert found is not None
        await decided(
            connection, RefuseApplication(OPERATOR, found.id, "The <i>register</i> is old.")
        )
    reason = "The &lt;i&gt;register&lt;/i&gt; is old."
    page = shop.get("/application").text
    assert reason in page
    for value in (ANSWERS["address"], ANSWERS["bank_account"], "250000.00"):
        assert f'value="{value}"' in page
    overview = shop.get().text
    assert re.search(r'badge bad">refused</span>.+application', overview)
    assert reason in overview
    shop.send("/application", **FORM)
    assert reason not in shop.get().text


async def test_a_shop_changes_its_name_until_it_is_approved(service: Service, shop: Shop) -> None:
    assert "public name is changed" in shop.send("/application/name", name="Bodu <b>Boat").text
    assert "Bodu &lt;b&gt;Boat" in shop.get("/application").text
    [entry] = service.execute(
        "SELECT * FROM journal WHERE merchant_id = $1 AND action = 'merchant.rename'", shop.id
    )
    assert (entry["actor_kind"], entry["actor_role"]) == ("person", "owner")
    async with connection_to(service.dsn) as connection:
        await decided(connection, ApproveMerchant(OPERATOR, shop.id))
    assert shop.send("/application/name", name="Other").status_code == 409
    renamed = service.laari("merchant", "rename", shop.id, "Boat", "--json")
    assert json.loads(renamed.stdout)["name"] == "Boat"


async def test_a_checklist_follows_the_data(service: Service, shop: Shop) -> None:
    def steps() -> dict[str, bool]:
        found = re.findall(r'badge \w+">(done|to do)</span> (?:<a [^>]+>)?([^<]+)', shop.get().text)
        return {" ".join(text.split()[:3]): state == "done" for state, text in found}

    before = {"A payment in": False, "Your second factor": False}
    assert steps() == before | {"The application to": False}  # and no webhook: it has none
    shop.send("/application", **FORM)
    async with connection_to(service.dsn) as connection:
        hook = "https://shop.example/hook"
        await shops.update(connection, OPERATOR, shop.id, webhook_url=hook)
        await take(service, await tenants.of_merchant(connection, shop.id, "sandbox"), 100)
    attempt = (
        "INSERT INTO delivery_attempts (event_id, lease, started_at, duration_ms, url, http_status)"
        " SELECT e.id, $2, now(), 1, $3, $4 FROM events e JOIN tenants t ON t.id = e.tenant_id "
        "WHERE t.merchant_id = $1 LIMIT 1"
    )
    # No real attempt has such a number. Neither a failure nor the answer of another address counts.
    service.execute(attempt, shop.id, -3, hook, 500)
    service.execute(attempt, shop.id, -2, "https://other.example/hook", 204)
    paid = {"A payment in": True, "The application to": True}
    assert steps() == before | paid | {"A webhook that": False}
    service.execute(attempt, shop.id, -1, hook, 204)
    assert steps() == before | paid | {"A webhook that": True}
    async with connection_to(service.dsn) as connection:
        await decided(connection, ApproveMerchant(OPERATOR, shop.id))
    live = {"A webhook that": True, "Your second factor": False, "Your bank account": True}
    assert steps() == live | {"A first live": False}
    async with connection_to(service.dsn) as connection:
        await take(service, await tenants.of_merchant(connection, shop.id, "live"), 100)
        assert steps() == live | {"A first live": True}
        await change(
            connection,
            "INSERT INTO second_factors (person_id, seed_encrypted, created_at, confirmed_at) "
            "SELECT person_id, '', now(), now() FROM memberships WHERE merchant_id = $1",
            shop.id,
        )
    assert steps() == {}


async def test_a_pause_shows_its_reason(service: Service, shop: Shop) -> None:
    service.laari("merchant", "update", shop.id, "--inactive", "--reason", "Papers <b>late</b>")
    assert "paused this shop: Papers &lt;b&gt;late&lt;/b&gt;" in shop.get().text


async def test_forms_of_one_page_have_fields_of_their_own(service: Service, shop: Shop) -> None:
    """Otherwise the label of the second password would lead to the first."""
    service.execute(
        "UPDATE sessions SET authenticated_at = authenticated_at - interval '11 minutes' "
        "WHERE person_id = (SELECT person_id FROM memberships WHERE merchant_id = $1)",
        shop.id,
    )
    page = shop.get("/application").text
    ids = re.findall(r' id="([^"]+)"', page)
    assert page.count('name="password"') == 2
    assert len(ids) == len(set(ids))
