"""Sign-up for the sandbox: a shop's name and a log-in, then the dashboard opens with its key."""

from laari.edge.pages.dashboard import overview
from laari.edge.pages.dashboard.request import SIGN_UP, DashboardRequest
from laari.edge.pages.known import remember_browser
from laari.edge.pages.request import Access, FormProblem, Problem
from laari.edge.pages.routes import PageRoute
from laari.edge.signup import MAX_NAME, SignUpFields, make_merchant
from laari.http.messages import Reply
from laari.rules.contacts import read_email
from laari.rules.passwords import password_problem
from laari.rules.refusals import Refusal
from laari.store.people import logins
from laari.store.people.logins import Login
from laari.store.people.signup import why_closed

NO_NAME = FormProblem(422, f"The shop needs a name of 1 to {MAX_NAME} printable characters.")
NO_EMAIL = FormProblem(422, "This is not an email address.")


class SignUpRequest(DashboardRequest):
    """Anybody who signs up; the request of the new merchant's person after that."""

    prefix = SIGN_UP

    async def enter(self, access: Access) -> Reply | None:
        """Says that sign-up is closed before anybody fills in the form."""
        settings = self.backend.settings
        if not settings.sandbox_signup:
            return self.page("signup_closed.html", 404, why="off")
        why = await self.backend.ask(why_closed, settings.sandbox_merchants)
        status = 503 if why == "full" else 404
        return why and self.page("signup_closed.html", status, why=why)


async def show(request: SignUpRequest) -> Reply:
    return request.page("signup.html")


async def sign_up(request: SignUpRequest) -> Reply | Problem:
    name, password = request.form.get("name", "").strip(), request.form.get("password", "")
    email = read_email(request.form.get("email", "")[:300])
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        return NO_NAME
    if email is None or not email.isprintable():
        return NO_EMAIL
    if problem := password_problem(password):
        return FormProblem(422, problem)
    backend = request.backend
    fields = SignUpFields(name=name, email=email)
    made = await make_merchant(backend, request.http, fields, password)
    if isinstance(made, Refusal):
        return made
    password_hash = await backend.ask(logins.password_hash_of, email)
    assert password_hash is not None  # the merchant was made a moment ago
    await request.start_session(email, password_hash)
    remember_browser(request, Login(email, password_hash))
    stopped = await request.open("sandbox")  # if the password was changed in this moment
    return stopped or await overview.show(request, secret_key=made.secret_key)


ROUTES = [PageRoute(SignUpRequest, "", get=show, post=sign_up)]
