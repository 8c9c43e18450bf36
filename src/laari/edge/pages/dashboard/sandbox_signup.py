"""Sign-up for the sandbox: a shop's name and a log-in, then the dashboard opens with its key."""

from laari.edge.pages.dashboard import overview
from laari.edge.pages.dashboard.request import SIGN_UP, DashboardRequest
from laari.edge.pages.known import remember_browser
from laari.edge.pages.request import NO_EMAIL, Access, RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.edge.sandbox_signup import MAX_NAME, SignUpFields, make_merchant
from laari.http.messages import Reply
from laari.rules.people.contacts import read_email
from laari.rules.people.passwords import password_problem
from laari.rules.refusals import Refusal
from laari.store.counters.sessions import PersonSession, Proof
from laari.store.reads import tenants
from laari.store.reads.people import logins

NO_NAME = f"The shop needs a name of 1 to {MAX_NAME} printable characters."


class SignUpRequest(DashboardRequest):
    """Anybody who signs up; the request of the new merchant's person after that.

    A person who is logged in adds a shop. Others need an email that no person has: a stranger must
    not get a password for it.
    """

    prefix = SIGN_UP
    owner: PersonSession | None = None

    async def enter(self, access: Access) -> Reply | None:
        """Says that sign-up is closed before anybody fills in the form."""
        settings = self.backend.settings
        if not settings.sandbox_signup:
            return self.page("signup_closed.html", 404, why="off")
        if await self.backend.ask(tenants.is_full, settings.sandbox_merchants):
            return self.page("signup_closed.html", 503, why="full")
        self.owner = await self.find_person()
        return None


async def show(request: SignUpRequest) -> Reply:
    return request.page("signup.html")


async def sign_up(request: SignUpRequest) -> Reply:
    name = request.form.get("name", "").strip()
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise RefusedForm(422, NO_NAME)
    if request.owner is not None:
        return await _add_shop(request, name, request.owner)
    password = request.form.get("password", "")
    email = read_email(request.form.get("email", "")[:300])
    if email is None or not email.isprintable():
        raise RefusedForm(422, NO_EMAIL)
    if problem := password_problem(password):
        raise RefusedForm(422, problem)
    fields = SignUpFields(name=name, email=email)
    made = await make_merchant(request.backend, request.http, fields, password)
    if isinstance(made, Refusal):
        raise RefusedForm.of(made)
    login = await request.backend.ask(logins.of_person, email)
    assert login is not None  # the merchant was made a moment ago
    # With the hash that was made here: an invitation may have replaced it since.
    if await request.start_session(login.whose, Proof(made.password_hash or "")):
        remember_browser(request, login)
    stopped = await request.open(made.merchant.id, "sandbox")  # to the log-in, if it was replaced
    return stopped or await overview.show(request, secret_key=made.secret_key)


async def _add_shop(request: SignUpRequest, name: str, owner: PersonSession) -> Reply:
    fields = SignUpFields(name=name)
    made = await make_merchant(request.backend, request.http, fields, owner=owner)
    if isinstance(made, Refusal):
        raise RefusedForm.of(made)
    stopped = await request.open(made.merchant.id, "sandbox")
    return stopped or await overview.show(request, secret_key=made.secret_key)


ROUTES = [PageRoute(SignUpRequest, "", get=show, post=sign_up, own=True)]
