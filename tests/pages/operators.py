"""People of the operator, logged in without a browser or with one."""

import re
import secrets
from typing import Any

import httpx
from playwright.async_api import Page

from laari.rules.people.persons import NewLogin
from laari.rules.records.people import OperatorRole
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests import people
from tests.actors import OPERATOR, change
from tests.logins import opened
from tests.pages.forms import token_in
from tests.pages.people import Visitors
from tests.serving import Service

PASSWORD = "correct horse"
COOKIE = "laari-operator"


async def new_operator(service: Service, role: OperatorRole) -> str:
    """The email of a new person with this role."""
    email = f"{role}-{secrets.token_hex(4)}@operator.example"
    async with connection_to(service.dsn) as connection:
        login = NewLogin(hash_password(PASSWORD))
        await people.add(connection, OPERATOR, None, email, role, None, login)
    return email


async def session_of(service: Service, email: str) -> str:
    """The token of a person who has a second factor and has entered its code."""
    async with connection_to(service.dsn) as connection:
        token = await opened(connection, email, master=service.master_key)
        await change(
            connection,
            "INSERT INTO second_factors (person_id, seed_encrypted, created_at, confirmed_at) "
            "SELECT id, '', now(), now() FROM persons WHERE email = $1 ON CONFLICT DO NOTHING",
            email,
        )
    return token


class Desk:
    """A person of the operator who sends forms without a browser."""

    def __init__(self, service: Service, token: str) -> None:
        self.http = httpx.Client(
            base_url=service.origin,
            cookies={COOKIE: token},
            headers={"Sec-Fetch-Site": "same-origin"},
            timeout=30,
        )
        self._token = ""  # of all forms of the session

    def get(self, path: str = "", **query: str) -> httpx.Response:
        return self.http.get(f"/operator{path}", params=query)

    def send(self, page: str, action: str, **fields: Any) -> httpx.Response:
        """A form of a page; an answer that leads on is followed."""
        data = {"form_token": self.token, **fields}
        return self.http.post(f"/operator{page}{action}", data=data, follow_redirects=True)

    def upload(self, path: str, files: dict[str, bytes], **fields: str) -> httpx.Response:
        """A form with files, or with long texts; an answer that leads on is followed."""
        parts: dict[str, tuple[str | None, str | bytes]] = {"form_token": (None, self.token)}
        parts |= {name: (None, text) for name, text in fields.items()}
        parts |= {name: (f"{name}.csv", content) for name, content in files.items()}
        return self.http.post(f"/operator{path}", files=parts, follow_redirects=True)

    def moved(self, page: str) -> str:
        """The person's movements so far, as a form of the page names them."""
        found = re.search(r'name="moved" value="(\d+)"', self.get(page).text)
        assert found is not None
        return found[1]

    @property
    def token(self) -> str:
        self._token = self._token or token_in(self.get("/account").text)
        return self._token


async def desk_of(service: Service, role: OperatorRole) -> Desk:
    return Desk(service, await session_of(service, await new_operator(service, role)))


async def open_desk(
    visitors: Visitors, service: Service, role: OperatorRole, path: str = "", size: str = "desktop"
) -> Page:
    """A page of the desk in a new browser that is logged in already."""
    token = await session_of(service, await new_operator(service, role))
    page = await visitors.page(size)
    await page.context.add_cookies([{"name": COOKIE, "value": token, "url": service.origin}])
    await page.goto(f"{service.origin}/operator{path}")
    return page
