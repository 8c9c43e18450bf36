"""Merchants and customers as they are made: secrets, tenants, wallets and their first money."""

import asyncio
import re
from collections.abc import AsyncIterator

import asyncpg
import pytest

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.store.audit import audit
from laari.store.merchants import merchants
from laari.store.people.passwords import password_fits
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.people.wallet_keys import key_digest, sandbox_wallet_key
from laari.store.reads.tiers import all_tiers
from tests import shops
from tests.actors import OPERATOR, change
from tests.making import NewMerchant, make_customer, make_merchant, sign_up
from tests.people import RefusedError

MASTER_KEY = bytes(range(32))


def of_key(secret_key: str) -> bytes:
    return merchants.key_digest(MASTER_KEY, secret_key)


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


async def a_merchant(connection: asyncpg.Connection, email: str | None = None) -> NewMerchant:
    return await make_merchant(
        connection, OPERATOR, MASTER_KEY, name="Shop", mode="sandbox", fee_bps=100, email=email
    )


async def test_a_merchant_has_a_sandbox_customer_with_money(
    connection: asyncpg.Connection,
) -> None:
    new = await a_merchant(connection)
    assert re.fullmatch(r"mer_[a-z2-7]{20}", new.merchant.id)
    live = await tenants.of_merchant(connection, new.merchant.id, "live")
    sandbox = await tenants.of_merchant(connection, new.merchant.id, "sandbox")
    assert (live.mode, sandbox.mode, live.id == sandbox.id) == ("live", "sandbox", False)
    assert live.sandbox_account == sandbox.sandbox_account
    wallet = await connection.fetchrow(
        "SELECT mode, tier, balance FROM wallets WHERE account = $1", sandbox.sandbox_account
    )
    assert tuple(wallet) == ("sandbox", "verified", 10_000_000)
    assert (await audit(connection)).ok
    key = sandbox_wallet_key(MASTER_KEY, sandbox.sandbox_account)
    found = await connection.fetchval(
        "SELECT account FROM wallet_keys WHERE digest = $1", key_digest(MASTER_KEY, key)
    )
    assert found == sandbox.sandbox_account


async def test_the_secret_key_is_found_by_digest_and_opens_with_the_master_key(
    connection: asyncpg.Connection,
) -> None:
    new = await a_merchant(connection)
    [credential] = (await tenants.by_secret_digest(connection, [of_key(new.secret_key)])).values()
    assert credential.merchant_id == new.merchant.id
    shown = await merchants.secret_key_of(connection, MASTER_KEY, new.merchant.id)
    assert shown == new.secret_key
    stored = await connection.fetchval("SELECT secret_encrypted FROM merchants")
    assert new.secret_key.encode() not in stored


async def test_rotating_the_key_ends_the_old_one(connection: asyncpg.Connection) -> None:
    new = await a_merchant(connection)
    _, rotated = await shops.rotate_key(connection, OPERATOR, MASTER_KEY, new.merchant.id)
    found = await tenants.by_secret_digest(
        connection,
        [of_key(new.secret_key), of_key(rotated)],
    )
    assert list(found) == [of_key(rotated)]
    assert await merchants.secret_key_of(connection, MASTER_KEY, new.merchant.id) == rotated


async def test_a_secret_moved_to_another_merchant_does_not_open(
    connection: asyncpg.Connection,
) -> None:
    one, other = await a_merchant(connection), await a_merchant(connection)
    await change(
        connection,
        "UPDATE merchants SET secret_encrypted = "
        "(SELECT secret_encrypted FROM merchants WHERE id = $1) WHERE id = $2",
        one.merchant.id,
        other.merchant.id,
    )
    with pytest.raises(LaariError):
        await merchants.secret_key_of(connection, MASTER_KEY, other.merchant.id)


async def test_a_login_has_a_hashed_password(
    connection: asyncpg.Connection,
) -> None:
    new = await a_merchant(connection, email="owner@shop.mv")
    stored = await connection.fetchval("SELECT password_hash FROM persons")
    assert new.password is not None
    assert stored.startswith("$argon2id$")
    assert password_fits(new.password, stored)
    assert not password_fits(new.password + "x", stored)
    assert await merchants.of_owner(connection, "owner@shop.mv") == new.merchant


async def test_updating_leaves_what_is_not_given(connection: asyncpg.Connection) -> None:
    merchant_id = (await a_merchant(connection)).merchant.id
    changed = await shops.update(
        connection,
        OPERATOR,
        merchant_id,
        mode="live",
        active=False,
        webhook_url="https://a.mv",
        fee_fixed=5,
    )
    assert (changed.mode, changed.active, changed.webhook_url) == ("live", False, "https://a.mv")
    assert (changed.fee_bps, changed.fee_fixed, changed.webhooks) == (100, 5, True)
    changed = await shops.update(connection, OPERATOR, merchant_id, webhooks_enabled=False)
    assert (changed.webhooks, changed.active, changed.webhook_url) == (
        False,
        False,
        "https://a.mv",
    )
    assert (
        await shops.update(connection, OPERATOR, merchant_id, webhook_url="")
    ).webhook_url is None
    with pytest.raises(RefusedError, match="mer_unknown"):
        await shops.update(connection, OPERATOR, "mer_unknown", active=True)


