"""Log-ins with a password: slow on purpose, equally slow for unknown people, and throttled."""

import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from laari.edge.load.admission import Overloaded
from laari.edge.load.hashing import FIRST
from laari.edge.load.token_buckets import Bucket, throttle_bucket
from laari.edge.pages.known import known_browser, remember_browser, shows_marks
from laari.edge.pages.request import PageRequest, RefusedForm
from laari.http.client_addresses import client_prefix, neighbourhood
from laari.rules.actors import Actor
from laari.rules.limits.confirmation import CONFIRM_AFTER
from laari.rules.limits.passwords import (
    CONFIRMATIONS_PER_PERSON,
    MAX_PASSWORD_LENGTH,
    PASSWORD_DEMAND,
    PASSWORDS_PER_ADDRESS,
    PASSWORDS_PER_PERSON,
    PASSWORDS_PER_PERSON_EVERYWHERE,
)
from laari.rules.people.contacts import read_email, read_mobile, read_vpa
from laari.rules.people.log_ins import SetPassword
from laari.rules.people.passwords import COMMON, TOO_LONG, TOO_SHORT, password_problem
from laari.rules.people.second_factors import CheckFactor
from laari.rules.records.people import show_whose
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.counters.sessions import PersonSession, Proof, Session
from laari.store.people.passwords import nobodys_hash
from laari.store.reads.people import logins
from laari.store.reads.people.logins import Login

WRONG = 422  # the status of a password that does not fit
_PROBLEMS = {TOO_SHORT: "short", TOO_LONG: "long", COMMON: "common"}  # of a new password


class Named(NamedTuple):
    """How to look up the login that a form names, and one name for all its spellings."""

    find: Callable[..., Awaitable[Login | None]]
    identity: str


async def log_in_customer(request: PageRequest, mode: Mode) -> Login:
    """Logs in the customer with the form's `identity` and `password`."""
    return await _log_in(request, customer_named(request, mode))


async def log_in_person(request: PageRequest) -> Login:
    """Logs in one of the people of merchants or of the operator, by email."""
    return await _log_in(request, person_named(request))


def customer_named(request: PageRequest, mode: Mode) -> Named:
    """The customer with the form's `identity`."""
    identity = request.form.get("identity", "").strip()[:300]
    suffixes = request.backend.settings.vpa_suffixes
    mobile, email, vpa = read_mobile(identity), read_email(identity), read_vpa(identity, suffixes)
    if vpa is not None:
        email = None  # an address with one of our suffixes is a VPA
    find = partial(logins.of_customer, mode=mode, mobile=mobile, email=email, vpa=vpa)
    return Named(find, f"{mode} {mobile or email or vpa or identity}")


def person_named(request: PageRequest) -> Named:
    """The person of a merchant or of the operator with the form's `identity`, an email."""
    email = read_email(request.form.get("identity", "")[:300])
    return Named(partial(logins.of_person, email=email or ""), f"user {email}")


async def _log_in(request: PageRequest, named: Named) -> Login:
    address, identity = client_prefix(request.http.client), named.identity
    strangers = [
        throttle_bucket(PASSWORDS_PER_PERSON, "log-in", address, identity),
        throttle_bucket(PASSWORDS_PER_PERSON_EVERYWHERE, "log-in identity", identity),
        throttle_bucket(PASSWORDS_PER_ADDRESS, "log-in address", address),
    ]
    asked = demand(request)
    # A browser without marks is throttled before the person is looked up.
    if not shows_marks(request):
        throttle(request, strangers)
    login = await request.backend.ask(named.find)
    browser = known_browser(request, login)
    if browser is not None:
        own = throttle_bucket(PASSWORDS_PER_PERSON, "log-in browser", browser, identity)
        throttle(request, [own])
    elif shows_marks(request):
        throttle(request, strangers)
    password_hash = None if login is None else login.password_hash
    rank = asked if browser is None else FIRST
    refused = await _verify(request, password_hash, rank, "wrong")
    if refused is not None:
        if login is not None and refused.problem.status == WRONG:
            request.backend.failed_logins.note(login.whose, request.now)
        raise refused
    assert login is not None
    assert password_hash is not None
    # A password that came with the account is used on a new device by nature.
    is_new = browser is None and not login.first_password
    if not await request.start_session(login.whose, Proof(password_hash), is_new=is_new):
        # The password was changed after it was read.
        raise _refused(request, 422, "wrong")
    remember_browser(request, login)
    return login


def throttle(request: PageRequest, buckets: list[Bucket]) -> None:
    """Counts an attempt in all buckets or none: one address cannot use up a person's attempts."""
    wait = request.backend.rates.take_all(buckets, time.monotonic())
    if wait > 0:
        raise _refused(request, 429, "throttled", math.ceil(wait))


