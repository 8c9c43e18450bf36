"""Who counts as another person: the names of log-ins that somebody else gave."""

from datetime import UTC, datetime, timedelta

from laari.rules.actors import Actor, written
from laari.rules.limits.second_person import RECENT
from laari.rules.people.persons import not_second
from laari.rules.records.second_person import Help

NOW = datetime(2026, 11, 18, 7, 0, tzinfo=UTC)
ANN = Actor("operator", "ann@laari.test", "admin")
BEA = Actor("operator", "bea@laari.test", "admin")
CAT = Actor("operator", "cat@laari.test", "admin")
SHELL = Actor("command_line", "Ann", "admin")


def help_by(helper: Actor, helped: Actor, ago: timedelta = timedelta(0)) -> Help:
    return Help(helped.name, written(helper), NOW - ago)


def are_two(one: Actor, other: Actor, *helps: Help) -> bool:
    """The answer does not depend on which of them asks."""
    reasons = [
        not_second(written(asks), confirms, helps, NOW, "own")
        for asks, confirms in ((one, other), (other, one))
    ]
    assert len({reason is None for reason in reasons}) == 1
    return reasons[0] is None


def test_for_30_days_helped_and_helper_are_not_two_people() -> None:
    assert are_two(ANN, BEA)
    assert not are_two(ANN, BEA, help_by(ANN, BEA))
    assert not are_two(SHELL, BEA, help_by(ANN, BEA))
    assert not are_two(ANN, BEA, help_by(ANN, BEA, RECENT - timedelta(seconds=1)))
    assert are_two(ANN, BEA, help_by(ANN, BEA, RECENT))
    assert are_two(ANN, BEA, help_by(ANN, CAT))


def test_a_later_help_of_another_person_does_not_hide_the_first_one() -> None:
    assert not are_two(ANN, BEA, help_by(ANN, BEA, timedelta(days=9)), help_by(CAT, BEA))


def test_helps_are_followed_through_people_and_in_circles() -> None:
    chain = (help_by(ANN, BEA), help_by(BEA, CAT))
    assert not are_two(ANN, CAT, *chain)
    assert not are_two(ANN, CAT, *chain, help_by(CAT, BEA), help_by(BEA, BEA))


def test_two_people_whom_the_same_operator_helped_are_not_two() -> None:
    assert not are_two(BEA, CAT, help_by(ANN, BEA), help_by(ANN, CAT))


def test_a_shop_whose_owner_got_a_log_in_is_no_operator() -> None:
    owner = Actor("person", "owner@shop.example", "owner")
    assert not_second(written(owner), ANN, [help_by(ANN, owner)], NOW, "own") is None


def test_the_reason_names_the_other_person() -> None:
    assert not_second(written(ANN), ANN, [], NOW, "own") == "own"
    reason = not_second(written(ANN), BEA, [help_by(ANN, BEA)], NOW, "own")
    assert reason is not None
    assert "In the last 30 days you or operator ann@laari.test got a role or log-in" in reason
    assert "`laari operator create`" in reason
