"""The sandbox that `laari serve --demo` starts with."""

from __future__ import annotations

import base64
import time

from laari.cli.open import Service
from laari.cli.terminal import visible
from laari.rules.records import Tenant
from laari.rules.scopes import SCOPES
from laari.store import merchants, tenants
from laari.store.database import connection_to
from laari.store.oauth import SECRET_PREFIX, create_client, list_clients
from laari.store.secrets import derive
from laari.store.wallet_keys import sandbox_wallet_key

NAME = "Demo Shop"
EMAIL = "demo@laari.test"  # its login is how the demo of an earlier start is found again


async def prepare(service: Service) -> str:
    """Makes the demo merchant where there is none yet; answers what to print about it."""
    # Derived and not drawn, so that a later start can show it again.
    password = _text(derive(service.master_key, "demo-password", EMAIL))[:20]
    async with connection_to(service.dsn) as connection:
        found = await merchants.of_login(connection, EMAIL)
        if found is None:
            new = await merchants.create(
                connection,
                service.master_key,
                name=NAME,
                mode="sandbox",
                email=EMAIL,
                password=password,
            )
            found = new.merchant
        secret_key = await merchants.secret_key_of(connection, service.master_key, found.id)
        tenant = await tenants.of_merchant(connection, found.id, "sandbox")
        # Derived like the password.
        client_secret = SECRET_PREFIX + _text(
            derive(service.master_key, "demo-client-secret", found.id)
        )
        clients = await list_clients(connection, found.id)
        client = clients[0] if clients else None
        if client is None:
            client, _ = await create_client(connection, found.id, " ".join(SCOPES), client_secret)
    wallet_key = sandbox_wallet_key(service.master_key, tenant.sandbox_account)
    return _described(
        service.settings.public_url,
        tenant,
        {
            "Merchant id": tenant.merchant_id,
            "Secret key": secret_key,
            "OAuth client": f"{client.id}  {client_secret}",
            "Dashboard login": f"{EMAIL}  {password}",
            "Sandbox customer": f"account {tenant.sandbox_account}",
            "Its wallet API key": wallet_key,
        },
        secret_key,
    )


def _text(key: bytes) -> str:
    return base64.b32encode(key).decode().lower().rstrip("=")


def _described(origin: str, tenant: Tenant, facts: dict[str, str], secret_key: str) -> str:
    order = int(time.time())  # another reference at every start: an old one would be a retry
    base, credentials = f"{origin}/merchant", f"-H 'X-API-Key: {secret_key}'"
    listed = "\n".join(f"  {name:<20}  {value}" for name, value in facts.items())
    return f"""{visible(tenant.merchant_name)} is ready, in sandbox mode.

{listed}

Create a payment:

  curl -sS {base}/payments {credentials} \\
    -H 'Content-Type: application/json' \\
    -d '{{"reference": "order-{order}", "amount": 12550, "title": "Two coffees and a cake"}}'

Let the sandbox customer pay it:

  export PAYMENT_ID=pay_…   # the id in the answer
  curl -sS -X POST {base}/sandbox/payments/$PAYMENT_ID/pay {credentials}

Read it back:

  curl -sS {base}/payments/$PAYMENT_ID {credentials}
"""
