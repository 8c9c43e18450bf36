"""Whether a batch may presume that the references of its new payments are free.

Almost all are, and the index of references refuses one that is not: a look-up before the write
would find nothing and cost a round trip. A batch that the index refuses is run again with a
look-up. That is work done twice, for all that were in it, and some kilobytes in the server's log,
so those who send references again must not cause it often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from laari.rules.command import Command
from laari.rules.world import Needs, World

PAUSE_SECONDS = 1.0  # without presuming, after it was wrong; twice as long if it is again soon
MAX_PAUSE_SECONDS = 64.0


class Presuming:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause = 0.0
        self._paused_until = clock()

    def fits(self, commands: Sequence[Command[object]], needs: Needs) -> bool:
        """Whether these ask for nothing but references, and may be run again if it was wrong."""
        return (
            needs.only_references
            and all(command.repeatable for command in commands)
            and self._clock() >= self._paused_until
        )

    def was_wrong(self) -> None:
        now = self._clock()
        is_soon = self._pause and now < self._paused_until + MAX_PAUSE_SECONDS
        self._pause = min(self._pause * 2, MAX_PAUSE_SECONDS) if is_soon else PAUSE_SECONDS
        self._paused_until = now + self._pause


def proves(world: World, needs: Needs) -> bool:
    """Whether every reference that was presumed to be free is claimed: then the index tells.

    A command that claims nothing, because it is refused, might have been a retry of one that did.
    """
    return needs.only_read(World.references) <= world.references.added.keys()
