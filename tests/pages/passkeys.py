"""A customer's browser without a screen, which adds passkeys and logs in with them."""

import secrets
from typing import Any
from urllib.parse import urlsplit

import httpx

from laari.rules.records.people import CustomerId
from tests.pages.forms import Forms
from tests.pages.people import Customer
from tests.passkeys import Authenticator
from tests.serving import Service


class Browser(Forms):
    """Comes from an address of its own."""

    def __init__(self, service: Service) -> None:
        number = f"{secrets.token_hex(2)}:{secrets.token_hex(2)}"
        super().__init__(**{"X-Forwarded-For": f"2001:db8:{number}::1"})
        self.origin = service.origin
        self.account = f"{service.origin}/app/password"

    def begin(self, password: str) -> httpx.Response:
        """Asks for the challenge of a new passkey."""
        fields = {"form_token": self.token(self.account), "password": password}
        return self.send(f"{self.account}/passkeys/options", fields)

    def add(
        self, phone: Authenticator, customer: Customer, name: str = "Phone", **lies: Any
    ) -> httpx.Response:
        """Adds a passkey; the customer is logged in."""
        answer = self.begin(customer.password)
        assert answer.status_code == 200, answer.text
        return self.send_new(phone.create(answer.json(), **lies), name)

    def send_new(self, fields: dict[str, str], name: str = "Phone") -> httpx.Response:
        token = {"form_token": self.token(self.account), "name": name}
        return self.send(f"{self.account}/passkeys", fields | token)

    def options(self, page: str, mode: str = "live") -> dict[str, Any]:
        """The challenge for a log-in on this page: `/app/login`, or a checkout."""
        self.token(page)
        answer = self.http.get(f"{page}/passkey", params={"mode": mode})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def send_answer(
        self, page: str, fields: dict[str, str], mode: str = "live", **more: str
    ) -> httpx.Response:
        token = {"form_token": self.token(page), "mode": mode}
        return self.send(f"{page}/passkey", fields | token | more)

    def use(self, phone: Authenticator, page: str = "", **lies: Any) -> httpx.Response:
        """Logs in with the passkey, by default to the wallet."""
        page = page or f"{self.origin}/app/login"
        phone.counter += 1
        return self.send_answer(page, phone.get(self.options(page), **lies))

    @property
    def is_in(self) -> bool:
        """Whether the wallet is open in this browser."""
        return self.http.get(f"{self.origin}/app").status_code == 200


def with_passkey(service: Service, customer: Customer) -> Authenticator:
    """An authenticator with a passkey that this customer has added on the account page."""
    browser, phone = Browser(service), Authenticator(service.origin)
    logged_in = browser.log_in(f"{service.origin}/app/login", customer.mobile, customer.password)
    assert logged_in.status_code == 303
    answer = browser.add(phone, customer)
    assert answer.headers.get("location") == "/app/password?done=passkey", answer.text
    return phone


def passkey_id(service: Service, customer: Customer) -> str:
    """As addresses have it."""
    (row,) = service.execute(
        "SELECT id FROM passkeys WHERE customer_id = $1 AND ended_at IS NULL", customer.id
    )
    return str(row["id"].hex)


def at(service: Service, url: str) -> str:
    """The same page under the name of the service."""
    return service.origin + urlsplit(url).path


def whose(customer: Customer) -> CustomerId:
    return CustomerId(customer.id)
