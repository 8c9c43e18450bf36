"""Browsers in which a person has logged in before keep their own number of log-in attempts.

Otherwise a stranger who guesses passwords would lock the person out.
"""

import hmac
import secrets

from laari.edge.pages.request import PageRequest
from laari.rules.limits.known_browsers import KNOWN_BROWSER_LIFE
from laari.store.reads.people.logins import Login
from laari.store.secrets import derive

COOKIE = "laari-known"
MOST_PEOPLE = 4  # marks of one browser: the latest log-ins
_ID_BYTES = 16
_MARK_LENGTH = 32  # hex digits
_LONGEST = 2 * _ID_BYTES + MOST_PEOPLE * (_MARK_LENGTH + 1)


def _read(request: PageRequest) -> tuple[str, list[str]] | None:
    """The browser's id and its marks, valid or not."""
    value = request.cookie(COOKIE) or ""
    browser, *marks = value.split(".") if value.isascii() and len(value) <= _LONGEST else [""]
    return (browser, marks) if len(browser) == 2 * _ID_BYTES else None


def _mark(request: PageRequest, browser: str, login: Login) -> str:
    bound_to = f"{browser} {login.whose.id} {login.password_hash}"
    return derive(request.backend.master_key, "known-browser", bound_to).hex()[:_MARK_LENGTH]


def shows_marks(request: PageRequest) -> bool:
    return _read(request) is not None


def known_browser(request: PageRequest, login: Login | None) -> str | None:
    """The browser's id if this person has logged in there."""
    cookie = _read(request)
    if login is None or cookie is None:
        return None
    browser, marks = cookie
    expected = _mark(request, browser, login)
    return browser if any(hmac.compare_digest(expected, mark) for mark in marks) else None


def remember_browser(request: PageRequest, login: Login) -> None:
    """Adds a mark after a log-in; the oldest ones make room."""
    browser, marks = _read(request) or (secrets.token_hex(_ID_BYTES), [])
    mark = _mark(request, browser, login)
    kept = [mark, *(other for other in marks if other != mark)][:MOST_PEOPLE]
    seconds = int(KNOWN_BROWSER_LIFE.total_seconds())
    request.keep_cookie(COOKIE, ".".join([browser, *kept]), seconds)
