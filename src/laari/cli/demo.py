"""The sandbox that `laari serve --demo` starts with."""

from __future__ import annotations

import base64
import time

from laari.cli.open import Service
from laari.rules.records import Tenant
from laari.store import merchants, tenants
from laari.store.database import connection_to
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
    wallet_key = sandbox_wallet_key(service.master_key, tenant.sandbox_account)
    return _described(service.settings.public_url, tenant, secret_key, wallet_key, password)


def _text(key: bytes) -> str:
    return base64.b32encode(key).decode().lower().rstrip("=")


def _described(origin: str, tenant: Tenant, secret_key: str, wallet_key: str, password: str) -> str:
    order = int(time.time())  # another reference at every start: an old one would be a retry
    base, credentials = f"{origin}/merchant", f"-H 'X-API-Key: {secret_key}'"
    return f"""{tenant.merchant_name} is ready, in sandbox mode.

  Merchant id           {tenant.merchant_id}
  Secret key            {secret_key}
  Dashboard login       {EMAIL}  {password}
  Sandbox customer      account {tenant.sandbox_account}
  Its wallet API key    {wallet_key}

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
