"""Puts a merchant's receiver through the exercises and says which it passes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from laari.errors import LaariError
from laari.workers.webhooks.exercises import Exercise, exercises, passes
from laari.workers.webhooks.failures import NO_CONNECTION_PHRASES, unreached
from laari.workers.webhooks.sender import Answer, Sender


class Result(Struct, frozen=True):
    exercise: str
    passed: bool
    expected: str
    answered: str
    why: str


class NothingThereError(LaariError):
    """No receiver answers at the URL, so that the exercises are pointless."""


def ignore(name: str, place: int, number: int) -> None:
    """Tells nobody which exercise begins."""


async def train(
    sender: Sender, url: str, secret: str, tell: Callable[[str, int, int], None] = ignore
) -> AsyncIterator[Result]:
    """One exercise after the other, so that the receiver's log reads like the report.

    `tell` is called with the exercise that begins, its place and how many there are. Ends with
    `NothingThereError` if there is no receiver, or no longer.
    """
    all_of_them = exercises(secret, int(time.time()))
    for place, exercise in enumerate(all_of_them, 1):
        tell(exercise.name, place, len(all_of_them))
        yield await _run(sender, url, exercise, is_first=place == 1)


async def _run(sender: Sender, url: str, exercise: Exercise, *, is_first: bool) -> Result:
    posts = [sender.post(url, sent.body, sent.signed) for sent in exercise.deliveries]
    answers = await asyncio.gather(*posts) if exercise.at_once else [await post for post in posts]
    unanswered = all(answer.status is None for answer in answers)
    if unanswered and (is_first or {each.error for each in answers} <= NO_CONNECTION_PHRASES):
        raise NothingThereError(unreached(url, str(answers[0].error)))
    passed = all(
        passes(sent.expected, answer.status)
        for sent, answer in zip(exercise.deliveries, answers, strict=True)
    )
    return Result(
        exercise=exercise.name,
        passed=passed,
        expected=_listed([sent.expected for sent in exercise.deliveries]),
        answered=_listed([_said(answer) for answer in answers]),
        why=exercise.why,
    )


def _listed(items: list[str]) -> str:
    """Each different item once, in order."""
    return ", ".join(dict.fromkeys(items))


def _said(answer: Answer) -> str:
    return str(answer.status) if answer.status is not None else answer.error or "nothing"
