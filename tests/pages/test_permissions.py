"""Roles on the pages of the dashboard: each role and page, in each mode, here and elsewhere."""

import asyncio
import re
from datetime import timedelta
from typing import Any, get_args

import httpx
import pytest

from laari.edge.pages.app import ROUTES
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.rules.people.permissions import may
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import MerchantRole
from laari.store.counters import sessions
from laari.store.people.passwords import nobodys_hash
from laari.store.postgres.pool import connection_to
from laari.store.reads.people import memberships
from tests import people
from tests.actors import OPERATOR
from tests.logins import opened
from tests.pages.forms import token_in
from tests.pages.owners import Owner, new_owner, sandbox_only
from tests.serving import Service

TILL = "Till 1"
NO_PAGE, FORBIDDEN = "This page does not exist", "Your role cannot do this"
PAGES = [route for route in ROUTES if issubclass(route.kind, DashboardRequest)]


@pytest.fixture(scope="module")
def owner(service: Service) -> Owner:
    return new_owner(service, mode="sandbox", name="Seagull Café")


async def member(service: Service, merchant_id: str, role: Any) -> str:
    """The email of a new person with this role."""
    async with connection_to(service.dsn) as connection:
        count = await connection.fetchval("SELECT count(*) FROM persons")
        email = f"{role}{count}@shop.example"
        till = TILL if role == "cashier" else None
        login = NewLogin(nobodys_hash())
        await people.add(connection, OPERATOR, merchant_id, email, role, till, login)
    return email


async def logged_in(service: Service, email: str) -> httpx.Client:
    async with connection_to(service.dsn) as connection:
        token = await opened(connection, email, master=service.master_key)
    return httpx.Client(
        base_url=f"{service.origin}/dashboard",
        cookies={"laari-dashboard": token},
        headers={"Sec-Fetch-Site": "same-origin"},
        timeout=30,
    )


ROUTES_OF_ONE = 40  # a person may open 100 pages at once


def address(path: str, merchant_id: str, mode: str) -> str:
    """With ids that nobody has, so that an allowed form changes nothing."""
    rest = path.replace("{merchant}", merchant_id).replace("{mode}", mode)
    return re.sub(r"\{\w+\}", "none", rest).removeprefix("/dashboard")


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["live", "sandbox"])
@pytest.mark.parametrize("role", get_args(MerchantRole))
async def test_the_whole_table(service: Service, owner: Owner, role: Any, mode: str) -> None:
    """Without a fresh password and with ids of nothing: forms are allowed, but do nothing."""
    foreign = new_owner(service, name="Heron Hotel")
    routes = [route for route in PAGES if not route.path.startswith("/dashboard/signup")]
    for place, is_own in ((owner.shop.id, True), (foreign.shop.id, False)):
        for number, route in enumerate(routes):
            if number % ROUTES_OF_ONE == 0:  # nobody opens so many pages at once
                client = await logged_in(service, await member(service, owner.shop.id, role))
                token = token_in(client.get(f"/{owner.shop.id}/live/account").text)
            path = address(route.path, place, mode)
            answers = {"GET": client.get(path)}
            if route.post is not None and not path.endswith(("everywhere", "/clock", "/wallet")):
                answers["POST"] = client.post(path, data={"form_token": token})
            for method, answer in answers.items():
                needed = route.access.needs if method == "GET" else route.access.to_change
                named = (method, path, role, answer.status_code)
                if not is_own:
                    assert answer.status_code == 404, named
                    assert NO_PAGE in answer.text, named
                    assert "Heron" not in answer.text, named
                elif needed is None or may(role, needed):
                    assert answer.status_code not in (403, 429, 500, 503), named
                    assert FORBIDDEN not in answer.text, named
                    assert NO_PAGE not in answer.text, named
                else:
                    assert answer.status_code == 403, named
                    assert FORBIDDEN in answer.text, named


def _paths(html: str) -> set[str]:
    return set(re.findall(r'(?:href|action)="(/dashboard/mer_[^"?]*)', html))


@pytest.mark.parametrize("role", get_args(MerchantRole))
async def test_no_page_offers_what_the_role_cannot_use(service: Service, role: Any) -> None:
    shop = sandbox_only(new_owner(service)).shop
    paid, pending = (shop.payment(terminal_label=TILL) for _ in range(2))
    shop.control(f"payments/{paid['id']}/pay")
    asked = shop.request(terminal_label=TILL)
    client = await logged_in(service, await member(service, shop.id, role))
    sections = ["", "/payments", "/requests", "/authorizations", "/webhooks", "/keys"]
    pages = [*sections, *(f"/payments/{each['id']}" for each in (paid, pending))]
    offered: set[str] = set()
    for path in [*pages, f"/requests/{asked['id']}", "/payments?q=none"]:
        answer = client.get(f"/{shop.id}/sandbox{path}")
        if answer.status_code == 200:
            offered |= _paths(answer.text)
    offered -= {path for path in offered if path.endswith((".csv", "/status"))}
    assert len(offered) > 8
    for path in offered:
        answer = client.get(path.removeprefix("/dashboard"))
        assert answer.status_code in (200, 303), (role, path, answer.status_code)


