"""The state machine: hypothesis chooses the calls, the case compares."""

from collections import Counter
from random import Random
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.model.case import Case
from tests.model.choices import Choices
from tests.model.driver import Driver


class Machine(RuleBasedStateMachine):
    """Each step is one call, to the service and to the model.

    Hypothesis draws a number for each call, which decides all of it: what is left out when it looks
    for a shorter way to a difference are whole calls.
    """

    driver: ClassVar[Driver]
    steps: ClassVar[int] = 0

    @initialize(modes=st.sampled_from((("sandbox", "sandbox"), ("live", "sandbox"))))
    def begin(self, modes: tuple[str, str]) -> None:
        self.case = Case(self.driver, modes)
        self.drawn: Counter[int] = Counter()

    @rule(number=st.integers(0, 2**64 - 1))
    def call(self, number: int) -> None:
        case = self.case
        self.drawn[number] += 1  # a number that comes again is another call
        random = Random(f"{number} {self.drawn[number]}")
        choices = Choices(random, case.begun, case.seen)
        call = choices.next(case.state, case.number, case.calls, case.known_wallets())
        type(self).steps += 1
        case.do(call)

    def teardown(self) -> None:
        """Only a case that has gone well is read to its end: another has failed already."""
        case = getattr(self, "case", None)
        if case is not None and not case.failed:
            case.finish()
