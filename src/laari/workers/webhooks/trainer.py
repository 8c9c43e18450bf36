"""Puts a merchant's receiver through the exercises and says which it passes."""

from __future__ import annotations

import asyncio
import time

from msgspec import Struct

from laari.workers.webhooks.exercises import Exercise, exercises, passes
from laari.workers.webhooks.sender import Answer, Sender


class Result(Struct, frozen=True):
    exercise: str
    passed: bool
    expected: str
    answered: str
    why: str


async def train(sender: Sender, url: str, secret: str) -> list[Result]:
    """One exercise after the other, so that the receiver's log reads like the report."""
    return [await _run(sender, url, each) for each in exercises(secret, int(time.time()))]


async def _run(sender: Sender, url: str, exercise: Exercise) -> Result:
    posts = [sender.post(url, sent.body, sent.signed) for sent in exercise.deliveries]
    answers = await asyncio.gather(*posts) if exercise.at_once else [await post for post in posts]
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
