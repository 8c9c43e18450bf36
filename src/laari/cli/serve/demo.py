"""The demo merchant of `laari serve --demo`."""

import base64
import os
import time
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from laari.cli.terminal.operation import submit
from laari.process.open import Service
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.merchants.keys import SECRET_PREFIX, CreateClient
from laari.rules.merchants.new_merchants import CreateMerchant, MerchantDraft, NewOwner
from laari.rules.merchants.scopes import DEFAULT_SCOPES
from laari.rules.people.customers import LetLogIn
from laari.rules.people.persons import NewLogin
from laari.store.merchants import merchants
from laari.store.merchants.oauth import list_clients
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from laari.store.reads import holders, tenants
from laari.store.reads.people.wallet_keys import sandbox_wallet_key
from laari.store.secrets import derive
from laari.visible import visible

Demo: TypeAlias = dict[str, Any]  # as JSON shows it

NAME = "Demo Shop"
FEE_BPS = 150  # 1.5 %, so that gross and net differ
ACTOR = Actor("service", "demo", "admin")
EMAIL = "demo@laari.test"  # a later start finds the demo by this login
CUSTOMER_EMAIL = "customer@laari.test"  # of the sandbox customer, for the wallet application


def demo_settings(environ: Mapping[str, str], host: str) -> dict[str, str]:
    """Returns the settings that a demo switches on, if the environment does not set them.

    Only a service that no other machine reaches may send webhooks to private addresses.
    """
    wanted = {"LAARI_SANDBOX_SIGNUP": "on"}
    if _is_for_this_machine(environ, host):
        wanted["LAARI_WEBHOOK_ALLOW_PRIVATE"] = "on"
    return {name: value for name, value in wanted.items() if not environ.get(name, "").strip()}


def _is_for_this_machine(environ: Mapping[str, str], host: str) -> bool:
    """Returns False also for a service on loopback with a proxy in front of it."""
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
    """Creates the demo merchant if there is none; returns its addresses and credentials."""
    # Secrets are derived, so that a later start can show them again.
    password = _text(derive(service.master_key, "demo-password", EMAIL))[:20]
    customer_password = _text(derive(service.master_key, "demo-password", CUSTOMER_EMAIL))[:20]
    async with connection_to(service.dsn) as connection:
        found = await merchants.of_owner(connection, EMAIL)
    if found is None:
        owner = NewOwner(EMAIL, NewLogin(hash_password(password)))
        draft = MerchantDraft(NAME, "sandbox", FEE_BPS)
        merchant_id = ids.new_merchant_id(os.urandom)
        await submit(service, CreateMerchant(ACTOR, merchant_id, draft, owner))
    else:
        merchant_id = found.id
    async with connection_to(service.dsn) as connection:
        secret_key = await merchants.secret_key_of(connection, service.master_key, merchant_id)
        tenant = await tenants.of_merchant(connection, merchant_id, "sandbox")
        customer = await holders.by_account(connection, tenant.sandbox_account)
        assert customer is not None  # every merchant has one
        client_secret = SECRET_PREFIX + _text(
            derive(service.master_key, "demo-client-secret", merchant_id)
        )
        clients = [each.id for each in await list_clients(connection, merchant_id)]
    log_in = LetLogIn(ACTOR, customer.customer_id, CUSTOMER_EMAIL, hash_password(customer_password))
    await submit(service, log_in)
    if not clients:
        scope = " ".join(DEFAULT_SCOPES)
        made = await submit(service, CreateClient(ACTOR, merchant_id, scope, secret=client_secret))
        clients = [made.client.id]
    origin = service.settings.public_url
    signup = service.settings.sandbox_signup
    return {
        "dashboard_url": f"{origin}/dashboard",
        "wallet_application_url": f"{origin}/app/login?mode=sandbox",
        "guides_url": f"{origin}/docs/guides",
        "reference_url": f"{origin}/docs",
        **({"signup_url": f"{origin}/dashboard/signup"} if signup else {}),
        "merchant_id": tenant.merchant_id,
        "name": tenant.merchant_name,
        "mode": tenant.mode,
        "secret_key": secret_key,
        "client_id": clients[0],
        "client_secret": client_secret,
        "email": EMAIL,
        "password": password,
        "customer": {
            "account_number": str(tenant.sandbox_account),
            "api_key": sandbox_wallet_key(service.master_key, tenant.sandbox_account),
            "email": CUSTOMER_EMAIL,
            "password": customer_password,
        },
    }


def _text(key: bytes) -> str:
    return base64.b32encode(key).decode().lower().rstrip("=")


def greeting(demo: Demo) -> str:
    """The text for people; `laari serve` fits it and its own lines into 80 by 24 characters."""
    order = int(time.time())  # a used reference would be a retry
    origin, customer = demo["reference_url"].removesuffix("/docs"), demo["customer"]
    lines = {
        "Merchant id": demo["merchant_id"],
        "Secret key": demo["secret_key"],
        "OAuth client": demo["client_id"],
        "OAuth secret": demo["client_secret"],
        "Dashboard login": f"{EMAIL}  {demo['password']}",
        "Sandbox customer": f"account {customer['account_number']}",
        "Its wallet API key": customer["api_key"],
        "Its login": f"{CUSTOMER_EMAIL}  {customer['password']}",
        "Dashboard": demo["dashboard_url"],
        "Wallet application": demo["wallet_application_url"],
        **({"Sign-up": demo["signup_url"]} if "signup_url" in demo else {}),
        "Guides and reference": f"{demo['guides_url']}, /docs",
    }
    listed = "\n".join(f"  {name:<20}  {value}" for name, value in lines.items())
    return f"""{visible(demo["name"])} is ready, in sandbox mode.
{listed}

Create a payment, and pay it at the `payment_url` of the answer:
  export LAARI_URL={origin}
  export LAARI_SECRET_KEY={demo["secret_key"]}
  curl -sS $LAARI_URL/merchant/payments -H "X-API-Key: $LAARI_SECRET_KEY" \\
    -H 'Content-Type: application/json' \\
    -d '{{"reference": "order-{order}", "amount": 12550, "title": "Coffee"}}'"""
