"""The sandbox that `laari serve --demo` starts with."""

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from laari.process.open import Service
from laari.rules.records import Tenant
from laari.rules.scopes import SCOPES
from laari.store.people import customers, merchants
from laari.store.people.oauth import SECRET_PREFIX, create_client, list_clients
from laari.store.people.wallet_keys import sandbox_wallet_key
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.secrets import derive
from laari.visible import visible

NAME = "Demo Shop"
FEE_BPS = 150  # 1.5 %, so that gross and net differ
EMAIL = "demo@laari.test"  # its login is how the demo of an earlier start is found again
CUSTOMER_EMAIL = "customer@laari.test"  # of the sandbox customer, for the wallet application
_DOCUMENTS = ("Guides", "Reference")


@dataclass(frozen=True)
class Demo:
    """The demo merchant and its customer, with their credentials."""

    origin: str
    tenant: Tenant
    secret_key: str
    client_id: str
    client_secret: str
    password: str
    wallet_key: str
    customer_password: str
    signup: bool

    @property
    def addresses(self) -> dict[str, str]:
        found = {
            "Dashboard": f"{self.origin}/dashboard",
            "Wallet application": f"{self.origin}/app/login?mode=sandbox",
            "Guides": f"{self.origin}/docs/guides",
            "Reference": f"{self.origin}/docs",
        }
        return found | ({"Sign-up": f"{self.origin}/dashboard/signup"} if self.signup else {})

    def facts(self) -> dict[str, Any]:
        """For programs."""
        return {
            **{f"{_name(what)}_url": url for what, url in self.addresses.items()},
            "merchant_id": self.tenant.merchant_id,
            "name": self.tenant.merchant_name,
            "mode": self.tenant.mode,
            "secret_key": self.secret_key,
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "email": EMAIL,
            "password": self.password,
            "customer": {
                "account_number": str(self.tenant.sandbox_account),
                "api_key": self.wallet_key,
                "email": CUSTOMER_EMAIL,
                "password": self.customer_password,
            },
        }


def _name(words: str) -> str:
    return words.lower().replace(" ", "_").replace("-", "")


def demo_settings(environ: Mapping[str, str], host: str) -> dict[str, str]:
    """What a demo switches on, unless the environment says otherwise.

    Webhooks to this machine only where nobody else reaches the service: whoever can set their
    address could otherwise reach what is on it.
    """
    wanted = {"LAARI_SANDBOX_SIGNUP": "on"}
    if _is_for_this_machine(environ, host):
        wanted["LAARI_WEBHOOK_ALLOW_PRIVATE"] = "on"
    return {name: value for name, value in wanted.items() if not environ.get(name, "").strip()}


def _is_for_this_machine(environ: Mapping[str, str], host: str) -> bool:
    """Not where it listens on loopback for a proxy in front of it."""
    public_url = environ.get("LAARI_PUBLIC_URL", "").strip()
    hosts = [host, urlsplit(public_url).hostname or ""] if public_url else [host]
    return all(map(_is_loopback, hosts)) and not environ.get("LAARI_TRUSTED_PROXIES", "").strip()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def prepare(service: Service) -> Demo:
    """Makes the demo merchant where there is none yet."""
    # Derived and not drawn, so that a later start can show them again.
    password = _text(derive(service.master_key, "demo-password", EMAIL))[:20]
    customer_password = _text(derive(service.master_key, "demo-password", CUSTOMER_EMAIL))[:20]
    async with connection_to(service.dsn) as connection:
        found = await merchants.of_login(connection, EMAIL)
        if found is None:
            new = await merchants.create(
                connection,
                service.master_key,
                name=NAME,
                mode="sandbox",
                fee_bps=FEE_BPS,
                email=EMAIL,
                password=password,
            )
            found = new.merchant
        secret_key = await merchants.secret_key_of(connection, service.master_key, found.id)
        tenant = await tenants.of_merchant(connection, found.id, "sandbox")
        await customers.let_log_in(
            connection, tenant.sandbox_account, CUSTOMER_EMAIL, customer_password
        )
        # Derived like the passwords.
        client_secret = SECRET_PREFIX + _text(
            derive(service.master_key, "demo-client-secret", found.id)
        )
        clients = await list_clients(connection, found.id)
        client = clients[0] if clients else None
        if client is None:
            client, _ = await create_client(connection, found.id, " ".join(SCOPES), client_secret)
    return Demo(
        origin=service.settings.public_url,
        tenant=tenant,
        secret_key=secret_key,
        client_id=client.id,
        client_secret=client_secret,
        password=password,
        wallet_key=sandbox_wallet_key(service.master_key, tenant.sandbox_account),
        customer_password=customer_password,
        signup=service.settings.sandbox_signup,
    )


def _text(key: bytes) -> str:
    return base64.b32encode(key).decode().lower().rstrip("=")


def greeting(demo: Demo) -> str:
    """For people: with what else is said at the start it fits a terminal of 80 by 24."""
    order = int(time.time())  # another reference at every start: an old one would be a retry
    facts = {
        "Merchant id": demo.tenant.merchant_id,
        "Secret key": demo.secret_key,
        "OAuth client": demo.client_id,
        "OAuth secret": demo.client_secret,
        "Dashboard login": f"{EMAIL}  {demo.password}",
        "Sandbox customer": f"account {demo.tenant.sandbox_account}",
        "Its wallet API key": demo.wallet_key,
        "Its login": f"{CUSTOMER_EMAIL}  {demo.customer_password}",
    }
    guides = {"Guides and reference": f"{demo.origin}/docs/guides, /docs"}
    pages = {name: url for name, url in demo.addresses.items() if name not in _DOCUMENTS}
    return f"""{visible(demo.tenant.merchant_name)} is ready, in sandbox mode.
{_listed(facts | pages | guides)}

Create a payment, and pay it at the `payment_url` of the answer:
  export LAARI_URL={demo.origin}
  export LAARI_SECRET_KEY={demo.secret_key}
  curl -sS $LAARI_URL/merchant/payments -H "X-API-Key: $LAARI_SECRET_KEY" \\
    -H 'Content-Type: application/json' \\
    -d '{{"reference": "order-{order}", "amount": 12550, "title": "Coffee"}}'"""


def _listed(facts: Mapping[str, str]) -> str:
    return "\n".join(f"  {name:<20}  {value}" for name, value in facts.items())
