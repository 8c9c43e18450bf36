"""Passwords are hashed slowly on purpose, by whoever hashes them in earnest."""

import subprocess
import sys

from argon2 import Parameters, Type, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY

HASH = (
    "from laari.store.people.passwords import hash_password; print(hash_password('correct horse'))"
)


def test_a_hash_costs_what_rfc_9106_asks_for() -> None:
    """In a process of its own: the tests' own people are hashed with less."""
    done = subprocess.run([sys.executable, "-c", HASH], capture_output=True, text=True, check=True)
    found = extract_parameters(done.stdout.strip())
    assert isinstance(found, Parameters)
    assert found.type is Type.ID
    assert found.memory_cost >= RFC_9106_LOW_MEMORY.memory_cost
    assert found.time_cost >= RFC_9106_LOW_MEMORY.time_cost
    assert found.parallelism == RFC_9106_LOW_MEMORY.parallelism
