"""Our own cookies, never quoted: before Python 3.11.10 the standard parser is quadratic."""

import re
from collections.abc import Iterable

from laari.http.messages import Header

PREFIX = "laari"
HOST_PREFIX = "__Host-"  # a browser accepts such a cookie only from this host over https
SECURE_PREFIX = "__Secure-"  # the same for a cookie that has a path
DEVICE = "laari-device"
DEVICE_OFFERED = "laari-device-offered"
PATHS = {DEVICE: "/pay", DEVICE_OFFERED: "/pay"}  # of cookies that only some pages get
MOST_COOKIES = 256  # browsers keep fewer than 200 for one host
_OURS = (PREFIX, HOST_PREFIX + PREFIX, SECURE_PREFIX + DEVICE)
_VALUE = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)  # what needs no quotes


def own_cookies(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The cookies with our prefix, from all Cookie headers, of the first `MOST_COOKIES`.

    A browser sends the older of a name first, so one that is planted later has no effect.
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


def full_name(name: str, *, secure: bool) -> str:
    """As browsers know the cookie: with https, a prefix binds it to this host."""
    if not secure:
        return name
    return (SECURE_PREFIX if name in PATHS else HOST_PREFIX) + name


def set_cookie(name: str, value: str, seconds: int | None, *, secure: bool) -> Header:
    """For this host only, hidden from scripts; without `seconds`, until the browser closes.

    An empty value with zero seconds deletes the cookie.
    """
    path, name = PATHS.get(name, "/"), full_name(name, secure=secure)
    if value and not _VALUE.fullmatch(value):
        raise ValueError(f"the cookie {name} would need quotes")
    parts = [f"{name}={value or chr(34) * 2}", "HttpOnly"]
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    parts += [f"Path={path}", "SameSite=lax", *(["Secure"] if secure else [])]
    return b"set-cookie", "; ".join(parts).encode("ascii")
