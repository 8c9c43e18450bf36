"""Names that are closed types and tables have to agree: `mypy` checks one direction only."""

from typing import get_args

from laari.rules.events import EVENTS, EventType
from laari.rules.refusals import CODES, RefusalCode


def test_every_refusal_code_is_in_the_table() -> None:
    assert get_args(RefusalCode) == tuple(CODES)


def test_every_type_of_event_is_in_the_table() -> None:
    assert get_args(EventType) == tuple(EVENTS)
