"""The demo is made once, and every start shows the same credentials."""

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from laari.cli.serve.demo import CUSTOMER_EMAIL, EMAIL, demo_settings, greeting, prepare
from laari.process.open import Service
from laari.rules.merchants.scopes import DEFAULT_SCOPES
from laari.rules.payments.fees import fee_for
from laari.settings import read_settings
from laari.store.audit import audit
from laari.store.merchants import merchants, oauth
from laari.store.people.passwords import password_fits
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.people import logins, wallet_keys
from tests.actors import OPERATOR, change
from tests.making import make_customer, make_merchant


async def test_a_second_start_finds_the_demo_again(dsn: str) -> None:
    service = Service(dsn, bytes(range(32)), read_settings({"LAARI_PUBLIC_URL": "http://pay.test"}))
    first, second = greeting(await prepare(service)), greeting(await prepare(service))
    assert _without_reference(first) == _without_reference(second)
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM merchants") == 1
        [secret_key] = set(re.findall(r"sk_[\w-]+", first))
        [(_, credential)] = (
            await tenants.by_secret_digest(
                connection, [merchants.key_digest(service.master_key, secret_key)]
            )
        ).items()
        assert credential.mode == "sandbox"
        assert credential.merchant_id in first
        [wallet_key] = set(re.findall(r"wk_[\w-]+", first))
        account = await connection.fetchval(
            "SELECT account FROM wallet_keys WHERE digest = $1",
            wallet_keys.key_digest(service.master_key, wallet_key),
        )
        assert account == credential.sandbox_account
        [password] = re.findall(rf"{EMAIL}  (\S+)", first)
        stored = await connection.fetchval("SELECT password_hash FROM persons")
        assert password_fits(password, stored)
        [client_id], [client_secret] = re.findall(r"cl_\w+", first), re.findall(r"cs_\w+", first)
        found = await oauth.usable_clients(connection, [client_id])
        assert found[client_id].secret_digest == oauth.client_digest(
            service.master_key, client_secret
        )
        assert found[client_id].scope == " ".join(DEFAULT_SCOPES)
        assert (await audit(connection)).ok


async def test_the_greeting_fits_a_terminal(dsn: str) -> None:
    """Of 24 lines two are for the address of the service and of its metrics."""
    origin = "http://127.0.0.1:65535"
    settings = read_settings({"LAARI_PUBLIC_URL": origin, "LAARI_SANDBOX_SIGNUP": "on"})
    demo = await prepare(Service(dsn, bytes(32), settings))
    lines = greeting(demo).split("\n")
    assert "Sign-up" in "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 20
    # The names that every guide, README and command reads.
    assert f"  export LAARI_URL={origin}" in lines
    assert f"  export LAARI_SECRET_KEY={demo['secret_key']}" in lines


def _without_reference(text: str) -> str:
    return re.sub(r"order-\d+", "", text)


def test_a_demo_switches_on_what_is_not_said_otherwise() -> None:
    private, signup = "LAARI_WEBHOOK_ALLOW_PRIVATE", "LAARI_SANDBOX_SIGNUP"
    for host in ("127.0.0.1", "::1", "localhost"):
        assert demo_settings({}, host) == {private: "on", signup: "on"}
    # Others reach it there, and could reach through it what only this machine can.
    for host in ("0.0.0.0", "::", "192.168.1.7", "shop.local"):
        assert demo_settings({}, host) == {signup: "on"}
    # Nor where it listens here for a proxy that hands on what others send.
    for elsewhere in (
        {"LAARI_PUBLIC_URL": "https://pay.example.com"},
        {"LAARI_PUBLIC_URL": "http://192.168.1.7:8000"},
        {"LAARI_PUBLIC_URL": "http://127.0.0.1.example.com"},
        {"LAARI_TRUSTED_PROXIES": "127.0.0.1"},
        {"LAARI_PUBLIC_URL": "http://localhost", "LAARI_TRUSTED_PROXIES": "::1"},
    ):
        assert demo_settings(elsewhere, "127.0.0.1") == {signup: "on"}, elsewhere
    for here in ("http://localhost:8000", "http://127.0.0.1", "http://[::1]:9", " "):
        assert demo_settings({"LAARI_PUBLIC_URL": here}, "::1") == {private: "on", signup: "on"}
    assert demo_settings({private: "off", signup: "off"}, "127.0.0.1") == {}
    assert demo_settings({private: " "}, "127.0.0.1")[private] == "on"


class Demo:
    """A running demo, and what it has told about itself."""

    def __init__(self, directory: Path, **settings: str) -> None:
        own = {name: v for name, v in os.environ.items() if not name.startswith("LAARI_")}
        self.env = {**own, **settings, "LAARI_DATA_DIR": str(directory)}
        self.log = directory.with_suffix(".log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command("serve", "--demo", "--json", "--port", "0", "--workers", "1"),
                env=self.env,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        self.facts: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.url: str = self.facts["url"]

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "laari", *arguments]

    def laari(self, *arguments: str) -> int:
        ended = subprocess.run(self._command(*arguments), env=self.env, check=False, timeout=60)
        return ended.returncode

    def listed(self, what: str) -> list[dict[str, Any]]:
        key = {"X-API-Key": self.facts["secret_key"]}
        address = f"{self.url}/merchant/{what}"
        found: list[dict[str, Any]] = httpx.get(address, headers=key, timeout=30).json()["data"]
        return found