async def test_a_cashier_sees_and_makes_the_payments_of_one_till(
    service: Service,
) -> None:
    shop = sandbox_only(new_owner(service)).shop
    own = shop.payment(reference="mine-1", terminal_label=TILL, bill_number="bill 1")
    other = shop.payment(reference="mine-2", terminal_label="Till 2", bill_number="bill 2")
    none = shop.payment(reference="mine-3", bill_number="bill 3")
    asked = shop.request(reference="mine-4", terminal_label="Till 2")
    for payment in (own, other, none):
        shop.control(f"payments/{payment['id']}/pay")
    client = await logged_in(service, await member(service, shop.id, "cashier"))

    def page(path: str) -> httpx.Response:
        return client.get(f"/{shop.id}/sandbox{path}")

    lists = ("", "/payments", "/payments?terminal_label=Till+2", "/payments?q=mine")
    for path in (*lists, "/payments?q=bill", "/requests", "/requests?terminal_label=Till+2"):
        text = page(path).text
        assert ("mine-1" in text) == (path not in ("/requests", "/requests?terminal_label=Till+2"))
        assert not {"mine-2", "mine-3", "mine-4"} & set(re.findall(r"mine-\d", text)), path
    assert "125.00" in page("").text  # the figures are those of the till
    assert "375.00" not in page("").text
    assert page(f"/payments/{own['id']}").status_code == 200
    for path in (
        *(f"/payments/{each['id']}{rest}" for each in (other, none) for rest in ("", "/cancel")),
        f"/requests/{asked['id']}",
        f"/requests/{asked['id']}/cancel",
        f"/payments?q={other['id']}",
    ):
        answer = page(path)
        if answer.status_code == 303:
            answer = client.get(answer.headers["location"].removeprefix("/dashboard"))
        assert answer.status_code == 404, path
    status = page(f"/payments/{other['id']}/status")
    assert status.json() == {"status": "not_found"}
    token = token_in(page("/account").text)
    form = {"form_token": token, "amount": "5", "reference": "made", "terminal_label": "Till 2"}
    made = client.post(f"/{shop.id}/sandbox/payments/new", data=form)
    assert made.status_code == 303
    [row] = service.execute("SELECT terminal_label FROM payments WHERE reference = 'made'")
    assert row["terminal_label"] == TILL
    pending = shop.payment(terminal_label="Till 2")
    for path in (f"payments/{pending['id']}", f"requests/{asked['id']}"):
        answer = client.post(f"/{shop.id}/sandbox/{path}/cancel", data={"form_token": token})
        assert answer.status_code == 404
    assert shop.get(f"/payments/{pending['id']}").json()["data"]["status"] == "pending"


async def test_only_readers_of_webhooks_see_events_and_deliveries(service: Service) -> None:
    shop = sandbox_only(new_owner(service)).shop
    payment = shop.payment(terminal_label=TILL)
    shop.control(f"payments/{payment['id']}/pay")
    asked = shop.request(terminal_label=TILL)
    service.execute(
        "INSERT INTO delivery_attempts (event_id, lease, started_at, duration_ms, url, error) "
        "SELECT id, -1, now(), 7, 'https://secret-hook.example/token', 'no route to host' "
        "FROM events WHERE object_id = $1::uuid",
        payment["id"].partition("_")[2],
    )
    shown = {
        "payment": f"/{shop.id}/sandbox/payments/{payment['id']}",
        "request": f"/{shop.id}/sandbox/requests/{asked['id']}",
    }
    for role in get_args(MerchantRole):
        client = await logged_in(service, await member(service, shop.id, role))
        pages = {name: client.get(path) for name, path in shown.items()}
        assert {page.status_code for page in pages.values()} == {200}
        sees = may(role, "webhooks.read")
        assert ("secret-hook.example" in pages["payment"].text) == sees, role
        assert ("no route to host" in pages["payment"].text) == sees, role
        assert ("payment.paid" in pages["payment"].text) == sees, role
        assert ("payment_request.created" in pages["request"].text) == sees, role


async def test_a_new_role_counts_with_the_next_request(service: Service, owner: Owner) -> None:
    email = await member(service, owner.shop.id, "manager")
    client = await logged_in(service, email)
    keys = f"/{owner.shop.id}/live/keys"
    assert client.get(keys).status_code == 200
    async with connection_to(service.dsn) as connection:
        found = await memberships.find_member(connection, owner.shop.id, email)
        change = (connection, OPERATOR, owner.shop.id, found.person_id)
        await people.set_role(*change, "accountant")
        assert client.get(keys).status_code == 403
        await people.remove(*change)
    assert client.get(keys).headers["location"].startswith("/dashboard/login")


