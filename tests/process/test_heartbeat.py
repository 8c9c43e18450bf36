"""Whose silence has lasted too long, by a clock in the test's hands."""

from laari.process.heartbeat import (
    ALIVE,
    LOOK_SECONDS,
    READY,
    SILENT_SECONDS,
    SPACING_SECONDS,
    STARTING_SILENT_SECONDS,
    Watchdog,
)


class Tree:
    """Processes that are ready, each of which beats with every look unless it is silent."""

    def __init__(self, places: int) -> None:
        self.now = 1000.0
        self.watchdog = Watchdog(self.now)
        self.beating = set(range(places))
        for place in range(places):
            self.watchdog.started(place)
            self.watchdog.heard(place, READY)

    def live(self, seconds: float) -> list[tuple[float, int]]:
        """Who was given up in this time, and after how much of it; nobody is replaced."""
        began, given_up = self.now, []
        while self.now < began + seconds:
            self.now += LOOK_SECONDS
            for place in self.beating:
                self.watchdog.heard(place, ALIVE)
            place = self.watchdog.look(self.now)
            if place is not None:
                given_up.append((self.now - began, place))
                self.watchdog.ended(place)
        return given_up


def test_who_beats_is_left_alone() -> None:
    assert Tree(3).live(100) == []


def test_who_is_silent_is_given_up_once() -> None:
    tree = Tree(3)
    tree.beating.remove(1)
    assert tree.live(100) == [(SILENT_SECONDS, 1)]


def test_one_at_a_time() -> None:
    tree = Tree(3)
    tree.beating.clear()
    times = [after for after, _ in tree.live(100)]
    assert times == [SILENT_SECONDS + SPACING_SECONDS * number for number in range(3)]


def test_a_late_sign_starts_the_count_again() -> None:
    tree = Tree(1)
    tree.beating.clear()
    assert tree.live(SILENT_SECONDS - LOOK_SECONDS) == []
    tree.watchdog.heard(0, ALIVE)
    assert tree.live(SILENT_SECONDS - LOOK_SECONDS) == []
    assert len(tree.live(LOOK_SECONDS)) == 1


def test_a_start_may_take_longer() -> None:
    tree = Tree(1)
    tree.beating.clear()
    tree.watchdog.started(0)  # another process in the same place
    assert tree.live(2 * STARTING_SILENT_SECONDS) == [(STARTING_SILENT_SECONDS, 0)]


def test_time_in_which_the_supervisor_did_not_look_is_nobodys_silence() -> None:
    tree = Tree(2)
    tree.now += 3600
    assert tree.watchdog.look(tree.now) is None
    tree.beating.remove(1)
    assert tree.live(SILENT_SECONDS / 2) == []
    assert [place for _, place in tree.live(SILENT_SECONDS)] == [1]


def test_a_sign_of_a_process_that_has_ended_says_nothing() -> None:
    tree = Tree(1)
    tree.watchdog.ended(0)
    tree.watchdog.heard(0, READY)  # read late from its pipe
    tree.beating.clear()
    assert tree.live(100) == []
