"""The journal's page, and that every form that changes something has an entry there."""

import asyncio
import csv
import io
import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import asyncpg
import httpx
import pytest

from laari.edge.pages import dashboard
from laari.edge.pages.dashboard.journal import MOST_READ
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.merchants.links import CreateReusableLink
from laari.rules.merchants.tills import CreateTill
from laari.rules.people.invitations import Offer
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import PersonId, show_whose
from laari.store.counters import sessions
from laari.store.reads import tenants
from laari.store.reads.people import persons
from tests import people, shops
from tests.actors import OPERATOR
from tests.deciding import done
from tests.logins import opened, password_link, whose
from tests.pages.factors import Phone, with_factor
from tests.pages.forms import token_in
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations, sideways_scroll
from tests.serving import Merchant, Service

NEW_PASSWORD = "a longer wooden sentence"


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service)


def client_of(owner: Owner, mode: str = "sandbox") -> httpx.Client:
    service = owner.shop.service

    async def logged_in(connection: asyncpg.Connection) -> str:
        """The token of a session with the second factor, if the person has one."""
        half = await opened(connection, owner.email, master=service.master_key)
        found = await persons.find(connection, owner.email)
        assert found is not None
        now = datetime.now(UTC)
        return await sessions.complete(connection, service.master_key, half, found, now) or half

    token = service.database.run(logged_in)
    return httpx.Client(
        base_url=f"{owner.shop.service.origin}/dashboard/{mode}",
        cookies={"laari-dashboard": token},
        headers={"Sec-Fetch-Site": "same-origin"},
        follow_redirects=True,
        timeout=30,
    )


def entries(owner: Owner) -> list[asyncpg.Record]:
    return owner.shop.service.execute(
        "SELECT * FROM journal WHERE merchant_id = $1 OR actor_name = $2 ORDER BY id",
        owner.shop.id,
        owner.email,
    )


# Forms without an entry, each for a reason.
UNJOURNALLED = {
    "/dashboard/login": "a failed one is counted",
    "/dashboard/logout": "the person's own session",
    "/account/logout-everywhere": "the person's own sessions",
    "/account/sessions/{id}": "ends sessions, which are no settings",
    "/account/end-others": "the person's own sessions",
    "/account/messages": "the person's own wishes; messages about security are always sent",
    "/dashboard/login/code": "a part of the log-in",
    "/dashboard/forgotten": "for strangers; a message that is sent has its own log",
    "/payments/new": "creates have events and saved responses",
    "/requests/new": "creates have events and saved responses",
    "/authorizations/new": "creates have events and saved responses",
    "/authorizations/{id}/charge": "in test_by_hand.py",
    "/tills/{id}/devices/{digest}/end": "in test_counter.py",
    "/webhooks/sample": "sends a sample event",
    # They have entries, and need more than this test prepares.
    "/application": "in test_application.py",
    "/application/withdraw": "as the application itself",
    "/application/name": "in test_application.py: an approved shop keeps its name",
    "/money/payouts/request": "in test_payouts.py",
    "/webhooks/{id}/resend": "repeats a delivery; the event has its attempts",
    "/webhooks/given-up/resend": "repeats deliveries; the events have their attempts",
    "/payments/{id}/sandbox/{action}": "the decision of a sandbox customer",
    "/requests/{id}/sandbox/{action}": "the decision of a sandbox customer",
    "/authorizations/{id}/sandbox/{action}": "the decision of a sandbox customer",
}


def paid(shop: Merchant) -> str:
    payment = shop.payment()
    shop.post(f"/sandbox/payments/{payment['id']}/pay").raise_for_status()
    return f"/payments/{payment['id']}/refund"


def sold(shop: Merchant) -> str:
    payment = shop.payment(terminal_label="1")
    shop.post(f"/sandbox/payments/{payment['id']}/pay").raise_for_status()
    return "/tills/close"


