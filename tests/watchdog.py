"""A test that hangs is named: its process says where it waits, and ends.

Without it one such test would hold up the whole run, and nobody would learn which.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

SECONDS = 600  # the longest test takes 60 on a quiet machine


@contextmanager
def watched(name: str, output: TextIO) -> Iterator[None]:
    timer = threading.Timer(SECONDS, _give_up, (name, output))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(name: str, output: TextIO) -> None:
    print(f"\n{name} does not end. The threads:", file=output, flush=True)
    faulthandler.dump_traceback(output)
    for task in gc.get_objects():
        if isinstance(task, asyncio.Task) and not task.done():
            task.print_stack(file=output)
    output.flush()
    os._exit(70)
