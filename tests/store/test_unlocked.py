"""A command that changes a row which its batch has not locked fails, and commits nothing."""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import pytest
from msgspec.structs import replace

from laari.rules.command import Command
from laari.rules.needs import Needs
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.records.payments import Payment
from laari.rules.records.tenants import Tenant
from laari.rules.tables import Rows, UnlockedRowError
from laari.rules.world import World
from laari.spine.batches import Spine
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to

TENANT = Tenant(1, "mer_a", "Shop", "live", 0, 0, 0, 1, True)


@dataclass(frozen=True)
class Careless(Command[Payment]):
    """Finds a payment by its reference, as a retry does, and writes it."""

    payment_id: UUID
    reference: str

    def needs(self, needs: Needs) -> None:
        needs.read(World.references, (1, self.reference))
        needs.read(World.payments, self.payment_id)  # or the reference is presumed to be free

    def decide(self, world: World) -> Payment:
        payment = world.payments.get(self.payment_id)
        assert payment is not None
        world.payments.change(payment.id, replace(payment, status="expired"))
        return payment


async def test_a_row_that_was_only_read_is_not_written(dsn: str) -> None:
    runner = BatchRunner(dsn, "http://laari.test")
    spine = Spine(runner.run)
    made = asyncio.ensure_future(spine.submit(CreatePayment(TENANT, PaymentDraft("a", 100))))
    await asyncio.sleep(0)
    spine.start()
    payment = await made
    careless, neighbour = await asyncio.gather(
        spine.submit(Careless(payment.id, "a")),
        spine.submit(CreatePayment(TENANT, PaymentDraft("b", 100))),
        return_exceptions=True,
    )
    await spine.close()
    await runner.close()
    assert isinstance(careless, UnlockedRowError)
    assert isinstance(neighbour, Payment)
    async with connection_to(dsn) as connection:
        rows = await connection.fetch("SELECT status FROM payments")
    assert [row["status"] for row in rows] == ["pending", "pending"]


def test_rows_are_changed_where_they_are_new_or_locked() -> None:
    rows: Rows[str, int] = Rows()
    rows.show("seen", 1)
    with pytest.raises(UnlockedRowError):
        rows.change("seen", 2)
    with pytest.raises(UnlockedRowError):
        rows.change("unknown", 2)
    assert (rows.get("seen"), rows.changed) == (1, {})
    rows.lock("seen", 3)
    rows.show("seen", 1)  # what the lock found is newer
    rows.change("seen", rows.seen["seen"] + 1)
    rows.add("new", 5)
    rows.change("new", 6)
    assert (rows.changed, rows.added) == ({"seen": 4}, {"new": 6})
