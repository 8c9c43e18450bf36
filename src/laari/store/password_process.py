"""Verifies and makes hashes of passwords in a process of its own: `python -m` this module.

A hash takes a processor for a fifth of a second. In a thread of an interface process it would
compete with payments for the processor at the same priority; a thread of lower priority could be
put aside while it holds the interpreter's lock, with everybody behind it. So it is a process, which
yields to all others, and works on one hash at a time: its memory is that of one.

On standard input comes a line of JSON for each job: the password, and the hash it is to fit, or
null for a new hash. The answer is a line: `fits`, `differs`, `failed` or the new hash. The end of
the input is the end of the process, however its parent ended.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys

from argon2.exceptions import Argon2Error, InvalidHashError

from laari.store.passwords import hash_password, password_fits

NICENESS = 15  # a hash runs in four threads, each with a share: together they yield to one process
PROCESSORS_EACH = 4  # of so many processors, one is for passwords
MEMORY_BYTES = 1 << 30  # of address space: a hash takes 64 MiB, the interpreter about as much

FITS, DIFFERS, FAILED = "fits", "differs", "failed"


def answer(line: bytes) -> str:
    password, password_hash = json.loads(line)
    try:
        if password_hash is None:
            return hash_password(password)
        return FITS if password_fits(password, password_hash) else DIFFERS
    except (Argon2Error, InvalidHashError, MemoryError):
        return FAILED


def _keep_to_few_processors() -> None:
    """The last ones, the same for the processes of all interfaces: the others stay free.

    A lower priority alone still makes whoever wakes up wait for a moment on each processor that is
    at work.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[-max(1, len(allowed) // PROCESSORS_EACH) :])


def main() -> None:
    # The parent is told to end, and finishes what is under way before its end is this one's.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    _keep_to_few_processors()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold passwords
    for line in sys.stdin.buffer:
        sys.stdout.write(answer(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
