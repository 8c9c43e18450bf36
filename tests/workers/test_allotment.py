"""How delivery shares its places between tenants, and how long the lines get."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from laari.workers.webhooks.delivery import Lane, allot


def lane(width: int = 4, under_way: int = 0, finished: int = 0, in_line: int = 0) -> Lane:
    made = Lane(width)
    made.under_way = under_way
    made.finished = finished
    made.line.extend([None] * in_line)  # type: ignore[list-item]  # only counted
    return made


def test_a_new_tenant_gets_the_width_of_its_lane() -> None:
    assert allot({1: lane(width=4)}, places=512) == ({1: 4}, set())


def test_a_lane_that_emptied_since_the_last_round_gets_a_line_as_long_as_its_pace() -> None:
    assert allot({1: lane(width=32, finished=100)}, places=512) == ({1: 232}, set())


def test_a_busy_lane_gets_what_it_finished_and_no_more_than_its_line_lacks() -> None:
    busy = lane(width=8, under_way=6, finished=10, in_line=5)
    assert allot({1: busy}, places=512) == ({1: 17}, set())


def test_a_hanging_receiver_gets_nothing_more() -> None:
    assert allot({1: lane(width=2, under_way=2)}, places=512) == ({}, set())


def test_places_are_shared_evenly() -> None:
    assert allot({1: lane(width=32), 2: lane(width=32)}, places=8) == ({1: 4, 2: 4}, set())


def test_while_a_tenant_waits_for_a_place_those_that_have_one_get_no_more() -> None:
    lanes = {1: lane(under_way=1, finished=50), 2: lane(finished=50), 3: lane()}
    assert allot(lanes, places=1) == ({2: 1}, {3})


def test_without_a_place_nobody_is_served() -> None:
    assert allot({1: lane(), 2: lane(under_way=4)}, places=-1) == ({}, {1})


lanes_of_all_kinds = st.builds(
    lane, st.integers(1, 40), st.integers(0, 40), st.integers(0, 300), st.integers(0, 300)
)


@given(st.dictionaries(st.integers(1, 50), lanes_of_all_kinds, max_size=20), st.integers(-5, 600))
def test_every_idle_tenant_is_served_or_named_as_left(lanes: dict[int, Lane], places: int) -> None:
    room, left = allot(lanes, places)
    idle = {tenant for tenant, each in lanes.items() if not each.under_way}
    served = {tenant for tenant in idle if tenant in room or lanes[tenant].line}
    assert idle == served | left
    assert all(size > 0 for size in room.values())
    assert len(left) == max(0, len(idle) - max(0, places))
