"""The people page of owners, and the link of an invitation."""

import asyncio
import re
import secrets

import httpx
import pytest
from playwright.async_api import expect

from laari.edge.pages.devices import device_of
from laari.rules.people.persons import NewLogin
from laari.store.postgres.pool import connection_to
from laari.store.secrets import derive
from tests import people
from tests.actors import OPERATOR, change
from tests.pages.forms import token_in
from tests.pages.owners import PASSWORD, Owner, new_owner
from tests.pages.people import Visitors, both_sizes, serious_violations, sideways_scroll
from tests.pages.test_permissions import logged_in, member
from tests.serving import Service

NEW_PASSWORD = "three grey herons"


def digest_of(service: Service, link: str) -> bytes:
    """The stored form of an invitation's link."""
    return derive(service.master_key, "invitation", link.rpartition("/")[2])


@pytest.fixture
def owner(service: Service) -> Owner:
    return new_owner(service, name="Seagull Café")


def new_email() -> str:
    return f"{secrets.token_hex(4)}@new.example"


@pytest.fixture
async def client(service: Service, owner: Owner) -> httpx.Client:
    client = await logged_in(service, owner.email)
    client.base_url = owner.url("/live")
    return client


def send(client: httpx.Client, path: str, page: str = "/people", **fields: str) -> httpx.Response:
    return client.post(path, data={"form_token": token_in(client.get(page).text), **fields})


def invited(client: httpx.Client, email: str, **fields: str) -> str:
    """The address of the link, without an email transport."""
    answer = send(client, "/people", email=email, **{"role": "manager", **fields})
    assert answer.status_code == 200, answer.text
    found = re.search(r'id="link"[^>]* value="([^"]+)"', answer.text)
    assert found is not None
    assert found[1] not in client.get("/people").text  # once
    return found[1]


def members(service: Service, owner: Owner) -> dict[str, str]:
    rows = service.execute(
        "SELECT email, role FROM memberships b JOIN persons p ON p.id = b.person_id "
        "WHERE merchant_id = $1",
        owner.shop.id,
    )
    return {row["email"]: row["role"] for row in rows}


def person_path(client: httpx.Client, email: str) -> str:
    found = re.search(
        rf'(/people/per_\w+)"[^>]*>(?:<bdi[^>]*>)?{email}', client.get("/people").text
    )
    assert found is not None
    return found[1]


@both_sizes
async def test_an_owner_invites_and_a_new_person_joins(
    visitors: Visitors, service: Service, owner: Owner, size: str
) -> None:
    page = await owner.open(visitors, "/live/people", size)
    email = new_email()
    await page.get_by_label("Email address").fill(email)
    await page.get_by_role("radio", name="Cashier").check()
    await page.get_by_label("Till, for").fill("Till 1")
    await page.get_by_role("button", name="Invite").click()
    await expect(page.get_by_role("status")).to_contain_text(email)
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    link = await page.get_by_label("Invitation link").input_value()
    person = await visitors.page(size)
    await person.goto(link)
    await expect(person.get_by_role("heading", level=1)).to_have_text("Seagull Café invites you")
    assert await serious_violations(person) == []
    await person.get_by_label("Password, at least").fill(NEW_PASSWORD)
    await person.get_by_label("The same password again").fill(NEW_PASSWORD)
    await person.get_by_role("button", name="Accept").click()
    await expect(person.get_by_role("heading", level=1)).to_have_text("Overview")
    await expect(person.get_by_text("cashier at till")).to_be_visible()
    assert await person.get_by_role("link", name="People").count() == 0
    await page.goto(owner.url("/live/people"))
    await page.get_by_role("link", name=email).click()
    await expect(page.get_by_text("on Linux")).to_be_visible()
    assert await serious_violations(page) == []
    assert await sideways_scroll(page) <= 0
    await page.get_by_text("Remove this person").click()
    await page.get_by_role("button", name="Yes, remove").click()
    await expect(page.get_by_role("status")).to_contain_text("removed")
    await person.reload()
    await expect(person.get_by_role("heading", level=1)).to_have_text("Log in to the dashboard")


