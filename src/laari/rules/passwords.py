"""Which passwords people may choose: one rule for the pages and for the command line.

Length is what makes a password hard to guess, and being on everybody's list is what makes it easy:
so there is a least length and a list, and no rule about digits or signs.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

MIN_LENGTH = 10  # characters
MAX_LENGTH = 1024
LIST = Path(__file__).with_name("common_passwords.txt")

TOO_SHORT = f"The password needs at least {MIN_LENGTH} characters."
TOO_LONG = f"The password may have at most {MAX_LENGTH} characters."
COMMON = "This password is one of those that are guessed first. Choose another one."
OWN = "The password must not be a name, mobile number or address of its owner."

_DECORATION = 4  # characters around a word that do not make it a password: `123!`
_SHORTEST_WORD = 4
_FEW = 4  # different characters, at least
_RUNS = (
    "abcdefghijklmnopqrstuvwxyz",
    "0123456789",
    "1234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertyuiopasdfghjklzxcvbnm",
)
_LOOKALIKES = str.maketrans("013457@$!", "oieastasi")


def password_problem(password: str, *others: str | None) -> str | None:
    """Why this password may not be chosen, or None; `others` are its owner's name and contacts."""
    if len(password) < MIN_LENGTH:
        return TOO_SHORT
    if len(password) > MAX_LENGTH:
        return TOO_LONG
    read = plain(password)
    if any(_is_of(read, plain(other)) for other in others if other):
        return OWN
    return COMMON if _is_common(read) else None


def plain(text: str) -> str:
    """As it is compared: without case, and with one form for what looks the same."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _is_common(password: str) -> bool:
    if len(set(password)) < _FEW or _is_listed(password) or _is_run(password):
        return True
    unit = _unit(password)
    if len(unit) < len(password):  # the same over and over
        return len(unit) <= _SHORTEST_WORD or _is_common(unit)
    return _is_decorated_word(password)


def _is_decorated_word(password: str) -> bool:
    """A common word with a little before and after it, or with another common thing there."""
    letters = [place for place, character in enumerate(password) if character.isalpha()]
    if not letters:
        return False
    before, word = password[: letters[0]], password[letters[0] : letters[-1] + 1]
    after = password[letters[-1] + 1 :]
    if len(word) < _SHORTEST_WORD or not _is_listed(word):
        return False
    return all(
        len(rest) <= _DECORATION or _is_listed(rest) or _is_run(rest) for rest in (before, after)
    )


def _is_listed(word: str) -> bool:
    listed = _listed()
    return word in listed or word.translate(_LOOKALIKES) in listed


def _is_run(word: str) -> bool:
    """Neighbours on the keyboard or in the alphabet, forwards or backwards."""
    return any(word in run * 2 or word in run[::-1] * 2 for run in _RUNS)


def _unit(word: str) -> str:
    """The shortest text that this one repeats; itself where it repeats none."""
    length = (word + word).find(word, 1)
    return word[:length]


def _is_of(password: str, other: str) -> bool:
    """Whether it is a name or contact of its owner, or the part of one before the `@`."""
    written = _letters(password)
    for own in (_letters(other), _letters(other.partition("@")[0])):
        if len(own) < _SHORTEST_WORD or own not in written:
            continue
        if len(written) - len(own) <= _DECORATION:
            return True
    return False


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


@cache
def _listed() -> frozenset[str]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))
