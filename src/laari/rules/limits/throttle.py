"""A rate."""

from typing import NamedTuple


class Throttle(NamedTuple):
    """Allows `burst` attempts at once, then one every `seconds`."""

    burst: int
    seconds: float
