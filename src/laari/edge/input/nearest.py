"""What a misspelt name was probably meant to be."""

from collections.abc import Collection
from difflib import get_close_matches

LONGEST = 60  # comparing takes time that grows with the square of the length
_CLOSE = 0.7  # of 1: `amout` and `returnUrl` are close, `currency` is close to nothing


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is written almost so, in any case; None where there is none."""
    if len(name) > LONGEST:
        return None
    return next(iter(get_close_matches(name.lower(), known, 1, _CLOSE)), None)
