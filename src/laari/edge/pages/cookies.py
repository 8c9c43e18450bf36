"""Our own cookies: read from what a browser sent, and written for it to keep.

Python's parser of cookies takes quoted values apart with a search that is quadratic before 3.11.10
(a header of 8 KB holds a process up for a second). We never quote a value, so nothing is unquoted
here, and whatever is not ours is passed over: reading takes time in proportion to the header.
"""

import re
from collections.abc import Iterable

from laari.http.messages import Header

PREFIX = "laari"
HOST_PREFIX = "__Host-"  # a browser takes such a cookie from this host over https only
MOST_COOKIES = 256  # browsers keep fewer than 200 for one host
_OURS = (PREFIX, HOST_PREFIX + PREFIX)
_VALUE = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)  # what needs no quotes


def own_cookies(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Every cookie whose name begins as ours do, over all Cookie headers.

    Of two with one name the first counts: a browser sends the one that it has had for longer first,
    so one that was planted beside a session later does not replace it. Beyond `MOST_COOKIES` none
    is looked at.
    """
    found: dict[str, str] = {}
    left = MOST_COOKIES
    for header, value in headers:
        if header != b"cookie":
            continue
        pairs = value.split(b";", left)[:left]
        left -= len(pairs)
        for pair in pairs:
            name, equals, content = pair.decode("latin-1").strip(" \t").partition("=")
            if equals and name.startswith(_OURS):
                found.setdefault(name, content)
    return found


def set_cookie(name: str, value: str, seconds: int | None, *, secure: bool) -> Header:
    """For this host alone, out of reach of scripts; without `seconds`, until the browser closes.

    An empty value with no seconds left takes the cookie away.
    """
    if value and not _VALUE.fullmatch(value):
        raise ValueError(f"the cookie {name} would need quotes")
    parts = [f"{name}={value or chr(34) * 2}", "HttpOnly"]
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    parts += ["Path=/", "SameSite=lax", *(["Secure"] if secure else [])]
    return b"set-cookie", "; ".join(parts).encode("ascii")
