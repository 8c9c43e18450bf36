"""The sign of life that every process of the tree gives to the supervisor.

A process writes a byte to a pipe once a second, from its event loop: a loop that is stuck in one
callback, or a process that is stopped, writes nothing. Busy is not stuck: a flood makes one round
of the loop longer than any bound, though each callback is short. So a thread looks once a second
which callback is running. It writes the byte too if that is another one than a second ago. Each
callback runs once in a round, so one that is still there is a call that has not returned.

Before the supervisor kills a silent process it sends `STACK_SIGNAL`, and the process writes where
its threads are to a file that both have open; that is done by the signal handler itself, so it
works while Python is stuck.
"""

import asyncio
import faulthandler
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

HEARTBEAT_FD = "LAARI_HEARTBEAT_FD"
STACK_FD = "LAARI_STACK_FD"
READY, ALIVE = b"+", b"."
BEAT_SECONDS = 1.0
STACK_SIGNAL = signal.SIGUSR1

LOOK_SECONDS = 0.5  # between two looks of the supervisor
# What one look adds to a silence at most. The supervisor hears nothing while it is stopped itself
# or the whole machine hardly moves; that is nobody else's silence.
LONGEST_LOOK_SECONDS = 1.0
# A loop that does nothing but this for so long serves nobody: requests take milliseconds.
SILENT_SECONDS = 8.0
# Until a process is ready: importing everything on a machine that starts many things at once.
STARTING_SILENT_SECONDS = 60.0
# Processes that are silent together are more likely a starved machine than many hangs.
SPACING_SECONDS = 5.0
STACK_SECONDS = 1.0  # for the process to write its stack
MOST_STACK_BYTES = 1 << 16
MOST_SIGNS = 1 << 12  # read at once


# The process's side.


def answer_with_stack() -> None:
    """From now on `STACK_SIGNAL` writes the stack of every thread for the supervisor."""
    faulthandler.register(STACK_SIGNAL, file=int(os.environ[STACK_FD]), all_threads=True)


async def beat() -> None:
    """Gives a sign of life again and again, as long as the event loop gets on."""
    base = sys._getframe().f_back
    assert base is not None  # what runs the loop, and so every callback
    looking = (threading.get_ident(), base)
    threading.Thread(target=_look, args=looking, daemon=True, name="heartbeat").start()
    while True:
        _write(ALIVE)
        await asyncio.sleep(BEAT_SECONDS)


def _look(thread_id: int, base: FrameType) -> None:
    """Gives a sign of life whenever the loop runs another callback than at the last look."""
    last = None  # kept, so that no other frame can have its identity
    while True:
        time.sleep(BEAT_SECONDS)
        running = _callback(sys._current_frames()[thread_id], base)
        if running is not None and running is not last:
            _write(ALIVE)
        last = running


def _callback(frame: FrameType | None, base: FrameType) -> FrameType | None:
    """The outermost frame of what the loop runs now; None while it waits for something."""
    while frame is not None and frame.f_back is not base:
        frame = frame.f_back
    return frame


def tell_ready() -> None:
    """Says that this process accepts work."""
    _write(READY)


def _write(sign: bytes) -> None:
    # The supervisor has ended, which another pipe tells, or it has not read for many hours.
    with suppress(BrokenPipeError, BlockingIOError):
        os.write(int(os.environ[HEARTBEAT_FD]), sign)


# The supervisor's side.


class Watchdog:
    """How long each process has been silent, and which of them has been so for too long."""

    def __init__(self, now: float) -> None:
        self._looked_at = now
        self._silent: dict[int, float] = {}  # seconds, by the process's place in the tree
        self._ready: set[int] = set()
        self._next_at = now  # no process is given up before

    def started(self, place: int) -> None:
        self._silent[place] = 0.0
        self._ready.discard(place)

    def heard(self, place: int, signs: bytes) -> None:
        if place in self._silent:
            self._silent[place] = 0.0
            if READY in signs:
                self._ready.add(place)

    def ended(self, place: int) -> None:
        self._silent.pop(place, None)
        self._ready.discard(place)

    def silence(self, place: int) -> float:
        return self._silent.get(place, 0.0)

    def look(self, now: float) -> int | None:
        """Called every `LOOK_SECONDS`: the place of a process to give up, one at a time."""
        gap = min(now - self._looked_at, LONGEST_LOOK_SECONDS)
        self._looked_at = now
        for place in self._silent:
            self._silent[place] += gap
        late = [place for place in self._silent if self._silent[place] >= self._bound(place)]
        if not late or now < self._next_at:
            return None
        self._next_at = now + SPACING_SECONDS
        return max(late, key=self.silence)

    def _bound(self, place: int) -> float:
        return SILENT_SECONDS if place in self._ready else STARTING_SILENT_SECONDS


def take_stack(fd: int) -> list[str]:
    """What a process has written about where it is, one line for each frame."""
    text = os.pread(fd, MOST_STACK_BYTES, 0).decode("utf-8", "replace")
    os.ftruncate(fd, 0)
    os.lseek(fd, 0, os.SEEK_SET)  # the process writes where this stands
    return [line.strip() for line in text.splitlines() if line.strip()]
