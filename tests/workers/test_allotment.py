"""How delivery shares its slots between tenants, and how long the queues get."""

from hypothesis import given
from hypothesis import strategies as st

from laari.workers.webhooks.sender import TIMEOUT_SECONDS
from laari.workers.webhooks.windows import TenantWindow, WindowLimits, allot


def window(size: int = 4, in_flight: int = 0, completed: int = 0, queued: int = 0) -> TenantWindow:
    made = TenantWindow(size)
    made.in_flight = in_flight
    made.completed = completed
    made.queue.extend([None] * queued)  # type: ignore[list-item]  # only counted
    return made


def test_a_new_tenant_gets_the_size_of_its_window() -> None:
    assert allot({1: window(size=4)}, slots=512) == ({1: 4}, set())


def test_a_window_that_emptied_since_the_last_round_gets_a_queue_as_long_as_its_pace() -> None:
    assert allot({1: window(size=32, completed=100)}, slots=512) == ({1: 232}, set())


def test_a_busy_window_gets_what_it_completed_and_no_more_than_its_queue_lacks() -> None:
    busy = window(size=8, in_flight=6, completed=10, queued=5)
    assert allot({1: busy}, slots=512) == ({1: 17}, set())


def test_a_hanging_receiver_gets_nothing_more() -> None:
    assert allot({1: window(size=2, in_flight=2)}, slots=512) == ({}, set())


def test_slots_are_shared_evenly() -> None:
    assert allot({1: window(size=32), 2: window(size=32)}, slots=8) == ({1: 4, 2: 4}, set())


def test_while_a_tenant_waits_for_a_slot_those_that_have_one_get_no_more() -> None:
    windows = {1: window(in_flight=1, completed=50), 2: window(completed=50), 3: window()}
    assert allot(windows, slots=1) == ({2: 1}, {3})


def test_without_a_slot_nobody_is_served() -> None:
    assert allot({1: window(), 2: window(in_flight=4)}, slots=-1) == ({}, {1})


def test_a_window_grows_by_one_and_halves_within_its_bounds() -> None:
    limits = WindowLimits(max_window=5, initial_window=4, min_window=2)
    sizes = []
    changing = TenantWindow(limits.initial_window)
    for acknowledged in (True, True, False, True, False, False):
        changing.record(acknowledged, limits)
        sizes.append(changing.size)
    assert sizes == [5, 5, 2, 3, 2, 2]


def test_a_lease_outlasts_an_attempt_that_begins_as_late_as_it_may() -> None:
    """Half may pass in the queue. With less for the request, another sender would repeat it."""
    assert WindowLimits().lease_seconds / 2 > TIMEOUT_SECONDS


windows_of_all_kinds = st.builds(
    window, st.integers(1, 40), st.integers(0, 40), st.integers(0, 300), st.integers(0, 300)
)


@given(st.dictionaries(st.integers(1, 50), windows_of_all_kinds, max_size=20), st.integers(-5, 600))
def test_every_idle_tenant_is_served_or_named_as_left(
    windows: dict[int, TenantWindow], slots: int
) -> None:
    room, left = allot(windows, slots)
    idle = {tenant for tenant, each in windows.items() if not each.in_flight}
    served = {tenant for tenant in idle if tenant in room or windows[tenant].queue}
    assert idle == served | left
    assert all(size > 0 for size in room.values())
    assert len(left) == max(0, len(idle) - max(0, slots))