async def test_a_removed_person_with_another_merchant_is_a_stranger_at_once(
    service: Service, owner: Owner
) -> None:
    other = new_owner(service, name="Heron Hotel")
    async with connection_to(service.dsn) as connection:
        login = NewLogin(nobodys_hash())
        place = (owner.shop.id, other.email, "manager", None)
        await people.add(connection, OPERATOR, *place, login)
        client = await logged_in(service, other.email)
        page = client.get(f"/{owner.shop.id}/live")
        assert (page.status_code, "/merchants" in page.text) == (200, True)
        found = await memberships.find_member(connection, owner.shop.id, other.email)
        await people.remove(connection, OPERATOR, owner.shop.id, found.person_id)
    assert client.get(f"/{owner.shop.id}/live").status_code == 404
    page = client.get(f"/{other.shop.id}/live")
    assert (page.status_code, "/merchants" in page.text) == (200, False)


@pytest.mark.parametrize("way", ["removed", "sessions ended", "logged out"])
async def test_an_export_ends_with_the_access(service: Service, owner: Owner, way: str) -> None:
    service.execute(
        "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, title, metadata, "
        "created_at, expires_at, status) SELECT gen_random_uuid(), t.id, 'hosted', "
        "gen_random_uuid()::text, 'row ' || n, n, repeat('t', 250), '{}', now(), now(), 'expired' "
        "FROM generate_series(1, 20000) n, tenants t WHERE merchant_id = $1 AND mode = 'live'",
        owner.shop.id,
    )
    email = await member(service, owner.shop.id, "accountant")
    client = await logged_in(service, email)
    rows = 0

    def read() -> None:
        nonlocal rows
        with client.stream("GET", f"/{owner.shop.id}/live/payments/export.csv") as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                rows += "row " in line
                if rows == 50:
                    removed.set_result(None)
                    gone.result()

    from concurrent.futures import Future

    removed: Future[None] = Future()
    gone: Future[None] = Future()
    reading = asyncio.create_task(asyncio.to_thread(read))
    await asyncio.wrap_future(removed)
    async with connection_to(service.dsn) as connection:
        found = await memberships.find_member(connection, owner.shop.id, email)
        change = (connection, OPERATOR, owner.shop.id, found.person_id)
        if way == "removed":
            await people.remove(*change)
        elif way == "sessions ended":
            await people.end_sessions(*change)
        else:
            await sessions.end_all(connection, found.person_id)
    gone.set_result(None)
    with pytest.raises(httpx.RemoteProtocolError):
        await asyncio.wait_for(reading, timedelta(seconds=60).total_seconds())
    assert 50 <= rows < 20_000


async def test_old_addresses_lead_to_the_persons_merchant(service: Service, owner: Owner) -> None:
    client = await logged_in(service, owner.email)
    for path in ("/live", "/sandbox/payments", "/sandbox/payments/pay_1/refund", "/live/a/b/c"):
        for method in ("GET", "HEAD"):
            answer = client.request(method, f"{path}?q=a%20b&x=1")
            place = f"/dashboard/{owner.shop.id}{path}?q=a%20b&x=1"
            assert (answer.status_code, answer.headers["location"]) == (307, place)
    token = token_in(client.get(f"/{owner.shop.id}/live/account").text)
    payment = owner.shop.payment()
    cancelled = client.post(
        f"/sandbox/payments/{payment['id']}/cancel",
        data={"form_token": token},
        follow_redirects=True,
    )
    assert cancelled.status_code == 200
    assert owner.shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "cancelled"
    stranger = httpx.get(f"{service.origin}/dashboard/live/keys")
    assert stranger.headers["location"] == "/dashboard/login?next=%2Fdashboard%2Flive%2Fkeys"
    assert client.put("/live").status_code == 405


async def test_the_start_of_the_dashboard_is_the_merchant_of_the_last_visit(
    service: Service,
) -> None:
    first, second = new_owner(service, name="A"), new_owner(service, name="B")
    async with connection_to(service.dsn) as connection:
        login, place = NewLogin(nobodys_hash()), (second.shop.id, first.email, "manager", None)
        await people.add(connection, OPERATOR, *place, login)
    client = await logged_in(service, first.email)
    for visited in (first, second, first):
        assert client.get(f"/{visited.shop.id}/sandbox").status_code == 200
        home = client.get(f"{service.origin}/dashboard").headers["location"]
        assert home == f"/dashboard/{visited.shop.id}/sandbox"
    merchants = client.get(f"/{first.shop.id}/sandbox/merchants").text
    assert {f"/dashboard/{each.shop.id}/sandbox" for each in (first, second)} <= _paths(merchants)


async def test_a_person_of_the_operator_alone_has_no_dashboard(service: Service) -> None:
    async with connection_to(service.dsn) as connection:
        login = NewLogin(nobodys_hash())
        place = (None, "desk@laari.example", "support", None)
        await people.add(connection, OPERATOR, *place, login)
    client = await logged_in(service, "desk@laari.example")
    for path in ("", "/live/payments"):
        answer = client.get(f"{service.origin}/dashboard{path}")
        assert (answer.status_code, "You work for no merchant" in answer.text) == (403, True)
