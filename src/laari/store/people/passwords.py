"""Passwords, hashed with argon2id: slow and with much memory on purpose."""

import base64
import multiprocessing
import os
import resource
import secrets
import signal
import threading

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

_hasher = PasswordHasher()  # the library's defaults follow RFC 9106
_LETTERS = "abcdefghjkmnpqrstvwxyz23456789"  # nothing to misread
_GROUPS = 4  # of four letters

NICENESS = 15  # a hash runs in four threads, each with a share: together they yield to one process
PROCESSORS_EACH = 4  # of this number of processors, one is for passwords
MEMORY_BYTES = 1 << 30  # of address space: a hash takes 64 MiB, the interpreter about as much


def new_password() -> str:
    """78 random bits in groups that people can copy: `k7qf-m9xw-…`."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(_GROUPS))


def hash_password(password: str) -> str:
    return _hasher.hash(password)


def nobodys_hash() -> str:
    """A hash that fits no password but takes as long: for people who do not exist."""
    costs = f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    salt, key = secrets.token_bytes(_hasher.salt_len), secrets.token_bytes(_hasher.hash_len)
    return f"$argon2id$v=19${costs}${_base64(salt)}${_base64(key)}"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")


def password_fits(password: str, password_hash: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except VerifyMismatchError:
        return False


def yield_to_payments() -> None:
    """Prepares a process that only hashes: low priority on few processors protects payments."""
    # The parent gets the signal, finishes its work and ends this process.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(NICENESS)
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[-max(1, len(allowed) // PROCESSORS_EACH) :])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold passwords


def _end_with_parent() -> None:
    """A worker of a pool does not notice that its parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)