async def test_a_customer_has_a_wallet_whose_money_is_booked(
    connection: asyncpg.Connection,
) -> None:
    new = await make_customer(
        connection,
        OPERATOR,
        name="Aisha",
        mode="live",
        tier="basic",
        mobile="7771234",
        balance=12_345,
        key_with=MASTER_KEY,
    )
    wallet = await connection.fetchrow(
        "SELECT mode, tier, balance FROM wallets WHERE account = $1", new.account
    )
    assert tuple(wallet) == ("live", "basic", 12_345)
    history = await connection.fetchrow(
        "SELECT type, amount, status FROM transactions WHERE account = $1", new.account
    )
    assert tuple(history) == ("topup", 12_345, "success")
    key = await connection.fetchval(
        "SELECT account FROM wallet_keys WHERE digest = $1", key_digest(MASTER_KEY, new.api_key)
    )
    assert key == new.account
    assert (await audit(connection)).ok


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("mobile", "7771234", "mobile"), ("email", "a@b.mv", "email"), ("vpa", "aisha", "virtual")],
)
async def test_two_customers_of_a_mode_never_share_a_name(
    connection: asyncpg.Connection, field: str, value: str, named: str
) -> None:
    names: dict[str, str] = {field: value}
    await make_customer(connection, OPERATOR, name="One", mode="live", tier="basic", **names)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match=named):
        await make_customer(connection, OPERATOR, name="Two", mode="live", tier="basic", **names)  # type: ignore[arg-type]
    await make_customer(connection, OPERATOR, name="Three", mode="sandbox", tier="basic", **names)  # type: ignore[arg-type]
    assert await connection.fetchval("SELECT count(*) FROM customers") == 2


async def test_setting_a_tier_leaves_omitted_limits(connection: asyncpg.Connection) -> None:
    before = (await all_tiers(connection))["basic"]
    after = await shops.set_tier(connection, OPERATOR, "basic", {"daily": None, "weekly": 7})
    assert (after.daily, after.weekly) == (None, 7)
    assert (after.per_transaction, after.monthly) == (before.per_transaction, before.monthly)
    new = await shops.set_tier(connection, OPERATOR, "gold", {"daily": 9})
    assert (new.per_transaction, new.daily, new.weekly, new.monthly) == (None, 9, None, None)
    assert await shops.set_tier(connection, OPERATOR, "gold", {}) == new


async def test_sign_up_ends_at_the_bound_also_for_those_who_come_at_once(dsn: str) -> None:
    async def one(number: int) -> bool:
        async with connection_to(dsn) as connection, connection.transaction():
            made = await sign_up(connection, OPERATOR, bytes(32), 3, name=f"Shop {number}")
        return made is not None

    assert sum(await asyncio.gather(*map(one, range(8)))) == 3
    async with connection_to(dsn) as connection:
        assert await connection.fetchval("SELECT count(*) FROM merchants") == 3


async def test_a_merchant_that_signs_up_has_no_live_side(connection: asyncpg.Connection) -> None:
    owner = Actor("person", "a@shop.mv", "owner")
    made = await sign_up(connection, OPERATOR, MASTER_KEY, 10, name="Shop", email=owner.name)
    assert made is not None
    assert not made.merchant.has_live
    assert await merchants.show(connection, made.merchant.id) == made.merchant
    modes = "SELECT mode FROM tenants WHERE merchant_id = $1"
    assert [row["mode"] for row in await connection.fetch(modes, made.merchant.id)] == ["sandbox"]
    with pytest.raises(RefusedError, match="not approved"):
        await shops.update(connection, owner, made.merchant.id, mode="live")
    changed = await shops.update(connection, OPERATOR, made.merchant.id, mode="sandbox", fee_bps=5)
    assert (changed.mode, changed.fee_bps) == ("sandbox", 5)
    other = await a_merchant(connection)
    assert other.merchant.has_live
    assert (await shops.update(connection, OPERATOR, other.merchant.id, mode="live")).mode == "live"


async def test_the_operator_approves_by_a_change_to_live_mode(
    connection: asyncpg.Connection,
) -> None:
    made = await sign_up(connection, OPERATOR, MASTER_KEY, 10, name="Shop")
    assert made is not None
    await shops.update(connection, OPERATOR, made.merchant.id, mode="live")
    shown = await merchants.show(connection, made.merchant.id)
    assert (shown.mode, shown.has_live) == ("live", True)


async def test_sign_up_stays_open_next_to_live_merchants(connection: asyncpg.Connection) -> None:
    other = await a_merchant(connection)
    await shops.update(connection, OPERATOR, other.merchant.id, mode="live")
    made = await sign_up(connection, OPERATOR, MASTER_KEY, 10, name="Shop")
    assert made is not None
    assert not made.merchant.has_live
