"""Changing one's own password, for customers and for merchants' people alike."""

from typing import NamedTuple

from laari.edge.load.hashing import FIRST
from laari.edge.load.overload import Overloaded
from laari.edge.pages.known import remember_browser
from laari.edge.pages.login import STATUSES, confirm_password
from laari.edge.pages.visit import Visit
from laari.rules.passwords import password_problem
from laari.store.people import logins
from laari.store.people.logins import Login
from laari.store.people.sessions import Session

NOT_THE_SAME = "The new password and its repetition are not the same."
NO_OTHER = "The new password is the one you have already."
CHANGED_MEANWHILE = "Your password was changed in the meantime. Nothing was done."


class NotChanged(NamedTuple):
    """Why a password was not changed."""

    status: int
    words: str


async def change_password(visit: Visit, session: Session) -> NotChanged | None:
    """Follows the form: `password` is the present one, `new` and `repeated` the other.

    Whoever else is logged in with the old password is out; this browser goes on with a new session.
    """
    new = visit.form.get("new", "")
    problem = password_problem(new)
    if problem is None and new != visit.form.get("repeated", ""):
        problem = NOT_THE_SAME
    if problem is None and new == visit.form.get("password"):
        problem = NO_OTHER
    if problem is not None:
        return NotChanged(422, problem)
    present = await visit.backend.ask(logins.password_hash_of, session.whose)
    wrong = await confirm_password(visit, session)
    if wrong is not None:
        return NotChanged(wrong.status, wrong.words)
    try:
        password_hash = await visit.backend.hashing.hash(
            new, rank=FIRST, disconnected=visit.http.disconnected
        )
    except Overloaded as full:
        visit.retry_after = full.retry_after
        return NotChanged(STATUSES["busy"], visit.language.text("login.busy"))
    ended = await visit.backend.write(
        logins.set_password, session.whose, password_hash, verified=present
    )
    if ended is None:
        return NotChanged(409, CHANGED_MEANWHILE)
    await visit.start_session(session.whose, password_hash)
    remember_browser(visit, Login(session.whose, password_hash))
    return None