@contextmanager
def demonstrating(directory: Path, **settings: str) -> Iterator[Demo]:
    demo = Demo(directory, **settings)
    try:
        yield demo
    finally:
        demo.process.terminate()
        assert demo.process.wait(60) == 0
        assert demo.process.stdout is not None
        assert demo.process.stdout.read() == b""  # one JSON value, and nothing else


def form(browser: httpx.Client, page: httpx.Response, action: str, **fields: str) -> httpx.Response:
    """Sends the form of the page that goes to this address."""
    found = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', page.text, re.DOTALL)
    assert found, page.text
    hidden = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', found[0])
    data = {name: html.unescape(value) for name, value in hidden} | fields
    return browser.post(
        action, data=data, headers={"Sec-Fetch-Site": "same-origin"}, follow_redirects=True
    )


@pytest.mark.ci
def test_there_is_something_to_look_at_and_to_pay(tmp_path: Path) -> None:
    with demonstrating(tmp_path / "data") as demo:
        facts = demo.facts
        for name in ("dashboard_url", "reference_url", "wallet_application_url", "signup_url"):
            assert httpx.get(facts[name], follow_redirects=True, timeout=30).is_success, name
        assert {each["status"] for each in demo.listed("payments")} >= {"paid", "pending"}
        tills = {each["terminal_label"] for each in demo.listed("payments") if "qr_url" in each}
        assert len(tills - {None}) == 2
        paid = [each for each in demo.listed("payments") if each["status"] == "paid"]
        assert all(each["fee"] == fee_for(each["amount"], 150, 0) for each in paid)
        assert "LAARI_WEBHOOK_ALLOW_PRIVATE" not in demo.log.read_text()
        assert {each["status"] for each in demo.listed("authorizations")} == {"active", "pending"}
        waiting = [each for each in demo.listed("payment-requests") if each["status"] == "pending"]
        customer = facts["customer"]
        key = {"X-API-Key": customer["api_key"]}
        usage = httpx.get(f"{demo.url}/wallet/usage", headers=key, timeout=30)
        assert usage.json()["data"]["usage"]["daily"] == 0  # limits are as if nothing had happened
        with httpx.Client(base_url=demo.url, timeout=30) as browser:
            page = browser.get("/app/login?mode=sandbox")
            who = {"identity": customer["email"], "password": customer["password"]}
            page = form(browser, page, "/app/login", **who)
            assert page.url.path == "/app"
            page = browser.get(f"/app/requests/{waiting[0]['id']}")
            page = form(browser, page, f"/app/requests/{waiting[0]['id']}/pay")
            assert page.status_code == 200, page.text
        [asked] = [
            each for each in demo.listed("payment-requests") if each["id"] == waiting[0]["id"]
        ]
        assert asked["status"] == "paid"
        hook = {"webhook_url": "http://127.0.0.1:9/hook"}
        assert httpx.post(f"{demo.url}/sandbox/merchants", json=hook, timeout=30).status_code == 201
        assert demo.laari("audit") == 0
        before = demo.listed("payments?limit=100")
        assert demo.laari("merchant", "create", "Real Shop", "--mode", "live") == 0
    with demonstrating(tmp_path / "data", LAARI_WEBHOOK_ALLOW_PRIVATE="on") as demo:
        # The operator asked for it, so it is warned of.
        assert "LAARI_WEBHOOK_ALLOW_PRIVATE is on" in demo.log.read_text()
        again = {name: value for name, value in demo.facts.items() if "url" not in name}
        assert again == {name: value for name, value in facts.items() if "url" not in name}
        assert [e["id"] for e in demo.listed("payments?limit=100")] == [e["id"] for e in before]
        # A merchant is live now, and strangers may still try the sandbox.
        assert httpx.post(f"{demo.url}/sandbox/merchants", timeout=30).status_code == 201


async def test_only_a_demos_sandbox_customer_logs_in(dsn: str) -> None:
    service = Service(dsn, bytes(range(32)), read_settings({"LAARI_PUBLIC_URL": "http://pay.test"}))
    demo = await prepare(service)
    async with connection_to(dsn) as connection:
        other = await make_merchant(connection, OPERATOR, bytes(32), name="Shop", mode="sandbox")
        await change(connection, "UPDATE customers SET email = 'customer@laari.test'")
        who = {"mobile": None, "email": CUSTOMER_EMAIL, "vpa": None}
        login = await logins.of_customer(connection, "sandbox", **who)
        assert login is not None
        account = await connection.fetchval(
            "SELECT account FROM wallets WHERE customer_id = $1", login.whose.id
        )
        assert account != other.sandbox_account
        assert demo["customer"]["account_number"] == str(account)
        # A person of that address is meant first.
        person = await make_customer(
            connection,
            OPERATOR,
            name="A",
            mode="sandbox",
            tier="basic",
            email=CUSTOMER_EMAIL,
            password="x",
        )
        found = await logins.of_customer(connection, "sandbox", **who)
        assert found is not None
        assert found.whose.id == person.id