def requested(shop: Merchant) -> str:
    body = {"reference": "ask", "amount": 500, "customer": {"type": "vpa", "value": "sandbox"}}
    made = shop.post("/payment-requests", body)
    return f"/requests/{made.json()['data']['id']}/cancel"


def authorized(shop: Merchant) -> str:
    made = shop.post("/authorizations", {"reference": "auth", "title": "Box"})
    return f"/authorizations/{made.json()['data']['id']}/cancel"


def with_client(shop: Merchant) -> str:
    client_id, _ = shop.client("payments:read")
    return f"/keys/clients/{client_id}"


def rotated(shop: Merchant) -> str:
    async def rotate(connection: asyncpg.Connection) -> None:
        await shops.rotate_key(
            connection, OPERATOR, shop.service.master_key, shop.id, timedelta(hours=1)
        )

    shop.service.database.run(rotate)
    return "/keys/end-old"


Way = tuple[Callable[[Merchant], str] | str, dict[str, str], str]
# How to send each form so that it changes something: the address, the fields and the action.
BANK = {"holder": "Seagull Café", "bank": "BML", "number": "7730 0000 12345"}
WAYS: dict[str, Way] = {
    "/account": (
        "/account",
        {"password": PASSWORD, "new": NEW_PASSWORD, "repeated": NEW_PASSWORD},
        "person.set_password",
    ),
    "/payments/{id}/cancel": (
        lambda shop: f"/payments/{shop.payment()['id']}/cancel",
        {},
        "payment.cancel",
    ),
    "/payments/{id}/refund": (paid, {"password": PASSWORD}, "payment.refund"),
    "/tills/close": (sold, {"till": "1"}, "till.close"),
    "/requests/{id}/cancel": (requested, {}, "payment_request.cancel"),
    "/authorizations/{id}/cancel": (authorized, {}, "authorization.cancel"),
    "/webhooks": (
        "/webhooks",
        {"webhook_url": "https://shop.mv/hook", "password": PASSWORD},
        "merchant.update",
    ),
    "/keys/rotate": ("/keys/rotate", {"password": PASSWORD}, "merchant.rotate_key"),
    "/keys/end-old": (rotated, {"password": PASSWORD}, "merchant.end_old_key"),
    "/keys/mode": ("/keys/mode", {"mode": "live", "password": PASSWORD}, "merchant.update"),
    "/keys/clients": (
        "/keys/clients",
        {"payments:read": "on", "password": PASSWORD, "expires": "never"},
        "oauth_client.create",
    ),
    "/keys/clients/{id}": (with_client, {"password": PASSWORD}, "oauth_client.revoke"),
    "/money/bank": ("/money/bank", {**BANK, "password": PASSWORD}, "bank_account.add"),
    "/sandbox/wallet": (
        "/sandbox/wallet",
        {"balance": "12.50", "tier": "basic"},
        "sandbox.set_wallet",
    ),
    "/sandbox/clock": (
        "/sandbox/clock",
        {"number": "1", "unit": "hours"},
        "sandbox.move_clock",
    ),
}


class Step(NamedTuple):
    """A form that needs something of its owner first."""

    path: str
    page: str  # with the form
    fields: dict[str, str]
    action: str
    actor: str = ""  # the owner's email if empty


ROLE = {"role": "accountant", "password": PASSWORD}


def about_member(form: str, action: str) -> Callable[[Owner], Step]:
    def prepare(owner: Owner) -> Step:
        email = f"{secrets.token_hex(6)}@shop.example"

        async def add(connection: asyncpg.Connection) -> PersonId:
            place = (owner.shop.id, email, "manager", None)
            added = await people.add(connection, OPERATOR, *place, NewLogin("hash"))
            await opened(connection, email)
            return added.id

        page = f"/people/{show_whose(owner.shop.service.database.run(add))}"
        return Step(f"{page}/{form}", page, ROLE, action)

    return prepare