def _refused(
    request: PageRequest, status: int, name: str, retry_after: int | None = None
) -> RefusedForm:
    return RefusedForm(status, request.language.text(f"login.{name}"), retry_after)


def demand(request: PageRequest) -> float:
    """The recent attempts from this address before this one, which is counted too.

    Attempts of its neighbours break a tie: a flood usually comes from adjacent addresses.
    """
    rates, client, now = request.backend.rates, request.http.client, time.monotonic()
    before = []
    for name in (client_prefix(client), neighbourhood(client)):
        bucket = throttle_bucket(PASSWORD_DEMAND, "log-in demand", name)
        before.append(rates.used(bucket, now))
        rates.take(bucket, now)
    own, around = before
    return math.ceil(own) + around / (2 * PASSWORD_DEMAND.burst)


def is_fresh(request: PageRequest, session: Session) -> bool:
    """Whether the password was entered recently enough for payments and credentials."""
    return request.now - session.authenticated_at <= CONFIRM_AFTER


async def confirm(request: PageRequest, session: Session, *, always: bool = False) -> None:
    """Verifies the form's `password`, unless it was entered recently.

    A person with a second factor enters a `code` with the password.
    """
    if not always and is_fresh(request, session):
        return
    own = throttle_bucket(PASSWORDS_PER_PERSON, "log-in session", session.digest.hex())
    person = throttle_bucket(CONFIRMATIONS_PER_PERSON, "log-in person", show_whose(session.whose))
    throttle(request, [own, person])
    password_hash = await request.backend.ask(logins.password_hash_of, session.whose)
    refused = await _verify(request, password_hash, FIRST, "again_wrong")
    if refused is not None:
        if refused.problem.status == WRONG:
            request.backend.failed_logins.note(session.whose, request.now)
        raise refused
    assert password_hash is not None
    if isinstance(session, PersonSession) and session.has_factor:
        wrong = await request.backend.spine.submit(
            CheckFactor(session.whose, request.form.get("code", ""))
        )
        if wrong is not None:
            raise RefusedForm.of_field(wrong)
    noted = await request.backend.write(
        sessions.note_authenticated, session, request.now, password_hash
    )
    if not noted:
        raise _refused(request, 422, "again_wrong")


async def _verify(
    request: PageRequest, password_hash: str | None, rank: float, wrong: str
) -> RefusedForm | None:
    """Verifies the form's password; it takes the same time if the person does not exist."""
    password = request.form.get("password", "")[:MAX_PASSWORD_LENGTH]
    try:
        fits = await request.backend.hashing.fits(
            password,
            password_hash or nobodys_hash(),
            rank=rank,
            disconnected=request.http.disconnected,
        )
    except Overloaded as full:
        return _refused(request, 503, "busy", full.retry_after)
    return None if fits and password_hash is not None else _refused(request, WRONG, wrong)


def check_new_password(request: PageRequest) -> None:
    """Refuses a `new` password that cannot be set, or is not `repeated`."""
    new = request.form.get("new", "")
    problem = password_problem(new)
    if problem is not None:
        raise _refused_password(request, 422, _PROBLEMS[problem])
    if new != request.form.get("repeated", ""):
        raise _refused_password(request, 422, "not_the_same")


def _refused_password(request: PageRequest, status: int, name: str) -> RefusedForm:
    return RefusedForm(status, request.language.text(f"password.{name}"))


async def hash_new_password(request: PageRequest, rank: float = FIRST) -> str:
    return await hash_in_queue(request, request.form.get("new", ""), rank)


async def hash_in_queue(request: PageRequest, password: str, rank: float = FIRST) -> str:
    try:
        return await request.backend.hashing.hash(
            password, rank=rank, disconnected=request.http.disconnected
        )
    except Overloaded as full:
        raise _refused(request, 503, "busy", full.retry_after) from None


async def change_password(request: PageRequest, session: Session, actor: Actor) -> None:
    """Follows a form with the current `password`, and the `new` one `repeated`.

    All other sessions of the person end; this browser continues with a new session.
    """
    check_new_password(request)
    if request.form["new"] == request.form.get("password"):
        raise _refused_password(request, 422, "no_other")
    current = await request.backend.ask(logins.password_hash_of, session.whose)
    await confirm(request, session, always=True)
    password_hash = await hash_new_password(request)
    ended = await request.backend.spine.submit(
        SetPassword(actor, session.whose, password_hash, verified=current)
    )
    if isinstance(ended, Refusal) and ended.code == "conflict":
        raise _refused_password(request, 409, "changed_meanwhile")
    if isinstance(ended, Refusal):
        raise RefusedForm.of(ended)
    # The factor counts if it was there when the code was checked.
    had_factor = isinstance(session, PersonSession) and session.has_factor
    await request.start_session(session.whose, Proof(password_hash, with_factor=had_factor))
    remember_browser(request, Login(session.whose, password_hash))
