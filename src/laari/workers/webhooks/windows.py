"""Limits of attempts in flight for each tenant, and of deliveries that are leased ahead.

Additive increase and multiplicative decrease: slow receivers cannot take all slots.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from laari.store.outbox.deliveries import LeasedDelivery
from laari.workers.webhooks.answer import TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class WindowLimits:
    max_in_flight: int = 512  # attempts of this process
    max_window: int = 32  # attempts in flight for one tenant
    initial_window: int = 4  # for a new tenant
    min_window: int = 2
    lease_seconds: float = 4 * TIMEOUT_SECONDS  # half to wait in the queue, half to send and record
    poll_seconds: float = 1.0  # for retries that come due, and lost notifications
    round_seconds: float = 0.04  # between two leases and two recordings, so that each has several


@dataclass(slots=True)
class TenantWindow:
    """The concurrency window of one tenant: attempts in flight and leased deliveries.

    It leases two rounds at the last pace: a fast receiver never waits, a slow one has no queue.
    """

    size: int
    in_flight: int = 0
    completed: int = 0  # since the last lease
    queue: deque[tuple[LeasedDelivery, float]] = field(default_factory=deque)  # with latest starts

    def record(self, acknowledged: bool, limits: WindowLimits) -> None:
        if acknowledged:
            self.size = min(self.size + 1, limits.max_window)
        else:
            self.size = max(self.size // 2, limits.min_window)

    def room(self, slots: int) -> int:
        """Returns how many more to lease if `slots` of them can start at once."""
        return slots + 2 * self.completed - len(self.queue)


def allot(windows: Mapping[int, TenantWindow], slots: int) -> tuple[dict[int, int], set[int]]:
    """Returns how many deliveries to lease for each tenant, and the tenants without a slot.

    None gets a second slot before each has a first; none gets more while a tenant waits.
    """
    idle = [tenant for tenant, window in windows.items() if not window.in_flight]
    served, left = idle[: max(0, slots)], set(idle[max(0, slots) :])
    each = max(1, slots // max(1, len(idle)))
    begun = {tenant: min(windows[tenant].size, each) for tenant in served}
    if left:
        return begun, left
    free = {tenant: window.size - window.in_flight for tenant, window in windows.items()} | begun
    room = {tenant: windows[tenant].room(size) for tenant, size in free.items()}
    return {tenant: size for tenant, size in room.items() if size > 0}, left