async def invite(connection: asyncpg.Connection, owner: Owner, email: str) -> str:
    offer, now = Offer(email, "manager"), datetime.now(UTC)
    made = await people.invite(
        connection, OPERATOR, owner.shop.service.master_key, owner.shop.id, offer, now
    )
    return f"{owner.shop.service.origin}/dashboard/join/{people.token_of(made)}"


def withdrawing(owner: Owner) -> Step:
    email = "invited@shop.example"
    owner.shop.service.database.run(lambda connection: invite(connection, owner, email))
    return Step("/people/withdraw", "/people", {"email": email}, "invitation.withdraw")


def joining(owner: Owner) -> Step:
    email = f"{secrets.token_hex(6)}@shop.example"
    link = owner.shop.service.database.run(lambda connection: invite(connection, owner, email))
    fields = {"new": NEW_PASSWORD, "repeated": NEW_PASSWORD}
    return Step(link, link, fields, "invitation.accept", email)


def with_link(owner: Owner) -> Step:
    async def issue(connection: asyncpg.Connection) -> str:
        person = await whose(connection, owner.email)
        master = owner.shop.service.master_key
        token = await password_link(connection, person, datetime.now(UTC), master)
        return f"{owner.shop.service.origin}/dashboard/forgotten/{token}"

    link = owner.shop.service.database.run(issue)
    fields = {"new": NEW_PASSWORD, "repeated": NEW_PASSWORD}
    return Step(link, link, fields, "password_link.use")


def set_up(owner: Owner) -> Step:
    """The session itself begins: only it sees the seed."""
    page = "/account/factor"
    return Step(f"{page}/confirm", page, {"password": PASSWORD}, "second_factor.confirm")


def first_code(client: httpx.Client, page: str, fields: dict[str, str]) -> str:
    begun = client.post(page, data=fields).text
    found = re.search(r"secret=([A-Z2-7]{32})", begun)
    assert found is not None
    return Phone(found[1]).code()


def about_factor(form: str, page: str, action: str) -> Callable[[Owner], Step]:
    def prepare(owner: Owner) -> Step:
        phone, _ = with_factor(owner)
        fields = {"password": PASSWORD, "code": phone.code(), "required": "yes"}
        return Step(f"/account/factor{form}", f"/account/factor{page}", fields, action)

    return prepare


def at_till(form: str, fields: dict[str, str], action: str) -> Callable[[Owner], Step]:
    def prepare(owner: Owner) -> Step:
        service, shop = owner.shop.service, owner.shop.id
        tenant = service.database.run(
            lambda connection: tenants.of_merchant(connection, shop, "sandbox")
        )
        till = asyncio.run(done(service.dsn, CreateTill(OPERATOR, tenant, "Bar")))
        page = f"/tills/{ids.show_id(ids.TILL, till.id)}"
        return Step(page + form, page, fields, action)

    return prepare


def at_link(owner: Owner) -> Step:
    service, shop = owner.shop.service, owner.shop.id
    tenant = service.database.run(
        lambda connection: tenants.of_merchant(connection, shop, "sandbox")
    )
    link = asyncio.run(done(service.dsn, CreateReusableLink(OPERATOR, tenant, "Course")))
    page = f"/links/{ids.show_id(ids.REUSABLE_LINK, link.id)}"
    return Step(f"{page}/end", page, {}, "reusable_link.end")


