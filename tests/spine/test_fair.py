"""One owner's many items do not delay another's few; what is urgent comes first, and not alone."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from laari.rules.command import Share
from laari.spine.fair import UNHURRIED_PART, FairQueue

SHARES = st.builds(Share, st.integers(1, 5), st.booleans())


def filled(*items: tuple[Share, int]) -> FairQueue[tuple[Share, int]]:
    queue: FairQueue[tuple[Share, int]] = FairQueue()
    for item in items:
        queue.put(item[0], item)
    return queue


def test_owners_take_turns() -> None:
    flood, other = Share(1), Share(2)
    queue = filled(*((flood, n) for n in range(100)), (other, 0), (other, 1))
    assert queue.take(4) == [(flood, 0), (other, 0), (flood, 1), (other, 1)]
    assert len(queue) == 98


def test_who_was_served_last_is_last_the_next_time() -> None:
    queue = filled(*((Share(owner), n) for owner in (1, 2, 3) for n in range(2)))
    taken = [queue.take(1)[0][0].owner for _ in range(6)]
    assert taken == [1, 2, 3, 1, 2, 3]


def test_what_is_urgent_comes_first_and_leaves_an_eighth() -> None:
    live, sandbox = Share(1, urgent=True), Share(2, urgent=False)
    queue = filled(*((sandbox, n) for n in range(100)), *((live, n) for n in range(100)))
    taken = queue.take(16)
    assert [share.urgent for share, _ in taken] == [True] * 14 + [False] * 2
    assert queue.take(1) == [(live, 14)]  # of one place nothing is kept free


def test_places_that_the_others_do_not_want_are_used() -> None:
    live, sandbox = Share(1, urgent=True), Share(2, urgent=False)
    assert len(filled(*((live, n) for n in range(20))).take(16)) == 16
    assert len(filled(*((sandbox, n) for n in range(20)), (live, 0)).take(16)) == 16


def test_heads_that_are_too_old_are_dropped() -> None:
    first, second = Share(1), Share(2, urgent=False)
    queue = filled((first, 1), (first, 9), (second, 2), (second, 3))
    assert sorted(n for _, n in queue.drop_while(lambda item: item[1] < 5)) == [1, 2, 3]
    assert queue.take(5) == [(first, 9)]
    assert len(queue) == 0


@given(st.lists(SHARES, max_size=80), st.lists(st.integers(1, 20), min_size=1, max_size=40))
def test_everything_comes_out_once_in_its_owners_order(
    shares: list[Share], sizes: list[int]
) -> None:
    queue = filled(*((share, n) for n, share in enumerate(shares)))
    out: list[tuple[Share, int]] = []
    for size in [*sizes, len(shares)]:
        waiting = Counter(
            share for share, _ in set(zip(shares, range(99), strict=False)) - set(out)
        )
        taken = queue.take(size)
        assert len(taken) == min(size, len(shares) - len(out))
        served = Counter(share for share, _ in taken)
        for share in served:  # nobody gets two more than another of the same kind that still waits
            for rival in waiting:
                if rival.urgent == share.urgent and served[rival] < waiting[rival]:
                    assert served[share] <= served[rival] + 1 + size // UNHURRIED_PART
        out += taken
    assert sorted(n for _, n in out) == list(range(len(shares)))
    for share in set(shares):
        numbers = [n for each, n in out if each == share]
        assert numbers == sorted(numbers)
