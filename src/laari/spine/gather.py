"""Requests of the same kind that arrive together share one statement, and each has its own effect.

Unlike a coalesced look-up, the same question asked twice is asked twice: it may count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from laari.rules.command import Share
from laari.spine.fair import FairQueue
from laari.spine.rounds import Rounds

Q = TypeVar("Q")
A = TypeVar("A")

MAX_QUESTIONS = 512  # in one statement, where answers are small


class _Waiting(NamedTuple, Generic[Q, A]):
    question: Q
    answer: asyncio.Future[A]


class Gathered(Generic[Q, A]):
    """Turns `ask(questions) -> answers`, in the same order, into calls of one question each.

    While one statement is under way the next one's questions gather, unless it takes long. Where
    more gather than fit, owners take turns; `owner` says whose a question is.
    """

    def __init__(
        self,
        ask: Callable[[list[Q]], Awaitable[list[A]]],
        most: int = MAX_QUESTIONS,
        owner: Callable[[Q], object] = lambda question: 0,
    ) -> None:
        self._ask = ask
        self._most = most
        self._owner = owner
        self._gathering: FairQueue[_Waiting[Q, A]] = FairQueue()
        self._rounds = Rounds(self._run_round, lambda: len(self._gathering) > 0)

    async def ask(self, question: Q) -> A:
        waiting = _Waiting[Q, A](question, asyncio.get_running_loop().create_future())
        self._gathering.put(Share(self._owner(question)), waiting)
        self._rounds.wake()
        return await waiting.answer

    async def _run_round(self) -> None:
        taken = self._gathering.take(self._most)
        try:
            answers = await self._ask([waiting.question for waiting in taken])
        except Exception as error:
            for waiting in taken:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
        else:
            for waiting, answer in zip(taken, answers, strict=True):
                if not waiting.answer.done():  # whoever asked may have gone away
                    waiting.answer.set_result(answer)