STEPS: dict[str, Callable[[Owner], Step]] = {
    "/links/new": lambda owner: Step(
        "/links/new", "/links", {"title": "Course", "count": "0"}, "reusable_link.create"
    ),
    "/links/{id}/end": at_link,
    "/tills/new": lambda owner: Step("/tills/new", "/tills", {"name": "Terrace"}, "till.create"),
    "/tills/{id}/pair": at_till("/pair", {"password": PASSWORD}, "till.offer_pairing"),
    "/tills/{id}/state": at_till("/state", {"state": "inactive"}, "till.deactivate"),
    "/account/factor": lambda owner: Step(
        "/account/factor", "/account/factor", {"password": PASSWORD}, "second_factor.begin"
    ),
    "/account/factor/confirm": set_up,
    "/account/factor/codes": about_factor("/codes", "/codes", "second_factor.renew_codes"),
    "/account/factor/off": about_factor("/off", "/off", "second_factor.remove"),
    "/account/factor/required": about_factor("/required", "", "merchant.require_factor"),
    "/dashboard/forgotten/{token}": with_link,
    "/dashboard/join/{token}": joining,
    "/people": lambda owner: Step(
        "/people", "/people", {**ROLE, "email": "new@shop.example"}, "invitation.create"
    ),
    "/people/withdraw": withdrawing,
    "/people/{id}/role": about_member("role", "membership.set_role"),
    "/people/{id}/remove": about_member("remove", "membership.remove"),
    "/people/{id}/sessions": about_member("sessions", "sessions.end"),
    "/people/{id}/transfer": about_member("transfer", "membership.transfer"),
}


def step_of(owner: Owner, form: str) -> Step:
    if form in STEPS:
        return STEPS[form](owner)
    address, fields, action = WAYS[form]
    path = address if isinstance(address, str) else address(owner.shop)
    return Step(path, "/keys" if form == "/keys/clients" else path, fields, action)


def forms() -> list[str]:
    """The addresses of all forms, without the part that names the merchant and the mode."""
    return [
        route.path.rpartition("{mode}")[2] for route in dashboard.ROUTES if route.post is not None
    ]


@pytest.mark.parametrize(
    "form", [path for path in forms() if path not in UNJOURNALLED and path != "/dashboard/signup"]
)
def test_every_form_that_changes_something_has_an_entry(owner: Owner, form: str) -> None:
    known = form in WAYS or form in STEPS
    assert known, "say here how this form changes something, or why it has no entry"
    path, page, fields, action, actor = step_of(owner, form)
    with client_of(owner) as client:
        if page.startswith("http"):  # for a visitor
            client.cookies.clear()
        shown = client.get(page).text
        hidden = {"form_token": token_in(shown)}
        for name in ("mark", "clients"):
            if f'name="{name}" value="' in shown:
                hidden[name] = shown.split(f'name="{name}" value="')[1].split('"')[0]
        if form == "/account/factor/confirm":
            fields = {"code": first_code(client, page, {**fields, **hidden})}
        before = len(entries(owner))
        response = client.post(path, data={**fields, **hidden})
    assert response.status_code == 200, response.text
    added = [entry for entry in entries(owner)[before:] if entry["action"] == action]
    assert added, "this form writes no entry"
    for entry in added:
        assert (entry["actor_kind"], entry["address"]) == ("person", "127.0.0.1")
        assert entry["actor_name"] == (actor or owner.email)


def test_the_page_shows_filters_and_exports_without_secrets(owner: Owner) -> None:
    hostile = Actor("person", "=<b>1")
    owner.shop.service.database.run(
        lambda connection: shops.set_fee(connection, hostile, owner.shop.id, 7)
    )
    with client_of(owner) as client:
        page = client.get("/journal").text
        assert "merchant.update" in page
        assert "&lt;b&gt;" in page
        assert "<b>" not in page
        only = client.get("/journal", params={"actor": hostile.name}).text
        assert "<strong>Merchant: update" in only
        assert "<strong>Merchant: create" not in only
        none = client.get("/journal", params={"first": "2020-01-01", "last": "2020-01-02"}).text
        assert "No entries." in none
        assert client.get("/journal", params={"first": "yesterday"}).status_code == 400
        file = client.get("/journal.csv").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(file)))
    assert "'=<b>1" in {row["actor"] for row in rows}  # no formula
    assert {row["action"] for row in rows} >= {"merchant.update", "merchant.create"}
    digest = owner.shop.service.execute(
        "SELECT encode(secret_digest, 'hex') FROM merchants WHERE id = $1", owner.shop.id
    )[0][0]
    for text in (page, file):
        assert owner.shop.secret_key not in text
        assert digest not in text
        assert digest[:8] in text
        assert "argon2" not in text


