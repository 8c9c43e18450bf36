"""How many attempts each tenant may have in flight, and how many deliveries are leased ahead.

Every tenant has a concurrency window of its own: additive increase with each acknowledgement,
multiplicative decrease with each failure. So slow receivers cannot fill the slots that all share.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from laari.store.reads.deliveries import LeasedDelivery
from laari.workers.webhooks.sender import TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class WindowLimits:
    max_in_flight: int = 512  # attempts of this process
    max_window: int = 32  # attempts in flight for one tenant
    initial_window: int = 4  # for a tenant not seen before
    min_window: int = 2
    lease_seconds: float = 4 * TIMEOUT_SECONDS  # half to wait in the queue, half to send and record
    poll_seconds: float = 1.0  # for retries that come due, and notifications that got lost
    # Between two looks for more, and between two recordings: each finds several.
    round_seconds: float = 0.04


class TenantWindow:
    """The concurrency window of one tenant: its attempts in flight, and what is leased ahead.

    The queue is as long as two rounds at the pace of the last one: a receiver that responds at once
    never waits for the database, and a slow one has no queue at all.
    """

    __slots__ = ("completed", "in_flight", "queue", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.in_flight = 0
        self.completed = 0  # since more was last leased
        self.queue: deque[tuple[LeasedDelivery, float]] = deque()  # with the latest time to begin

    def record(self, acknowledged: bool, limits: WindowLimits) -> None:
        """Grows or shrinks the window by the outcome of an attempt."""
        if acknowledged:
            self.size = min(self.size + 1, limits.max_window)
        else:
            self.size = max(self.size // 2, limits.min_window)

    def room(self, slots: int) -> int:
        """How many more to lease if so many of them can start at once."""
        return slots + 2 * self.completed - len(self.queue)


def allot(windows: Mapping[int, TenantWindow], slots: int) -> tuple[dict[int, int], set[int]]:
    """How many deliveries to lease for each tenant, and the tenants left without a slot.

    Free slots are shared between the tenants that have nothing in flight: none gets a second
    before each has had a first, and while one waits for a slot, those that have one get no more.
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
