"""Our own cookies, read from what a browser sent, in time that grows with its length alone.

Python's parser of cookies takes quoted values apart with a search that is quadratic before 3.11.10
(a header of 8 KB holds a process up for a second). We never quote a value, so nothing is unquoted
here, and whatever is not ours is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "laari"
HOST_PREFIX = "__Host-"  # a browser takes such a cookie from this host over https only
_OURS = (PREFIX, HOST_PREFIX + PREFIX)


def own_cookies(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Every cookie whose name begins as ours do, over all Cookie headers.

    Of two with one name the first counts: a browser sends the one that it has had for longer first,
    so one that was planted beside a session later does not replace it.
    """
    found: dict[str, str] = {}
    for header, value in headers:
        if header != b"cookie":
            continue
        for pair in value.decode("latin-1").split(";"):
            name, equals, content = pair.strip(" \t").partition("=")
            if equals and name.startswith(_OURS):
                found.setdefault(name, content)
    return found
