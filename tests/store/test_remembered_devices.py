"""Remembered devices in the database: several processes at once, and rows changed by hand."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from laari.rules.actors import Actor, Payer
from laari.rules.calendar import local_day
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.payments.device_payments import NOT_REMEMBERED, TOO_MUCH, PayWithDevice
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.people.remembered_devices import ForgetDevice, RememberDevice, Remembered
from laari.rules.records.payments import Payment
from laari.rules.records.people import DeviceDay, RememberedDevice
from laari.rules.records.tenants import Tenant
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.people import remembered_devices
from tests.actors import MASTER, OPERATOR, change
from tests.deciding import decide, done
from tests.making import NewCustomer, make_customer, make_merchant

LIMIT = 1_000


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    async with connection_to(dsn) as connection:
        yield connection


class Payments:
    """A customer with remembered devices, and a shop."""

    def __init__(self, dsn: str, customer: NewCustomer, tenant: Tenant, password_hash: str) -> None:
        self.dsn = dsn
        self.customer = customer
        self.tenant = tenant
        self.password_hash = password_hash
        self.themselves = Actor("customer", show_id(CUSTOMER, customer.id))

    async def remember(self) -> Remembered:
        command = RememberDevice(
            self.themselves, self.customer.id, "Phone", self.password_hash, LIMIT
        )
        return await done(self.dsn, command)

    async def paying(self, device: RememberedDevice, amount: int, reference: str) -> PayWithDevice:
        draft = PaymentDraft(reference, amount)
        payment = await done(self.dsn, CreatePayment(self.tenant, draft))
        payer = Payer(self.customer.account, "live")
        own = (device.id, device.digest, self.customer.id)
        return PayWithDevice(self.tenant, payment.id, payer, *own, LIMIT)


@pytest.fixture
async def payments(dsn: str, connection: asyncpg.Connection) -> Payments:
    shop = await make_merchant(connection, OPERATOR, MASTER, name="Shop", mode="live")
    tenant = await tenants.of_merchant(connection, shop.merchant.id, "live")
    values: dict[str, Any] = {"name": "Aisha", "mode": "live", "tier": "business"}
    customer = await make_customer(connection, OPERATOR, balance=100_000, **values)
    password_hash = await connection.fetchval(
        "SELECT password_hash FROM customers WHERE id = $1", customer.id
    )
    return Payments(dsn, customer, tenant, password_hash)


async def test_the_devices_of_a_customer_share_the_sum_over_processes(
    connection: asyncpg.Connection, payments: Payments
) -> None:
    devices = [(await payments.remember()).device for _ in range(6)]
    commands = [await payments.paying(each, 400, f"order {each.id}") for each in devices]
    # They wait for the wallet, and then all go on.
    async with connection.transaction():
        await connection.execute(
            "SELECT FROM wallets WHERE account = $1 FOR UPDATE", payments.customer.account
        )
        waiting = [asyncio.create_task(decide(payments.dsn, each)) for each in commands]
        async with connection_to(payments.dsn) as other:
            while await other.fetchval(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ) < len(commands):
                await asyncio.sleep(0.01)
    outcomes = await asyncio.gather(*waiting)
    assert sum(isinstance(each, Payment) for each in outcomes) == 2
    assert outcomes.count(TOO_MUCH) == 4
    days = await remembered_devices.last_days(connection, [payments.customer.id])
    today = local_day(datetime.now(UTC))
    assert days == {payments.customer.id: DeviceDay(today, 800)}


async def test_what_is_listed_can_be_used(
    connection: asyncpg.Connection, payments: Payments
) -> None:
    first, second = await payments.remember(), await payments.remember()
    assert isinstance(
        await done(payments.dsn, await payments.paying(first.device, 1, "order")), Payment
    )
    now, id = datetime.now(UTC), payments.customer.id
    listed = await remembered_devices.of_customer(connection, id, now)
    used = {each.id: each.used_on for each in listed}
    assert used == {first.device.id: local_day(now), second.device.id: None}
    found = await remembered_devices.session(connection, MASTER, first.token, now)
    assert found is not None
    assert (found.id, found.customer_id, found.account) == (
        first.device.id,
        id,
        payments.customer.account,
    )
    await done(payments.dsn, ForgetDevice(payments.themselves, id, first.device.id))
    assert await remembered_devices.session(connection, MASTER, first.token, now) is None
    listed = await remembered_devices.of_customer(connection, id, now)
    assert [each.id for each in listed] == [second.device.id]


async def test_a_row_that_was_changed_by_hand_pays_nothing(
    connection: asyncpg.Connection, payments: Payments
) -> None:
    made = await payments.remember()
    with pytest.raises(asyncpg.PostgresError, match="journal"):
        await connection.execute("UPDATE remembered_devices SET digest = sha256('mine')")
    await change(connection, "UPDATE remembered_devices SET digest = sha256('mine')")
    mine = await connection.fetchval("SELECT digest FROM remembered_devices")
    command = await payments.paying(replace(made.device, digest=mine), 1, "order")
    assert await decide(payments.dsn, command) == NOT_REMEMBERED


async def test_payments_and_ended_devices_stay(
    connection: asyncpg.Connection, payments: Payments
) -> None:
    made = await payments.remember()
    await done(payments.dsn, await payments.paying(made.device, 1, "order"))
    await done(
        payments.dsn, ForgetDevice(payments.themselves, payments.customer.id, made.device.id)
    )
    for statement in (
        "DELETE FROM device_payments",
        "UPDATE device_payments SET amount = 1",
        "DELETE FROM remembered_devices",
        "UPDATE remembered_devices SET ended_at = NULL",
    ):
        with pytest.raises(asyncpg.PostgresError):
            await change(connection, statement)
