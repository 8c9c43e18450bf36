"""Sign-up for the sandbox: a shop's name and a login, and the dashboard opens with its key."""

from laari.edge.pages.dashboard import overview
from laari.edge.pages.dashboard.desk import SIGN_UP, desk_of
from laari.edge.pages.known import remember_browser
from laari.edge.pages.language import ENGLISH
from laari.edge.pages.visit import Visit, page_route
from laari.edge.signup import MAX_NAME, SignUpFields, make_merchant
from laari.http.messages import Reply
from laari.rules.contacts import read_email
from laari.rules.passwords import password_problem
from laari.rules.refusals import Refusal
from laari.store.people import logins
from laari.store.people.logins import Login
from laari.store.people.signup import why_closed

NO_NAME = f"The shop needs a name of 1 to {MAX_NAME} printable characters."
NO_EMAIL = "This is not an email address."


async def show(visit: Visit) -> Reply:
    closed = await _closed(visit)
    return _page(visit) if closed is None else closed


async def _closed(visit: Visit) -> Reply | None:
    """A page that says why nobody can sign up: nobody fills in a form that leads nowhere."""
    visit.language = ENGLISH
    settings = visit.backend.settings
    if not settings.sandbox_signup:
        return visit.page("dashboard/signup_closed.html", 404, why="off")
    why = await visit.backend.ask(why_closed, settings.sandbox_merchants)
    status = 503 if why == "full" else 404
    return why and visit.page("dashboard/signup_closed.html", status, why=why)


async def sign_up(visit: Visit) -> Reply:
    closed = await _closed(visit)
    if closed is not None:
        return closed
    name, password = visit.form.get("name", "").strip(), visit.form.get("password", "")
    email = read_email(visit.form.get("email", "")[:300])
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        return _page(visit, 422, NO_NAME)
    if email is None or not email.isprintable():
        return _page(visit, 422, NO_EMAIL)
    problem = password_problem(password)
    if problem is not None:
        return _page(visit, 422, problem)
    fields = SignUpFields(name=name, email=email)
    made = await make_merchant(visit.backend, visit.http, fields, password)
    if isinstance(made, Refusal):
        visit.retry_after = made.retry_after
        return _page(visit, made.status, made.message)
    await _log_in(visit, email)
    desk = await desk_of(visit, "sandbox")
    if isinstance(desk, Reply):  # its password was changed in this very moment
        return desk
    return await overview.show(desk, secret_key=made.secret_key)


async def _log_in(visit: Visit, email: str) -> None:
    password_hash = await visit.backend.ask(logins.password_hash_of, email)
    assert password_hash is not None  # it was made a moment ago
    await visit.start_session(email, password_hash)
    remember_browser(visit, Login(email, password_hash))


def _page(visit: Visit, status: int = 200, problem: str | None = None) -> Reply:
    name, email = visit.form.get("name", ""), visit.form.get("email", "")
    return visit.page("dashboard/signup.html", status, problem=problem, name=name, email=email)


ROUTES = [page_route(SIGN_UP, get=show, post=sign_up, audience="user")]
