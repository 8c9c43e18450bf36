"""Payments by a remembered device, without the password, up to a sum of each day.

The sum is read after the lock on the wallet and kept for the rest of the batch, so payments at the
same time count one after the other.
"""

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from laari.rules.calendar import local_day
from laari.rules.needs import Needs
from laari.rules.payments.payment_commands import Pay
from laari.rules.payments.payments import PayPayment
from laari.rules.people.remembered_devices import is_remembered
from laari.rules.records.payments import Payment
from laari.rules.records.people import DeviceDay, DevicePayment
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

NOT_REMEMBERED = refuse("conflict", "This device is not remembered.")
TOO_MUCH = refuse("conflict", "This is more than remembered devices may still pay today.")


def running_day(last: DeviceDay | None, today: date) -> DeviceDay:
    """The day that counts now. Days do not go backwards if the clock does."""
    return last if last is not None and last.day >= today else DeviceDay(today, 0)


@dataclass(frozen=True, slots=True)
class PayWithDevice(PayPayment):
    """Pays from the wallet of the customer who has this device remembered."""

    device_id: UUID
    digest: bytes  # of the device's token
    customer_id: UUID
    daily_limit: int

    def needs(self, needs: Needs) -> None:
        Pay.needs(self, needs)
        needs.lock(World.remembered_devices, self.device_id)
        needs.read(World.device_days, self.customer_id)

    def refusal(self, world: World, payable: Payment) -> Refusal | None:
        refusal = Pay.refusal(self, world, payable)
        if refusal is not None:
            return refusal
        device = world.remembered_devices.get(self.device_id)
        if device is None or not is_remembered(world, device, self.digest):
            return NOT_REMEMBERED
        owner = world.wallets[self.payer.account].customer_id
        if not device.customer_id == self.customer_id == owner:
            return NOT_REMEMBERED
        spent = self._today(world).spent
        return None if spent + payable.amount <= self.daily_limit else TOO_MUCH

    def book(self, world: World, payable: Payment, tid: str) -> Payment:
        day, spent = self._today(world)
        world.device_days[self.customer_id] = DeviceDay(day, spent + payable.amount)
        world.device_payments.append(
            DevicePayment(payable.id, self.device_id, self.customer_id, day, payable.amount)
        )
        return PayPayment.book(self, world, payable, tid)

    def _today(self, world: World) -> DeviceDay:
        return running_day(world.device_days.get(self.customer_id), local_day(world.now))