def test_pages_of_the_journal_have_every_entry_once(owner: Owner) -> None:
    shop = owner.shop

    async def change(connection: asyncpg.Connection) -> None:
        for fee in range(1, 120):
            await shops.update(connection, OPERATOR, shop.id, fee_bps=fee)

    shop.service.database.run(change)
    seen: list[str] = []
    with client_of(owner) as client:
        address = "/journal?action=merchant.update"
        while address:
            page = client.get(address).text
            text = re.sub("<[^>]*>", "", page)
            seen += re.findall(r"fee: ([0-9.]+\s% → [0-9.]+\s%)", text)
            older = page.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
            address = older.replace("&amp;", "&") if 'rel="next"' in page else ""
            address = address and f"{shop.service.origin}{address}"
    assert len(seen) == len(set(seen)) == 119


def test_the_operators_people_have_no_name_and_no_address_for_a_merchant(owner: Owner) -> None:
    shop = owner.shop
    desk = Actor("operator", "mariyam@desk.example", "support", "203.0.113.9")
    root = Actor("command_line", "root-ahmed", "admin", "203.0.113.8")

    async def change(connection: asyncpg.Connection) -> None:
        for number, actor in enumerate((desk, root)):
            await shops.set_fee(connection, actor, shop.id, 70 + number)

    shop.service.database.run(change)
    with client_of(owner) as client:
        page = client.get("/journal").text
        file = client.get("/journal.csv").content.decode("utf-8-sig")
        by_operator = client.get("/journal", params={"actor": "operator"}).text
        guesses = [client.get("/journal", params={"actor": each.name}) for each in (desk, root)]
    for text in (page, file, by_operator):
        assert not any(each in text for each in ("mariyam", "root-ahmed", "203.0.113"))
    for text in (page, by_operator):
        assert re.search('<option value="operator"( selected)?>operator', text)
        assert "operator, support" in text
        assert "operator, admin" in text
    # A guess finds nothing: that would prove the name.
    assert all("No entries." in each.text for each in guesses)
    rows = [row for row in csv.DictReader(io.StringIO(file)) if row["action"] == "merchant.update"]
    assert [(row["actor"], row["kind"], row["role"], row["address"]) for row in rows] == [
        ("operator", "operator", "admin", ""),
        ("operator", "operator", "support", ""),
    ]
    listed = shop.service.laari("journal", "list", "--merchant", shop.id, "--json").stdout
    assert "mariyam@desk.example" in listed
    assert "203.0.113.8" in listed


def test_the_timeline_does_not_name_the_operators_people(owner: Owner) -> None:
    path = paid(owner.shop).removesuffix("/refund")
    done = owner.shop.service.laari("payment", "refund", path.split("/")[-1], "--json")
    assert done.returncode == 0, done.stderr
    actor = owner.shop.service.execute(
        "SELECT actor_name FROM refunds WHERE payment_id = $1::uuid", path.rpartition("_")[2]
    )[0][0]
    with client_of(owner) as client:
        text = re.sub("<[^>]*>", "", client.get(path).text)
    assert text.count("By the operator") == 2  # the refund, and its money
    assert f"By {actor}" not in text


def test_a_rare_filter_reads_the_journal_in_bounded_pages(owner: Owner) -> None:
    """The only entry that fits is older than two pages of entries that do not."""
    shop = owner.shop
    shop.service.execute(
        "INSERT INTO journal (time, actor_kind, actor_name, action, object_type, object_id, "
        "merchant_id, mode) SELECT now() - make_interval(secs => n), 'person', 'a@b.mv', "
        "CASE n WHEN $2::int THEN 'rare.action' ELSE 'usual.action' END, 'thing', n::text, $1, "
        "'sandbox' FROM generate_series(1, $2::int) n",
        shop.id,
        2 * MOST_READ + 10,
    )
    found = list[bool]()
    with client_of(owner) as client:
        path = "/journal?action=rare.action"
        while path:
            page = client.get(path).text
            table = page.partition("<tbody>")[2]
            found.append("Rare: action" in table)
            link = re.search(r'href="([^"]+)" rel="next">Search older entries', page)
            assert "No entries." not in page
            path = f"{shop.service.origin}{link[1].replace('&amp;', '&')}" if link else ""
        assert found == [False, False, True]
        file = client.get("/journal.csv?action=rare.action").text
        # An object has an index.
        assert "Rare: action" in client.get(f"/journal?object={2 * MOST_READ + 10}").text
        # A page without a filter is as before.
        assert 'rel="next">Older' in client.get("/journal").text
        assert "No entries." in client.get("/journal?last=2020-01-01&action=rare.action").text
    assert file.count("rare.action") == 1