async def test_a_known_person_logs_in_and_accepts(service: Service, client: httpx.Client) -> None:
    known = new_owner(service, name="Heron Hotel")
    link = invited(client, known.email)
    page = httpx.get(link)
    assert "Log in with your password" in page.text
    assert 'name="new"' not in page.text
    # A form that sets a password is not accepted for a person who has one.
    stranger = httpx.Client(headers={"Sec-Fetch-Site": "same-origin"})
    login = re.search(r'href="(/dashboard/login\?next=[^"]+)"', stranger.get(link).text)
    assert login is not None
    login_page = stranger.get(service.origin + login[1])
    token = token_in(login_page.text)
    form = {"form_token": token, "new": NEW_PASSWORD, "repeated": NEW_PASSWORD}
    assert stranger.post(link, data=form).headers["location"] == link.removeprefix(service.origin)
    wanted = re.search(r'name="next" value="([^"]+)"', login_page.text)
    assert wanted is not None
    credentials = {"identity": known.email, "password": PASSWORD, "next": wanted[1]}
    answer = stranger.post(
        f"{service.origin}/dashboard/login", data={"form_token": token, **credentials}
    )
    assert answer.headers["location"] == link.removeprefix(service.origin)
    accepted = stranger.post(link, data={"form_token": token_in(stranger.get(link).text)})
    home = accepted.headers["location"]
    assert accepted.status_code == 303
    assert stranger.get(service.origin + home).status_code == 200
    assert httpx.get(link).status_code == 404


