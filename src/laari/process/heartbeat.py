"""The heartbeat of every process: its event loop writes a byte to a pipe once a second.

Under heavy load one round of the loop can take very long. So a thread writes the byte if another
callback runs than a second ago. Each callback runs once in a round, so the same frame is a call
that has not returned.
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

LOOK_SECONDS = 0.5  # between two checks of the supervisor
# The most that one check adds to a silence: a supervisor that was suspended itself heard nothing.
LONGEST_LOOK_SECONDS = 1.0
SILENT_SECONDS = 8.0  # then a process is killed; requests take milliseconds
STARTING_SILENT_SECONDS = 60.0  # until a process is ready: imports are slow on a busy machine
SPACING_SECONDS = 5.0  # between two kills: several silent processes mean an overloaded machine
STACK_SECONDS = 1.0  # for the process to write its stack
MOST_STACK_BYTES = 1 << 16
MOST_SIGNS = 1 << 12  # read at once


# The process's side.


def answer_with_stack() -> None:
    """Lets `STACK_SIGNAL` write the stacks of all threads for the supervisor."""
    faulthandler.register(STACK_SIGNAL, file=int(os.environ[STACK_FD]), all_threads=True)


async def beat() -> None:
    """Writes a heartbeat every second from the event loop."""
    base = sys._getframe().f_back
    assert base is not None  # the frame of the loop, which calls every callback
    looking = (threading.get_ident(), base)
    threading.Thread(target=_look, args=looking, daemon=True, name="heartbeat").start()
    while True:
        _write(ALIVE)
        await asyncio.sleep(BEAT_SECONDS)


def _look(thread_id: int, base: FrameType) -> None:
    """Writes a heartbeat if the loop runs another callback than a second ago."""
    last = None  # this reference keeps the frame's identity unique
    while True:
        time.sleep(BEAT_SECONDS)
        running = _callback(sys._current_frames()[thread_id], base)
        if running is not None and running is not last:
            _write(ALIVE)
        last = running


def _callback(frame: FrameType | None, base: FrameType) -> FrameType | None:
    """Returns the outermost frame of the running callback; None while the loop waits."""
    while frame is not None and frame.f_back is not base:
        frame = frame.f_back
    return frame


def tell_ready() -> None:
    _write(READY)


def _write(sign: bytes) -> None:
    # The supervisor has ended, or has not read for hours.
    with suppress(BrokenPipeError, BlockingIOError):
        os.write(int(os.environ[HEARTBEAT_FD]), sign)


# The supervisor's side.


class Watchdog:
    """Counts how long each process is silent, and selects one to kill."""

    def __init__(self, now: float) -> None:
        self._looked_at = now
        self._silent: dict[int, float] = {}  # seconds, by the process's place in the tree
        self._ready: set[int] = set()
        self._next_at = now  # the earliest time of the next kill

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
        """Returns the place of a process to kill; the supervisor calls it every `LOOK_SECONDS`."""
        gap = min(now - self._looked_at, LONGEST_LOOK_SECONDS)
        self._looked_at = now
        for place in self._silent:
            self._silent[place] += gap
        late = [
            place
            for place, silence in self._silent.items()
            if silence >= (SILENT_SECONDS if place in self._ready else STARTING_SILENT_SECONDS)
        ]
        if not late or now < self._next_at:
            return None
        self._next_at = now + SPACING_SECONDS
        return max(late, key=self.silence)


def take_stack(fd: int) -> list[str]:
    """Returns the stacks that a process wrote, one line per frame."""
    text = os.pread(fd, MOST_STACK_BYTES, 0).decode("utf-8", "replace")
    os.ftruncate(fd, 0)
    os.lseek(fd, 0, os.SEEK_SET)  # the process shares this position
    return [line.strip() for line in text.splitlines() if line.strip()]
