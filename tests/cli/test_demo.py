"""The demo is made once, and every start shows the same credentials."""

from __future__ import annotations

import re

from laari.cli.demo import EMAIL, prepare
from laari.cli.open import Service
from laari.rules.scopes import SCOPES
from laari.settings import read_settings
from laari.store import oauth, tenants
from laari.store.audit import audit
from laari.store.database import connection_to
from laari.store.passwords import password_fits
from laari.store.secrets import digest


async def test_a_second_start_finds_the_demo_again(dsn: str) -> None:
    service = Service(dsn, bytes(range(32)), read_settings({"LAARI_PUBLIC_URL": "http://pay.test"}))
    first, second = await prepare(service), await prepare(service)
    assert _without_reference(first) == _without_reference(second)
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM merchants") == 1
        [secret_key] = set(re.findall(r"sk_[\w-]+", first))
        [(_, credential)] = (
            await tenants.by_secret_digest(connection, [digest(secret_key)])
        ).items()
        assert credential.mode == "sandbox"
        assert credential.merchant_id in first
        [wallet_key] = set(re.findall(r"wk_[\w-]+", first))
        account = await connection.fetchval(
            "SELECT account FROM wallet_keys WHERE digest = $1", digest(wallet_key)
        )
        assert account == credential.sandbox_account
        [password] = re.findall(rf"{EMAIL}  (\S+)", first)
        stored = await connection.fetchval("SELECT password_hash FROM merchant_users")
        assert password_fits(password, stored)
        [(client_id, client_secret)] = re.findall(r"(cl_\w+)  (cs_\w+)", first)
        found = await oauth.usable_clients(connection, [client_id])
        assert found[client_id].secret_digest == digest(client_secret)
        assert found[client_id].scope == " ".join(SCOPES)
        assert (await audit(connection)).ok


def _without_reference(text: str) -> str:
    return re.sub(r"order-\d+", "", text)