async def test_an_invitation_of_another_person_is_not_accepted(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    other = new_owner(service)
    stranger = await logged_in(service, other.email)
    link = invited(client, new_email())
    page = stranger.get(link)
    assert "for another person" in page.text
    answer = stranger.post(link, data={"form_token": token_in(page.text)})
    assert answer.status_code == 303
    assert members(service, owner) == {owner.email: "owner"}
    assert httpx.get(link).status_code == 200


async def test_a_link_that_is_not_valid_has_one_page(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    emails = [new_email() for _ in range(3)]
    used, expired, withdrawn = (invited(client, email) for email in emails)
    new = httpx.Client(headers={"Sec-Fetch-Site": "same-origin"})
    fields = {"new": NEW_PASSWORD, "repeated": NEW_PASSWORD}
    token = token_in(new.get(used).text)
    for wrong in ({"new": "short", "repeated": "short"}, {**fields, "repeated": "another one"}):
        assert new.post(used, data={"form_token": token, **wrong}).status_code == 422
    assert new.post(used, data={"form_token": token, **fields}).status_code == 303
    async with connection_to(service.dsn) as connection:
        await change(
            connection,
            "UPDATE invitations SET created_at = now() - interval '25 hours', expires_at = now() "
            "WHERE email = $1",
            emails[1],
        )
    assert send(client, "/people/withdraw", email=emails[2]).status_code == 303
    for link in (used, expired, withdrawn, used[:-1] + "x", f"{service.origin}/dashboard/join/x"):
        for answer in (
            httpx.get(link),
            new.post(link, data={"form_token": token_in(client.get("/people").text)}),
        ):
            assert answer.status_code in (403, 404)
        assert "This invitation is not valid" in httpx.get(link).text
    assert len(members(service, owner)) == 2


def test_the_last_person_of_a_shop_stays(owner: Owner, client: httpx.Client) -> None:
    own = person_path(client, owner.email)
    refused = send(client, f"{own}/remove", page=own)
    assert (refused.status_code, "only owner" in refused.text) == (409, True)


def test_an_invitation_that_is_not_there_is_not_withdrawn(client: httpx.Client) -> None:
    refused = send(client, "/people/withdraw", email="nobody@shop.mv")
    assert (refused.status_code, "no open invitation" in refused.text) == (409, True)


async def test_roles_change_and_an_owner_stays(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    email = await member(service, owner.shop.id, "accountant")
    other, own = person_path(client, email), person_path(client, owner.email)
    page = {"page": other}
    assert send(client, f"{other}/role", **page, role="cashier").status_code == 400
    assert send(client, f"{other}/role", **page, role="admin").status_code == 422
    assert send(client, f"{other}/role", **page, role="cashier", till="1").status_code == 303
    assert members(service, owner)[email] == "cashier"
    for form in ("role", "remove"):
        refused = send(client, f"{own}/{form}", page=own, role="manager")
        assert (refused.status_code, "only owner" in refused.text) == (409, True)
    # Ownership asks for the password each time, and the giver can no longer open the page.
    assert send(client, f"{other}/transfer", **page).status_code == 422
    given = send(client, f"{other}/transfer", **page, password=PASSWORD)
    assert given.headers["location"] == "/dashboard"
    assert members(service, owner) == {owner.email: "manager", email: "owner"}
    assert client.get("/people").status_code == 403


async def test_two_owners_who_demote_each_other_at_once(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    second = await member(service, owner.shop.id, "owner")
    other = await logged_in(service, second)
    other.base_url = client.base_url
    forms = [(client, person_path(client, second)), (other, person_path(client, owner.email))]
    tokens = [token_in(each.get(path).text) for each, path in forms]

    def demote(each: httpx.Client, path: str, token: str) -> httpx.Response:
        return each.post(f"{path}/role", data={"form_token": token, "role": "manager"})

    answers = await asyncio.gather(
        *(
            asyncio.to_thread(demote, *form, token)
            for form, token in zip(forms, tokens, strict=True)
        )
    )
    assert {answer.status_code for answer in answers} <= {303, 403}
    assert sorted(members(service, owner).values()) == ["manager", "owner"]
    entries = service.execute(
        "SELECT FROM journal WHERE merchant_id = $1 AND action = 'membership.set_role'",
        owner.shop.id,
    )
    assert len(entries) == 1


async def test_sessions_are_shown_and_ended(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    email = await member(service, owner.shop.id, "manager")
    theirs = await logged_in(service, email)
    path = person_path(client, email)
    assert "Not logged in here" in client.get(path).text
    assert theirs.get(f"/{owner.shop.id}/live").status_code == 200
    assert "Not logged in here" not in client.get(path).text
    assert send(client, f"{path}/sessions", page=path).status_code == 303
    assert theirs.get(f"/{owner.shop.id}/live").status_code == 303


async def test_an_owner_ends_the_sessions_at_the_own_merchant_only(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    other = new_owner(service, name="Heron Hotel")
    async with connection_to(service.dsn) as connection:
        login = NewLogin("unused")
        await people.add(connection, OPERATOR, owner.shop.id, other.email, "manager", None, login)
    theirs, again = await logged_in(service, other.email), await logged_in(service, other.email)
    here, there = f"/{owner.shop.id}/live", f"/{other.shop.id}/live"
    assert theirs.get(here).status_code == 200
    assert theirs.get(there).status_code == 200  # the last visit is at the other merchant
    path = person_path(client, other.email)
    ended = send(client, f"{path}/sessions", page=path)
    assert ended.headers["location"].endswith("done=sessions")
    for page in (here, f"{here}/account", f"{here}/payments/export.csv"):
        answer = theirs.get(page)
        assert answer.status_code == 303, page
        assert answer.headers["location"].startswith("/dashboard/login?next="), page
    assert again.get(here).status_code == 303  # it had never opened a page
    # A form that was open before does nothing.
    form = {"form_token": token_in(theirs.get(there).text), "amount": "1", "reference": "late"}
    late = theirs.post(f"{here}/payments/new", data=form)
    assert late.headers["location"].startswith("/dashboard/login?next=")
    assert service.execute("SELECT FROM payments WHERE reference = 'late'") == []
    assert theirs.get(there).status_code == 200
    assert again.get(there).status_code == 200
    assert "Not logged in here" in client.get(path).text
    [entry] = service.execute(
        "SELECT after FROM journal WHERE action = 'sessions.end' AND merchant_id = $1",
        owner.shop.id,
    )
    assert entry["after"] == '{"ended":2}'
    # A log-in opens the pages again, with the session that replaces the old one.
    login = theirs.get(f"/login?next=/dashboard{here}")
    form = {"form_token": token_in(login.text), "identity": other.email, "password": PASSWORD}
    theirs.cookies = theirs.post("/login", data=form).cookies
    assert theirs.get(here).status_code == 200
    assert again.get(here).status_code == 303


async def test_people_of_other_merchants_are_not_found(
    service: Service, owner: Owner, client: httpx.Client
) -> None:
    other = new_owner(service)
    elsewhere = await logged_in(service, other.email)
    elsewhere.base_url = other.url("/live")
    theirs = person_path(elsewhere, other.email)
    assert client.get(theirs).status_code == 404
    token = token_in(client.get("/people").text)
    for form in ("role", "remove", "sessions", "transfer"):
        answer = client.post(
            f"{theirs}/{form}", data={"form_token": token, "role": "cashier", "till": "1"}
        )
        assert answer.status_code == 404
    email = new_email()
    link = invited(elsewhere, email)
    send(client, "/people/withdraw", email=email)
    assert httpx.get(link).status_code == 200
    assert members(service, other) == {other.email: "owner"}


@pytest.mark.parametrize(
    ("agent", "device"),
    [
        (
            "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
            "Firefox on Android",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/140.0.0.0 Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
            "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        ("curl/8.9.1", "curl/8.9.1"),
        ("<script>\x00" + "x" * 500, "<script>"),
        ("x" * 500, "x" * 80),
        ("", None),
    ],
)
def test_a_browser_in_a_few_words(agent: str, device: str | None) -> None:
    assert device_of(agent) == device
