"""Browsers in which somebody has logged in before: they are let try when others are not.

Whoever guesses at somebody's password from many places uses up what that person may try, and keeps
them out. A browser that has been let in once has tries of its own. It shows so by a cookie with a
random number and a mark for each person who logged in, which nobody can make without the master
key. A mark is bound to the password: a new one makes strangers of all browsers but the one in which
it was set.
"""

import hmac
import secrets

from laari.edge.pages.visit import Visit
from laari.store.people.logins import Login
from laari.store.secrets import derive

COOKIE = "laari-known"
SECONDS = 365 * 24 * 3600
MOST_PEOPLE = 4  # of one browser: those who logged in last
_ID_BYTES = 16
_MARK_LENGTH = 32  # hex digits
_LONGEST = 2 * _ID_BYTES + MOST_PEOPLE * (_MARK_LENGTH + 1)


def _held(visit: Visit) -> tuple[str, list[str]] | None:
    """The browser's number and the marks that it shows, whether or not they are ours."""
    value = visit.cookie(COOKIE) or ""
    browser, *marks = value.split(".") if value.isascii() and len(value) <= _LONGEST else [""]
    return (browser, marks) if len(browser) == 2 * _ID_BYTES else None


def _mark(visit: Visit, browser: str, login: Login) -> str:
    bound_to = f"{browser} {login.whose} {login.password_hash}"
    return derive(visit.backend.master_key, "known-browser", bound_to).hex()[:_MARK_LENGTH]


def shows_marks(visit: Visit) -> bool:
    return _held(visit) is not None


def known_browser(visit: Visit, login: Login | None) -> str | None:
    """The browser's number, if this person has logged in with it."""
    held = _held(visit)
    if login is None or held is None:
        return None
    browser, marks = held
    expected = _mark(visit, browser, login)
    return browser if any(hmac.compare_digest(expected, mark) for mark in marks) else None


def remember_browser(visit: Visit, login: Login) -> None:
    """After a log-in. Marks that nobody's password fits any more go as newer ones come."""
    browser, marks = _held(visit) or (secrets.token_hex(_ID_BYTES), [])
    mark = _mark(visit, browser, login)
    kept = [mark, *(other for other in marks if other != mark)][:MOST_PEOPLE]
    visit.keep_cookie(COOKIE, ".".join([browser, *kept]), SECONDS)