def test_another_merchants_entries_are_not_shown(owner: Owner, service: Service) -> None:
    other = new_owner(service)

    async def change(connection: asyncpg.Connection) -> None:
        secret = Actor("person", "hidden@other.mv")
        await shops.set_fee(connection, secret, other.shop.id, 77)

    service.database.run(change)
    with client_of(owner) as client:
        for address in ("/journal", f"/journal?object={other.shop.id}", "/journal.csv"):
            text = client.get(address).text
            assert "hidden@other.mv" not in text


def test_a_mode_shows_its_own_entries_and_those_of_both(owner: Owner) -> None:
    owner.shop.post("/sandbox/wallet", {"balance": 5}).raise_for_status()
    with client_of(owner) as sandbox, client_of(owner, "live") as live:
        assert "sandbox.set_wallet" in sandbox.get("/journal.csv").text
        text = live.get("/journal.csv").text
    assert "sandbox.set_wallet" not in text
    assert "merchant.create" in text


def test_the_timeline_names_the_person(owner: Owner) -> None:
    path = paid(owner.shop)
    with client_of(owner) as client:
        token = token_in(client.get(path).text)
        client.post(path, data={"form_token": token, "password": PASSWORD}).raise_for_status()
        page = client.get(path.removesuffix("/refund")).text
    assert f"By {owner.email}" in re.sub("<[^>]*>", "", page)


def failed(owner: Owner) -> list[tuple[int]]:
    return [
        tuple(row)
        for row in owner.shop.service.execute(
            "SELECT f.attempts FROM failed_logins f JOIN persons p ON p.id = f.whose "
            "WHERE f.kind = 'person' AND p.email = $1",
            owner.email,
        )
    ]


def test_failed_log_ins_are_counted_by_day(owner: Owner) -> None:
    service = owner.shop.service
    others = service.execute("SELECT count(*) FROM failed_logins")[0][0]
    with httpx.Client(base_url=service.origin, headers={"Sec-Fetch-Site": "same-origin"}) as client:
        for identity in (owner.email, "nobody@shop.example", owner.email):
            token = token_in(client.get("/dashboard/login").text)
            fields = {"form_token": token, "identity": identity, "password": "wrong"}
            assert client.post("/dashboard/login", data=fields).status_code == 422
    deadline = time.monotonic() + 20
    while failed(owner) != [(2,)] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert failed(owner) == [(2,)]
    assert service.execute("SELECT count(*) FROM failed_logins")[0][0] == others + 1
    with client_of(owner) as client:
        page = client.get("/journal").text
    assert "Failed log-ins" in page
    assert owner.email in page


@pytest.mark.journey
@both_sizes
async def test_the_page_in_a_browser(visitors: Visitors, owner: Owner, size: str) -> None:
    def update() -> Any:
        return owner.shop.service.database.run(
            lambda connection: shops.update(
                connection, OPERATOR, owner.shop.id, webhook_url="https://shop.mv/hook"
            )
        )

    await asyncio.to_thread(update)
    page = await owner.open(visitors, "/live/journal", size)
    await page.get_by_label("Action").select_option("merchant.update")
    await page.get_by_role("button", name="Show").click()
    assert await page.locator("tbody tr").count() == 1
    assert "https://shop.mv/hook" in await page.locator("tbody").inner_text()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
