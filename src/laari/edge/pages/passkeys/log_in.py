"""The log-in with a passkey, to the wallet or on a page, and its answer instead of the password."""

import os

import msgspec

from laari.edge.input.passkeys import Party, Used, read_used, to_text, verify_used
from laari.edge.load.admission import Overloaded
from laari.edge.load.hashing import FIRST
from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.known import known_browser, remember_browser
from laari.edge.pages.login import WRONG, demand, is_fresh, throttle
from laari.edge.pages.login import confirm as confirm_by_password
from laari.edge.pages.request import PageRequest, RefusedForm
from laari.http.client_addresses import client_prefix
from laari.http.messages import Reply
from laari.rules.limits.passkeys import PASSKEY_CHALLENGE_LIFE
from laari.rules.limits.passwords import PASSWORDS_PER_ADDRESS
from laari.rules.people.passkey_challenges import RANDOM_BYTES, Bound, ForLogIn, new_challenge
from laari.rules.people.passkeys import UsePasskey
from laari.rules.records.people import CustomerId
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.counters.sessions import CustomerSession, Proof
from laari.store.reads.people import passkeys
from laari.store.reads.people.logins import Login
from laari.store.reads.people.passkeys import WithPassword
from laari.store.secrets import keys_of

TIMEOUT = int(PASSKEY_CHALLENGE_LIFE.total_seconds() * 1000)  # milliseconds
VERIFIED = "required"  # the user: a finger, a face or a PIN


def party(request: PageRequest) -> Party:
    found = request.backend.party
    if found is None:  # the pages show no form then
        raise refused(request)
    return found


def challenge(request: PageRequest, bound: Bound) -> str:
    digest = keys_of(request.backend.master_key).digest
    return to_text(new_challenge(digest, request.now, os.urandom(RANDOM_BYTES), bound))


async def show_options(request: PageRequest, mode: Mode) -> Reply:
    """What a script gives to the browser. Nothing is stored."""
    if request.backend.party is None:
        return request.no_such_page()
    options = {
        "challenge": challenge(request, _bound(request, mode)),
        "rpId": request.backend.party.id,
        "timeout": TIMEOUT,
        "userVerification": VERIFIED,
    }
    return Reply(200, msgspec.json.encode(options))


async def log_in(request: PageRequest, mode: Mode) -> None:
    """Logs in the customer with the passkey that has answered the challenge."""
    found = await _answered(request, mode, "refused")
    login = _login_of(found)
    is_new = known_browser(request, login) is None
    proof = Proof(found.password_hash, passkey=found.passkey.id)
    if not await request.start_session(login.whose, proof, is_new=is_new):
        # The password was changed, or the passkey ended, after they were read.
        raise refused(request)
    remember_browser(request, login)


async def confirm(request: PageRequest, session: CustomerSession) -> None:
    """Verifies the form's answer of a passkey, or its password, unless one was given recently."""
    if "credential" not in request.form or is_fresh(request, session):
        await confirm_by_password(request, session)
        return
    found = await _answered(request, session.mode, "not_confirmed")
    noted = found.passkey.customer_id == session.customer_id and await request.backend.write(
        sessions.note_authenticated, session, request.now, found.password_hash
    )
    if not noted:  # another customer's, or the password was changed after it was read
        raise refused(request, "not_confirmed")


def _login_of(found: WithPassword) -> Login:
    return Login(CustomerId(found.passkey.customer_id), found.password_hash)


async def _answered(request: PageRequest, mode: Mode, problem: str) -> WithPassword:
    """The passkey that has answered the challenge in this browser and on this page."""
    address = client_prefix(request.http.client)
    throttle(request, [throttle_bucket(PASSWORDS_PER_ADDRESS, "passkey address", address)])
    rank, used, found = demand(request), read_used(request.form), None
    if used is not None:
        found = await request.backend.ask(passkeys.by_credential, used.credential)
    if used is None or found is None:
        raise refused(request, problem)
    login, bound = _login_of(found), _bound(request, mode)
    is_known = known_browser(request, login) is not None
    if not await _counts(request, bound, used, found, FIRST if is_known else rank):
        request.backend.failed_logins.note(login.whose, request.now)
        raise refused(request, problem)
    return found


async def _counts(
    request: PageRequest, bound: ForLogIn, used: Used, found: WithPassword, rank: float
) -> bool:
    """Whether the answer was signed by this passkey, and counts now."""
    ours, passkey = party(request), found.passkey
    if used.user_handle not in (b"", passkey.customer_id.bytes):
        return False
    try:
        counter = await request.backend.hashing.run(
            verify_used,
            ours,
            passkey.public_key,
            used,
            rank=rank,
            disconnected=request.http.disconnected,
        )
    except Overloaded as full:
        raise busy(request, full.retry_after) from None
    if counter is None:
        return False
    outcome = await request.backend.spine.submit(
        UsePasskey(
            passkey_id=passkey.id,
            customer_id=passkey.customer_id,
            public_key=passkey.public_key,
            counter=counter,
            challenge=used.challenge,
            bound=bound,
        )
    )
    if isinstance(outcome, Refusal) and outcome.retry_after is not None:
        raise busy(request, outcome.retry_after)
    return not isinstance(outcome, Refusal)


def _bound(request: PageRequest, mode: Mode) -> ForLogIn:
    return ForLogIn(mode, request.page_alone, request.browser_secret)


def refused(request: PageRequest, problem: str = "refused") -> RefusedForm:
    return RefusedForm(WRONG, request.language.text(f"passkeys.{problem}"))


def busy(request: PageRequest, retry_after: int | None) -> RefusedForm:
    return RefusedForm(503, request.language.text("login.busy"), retry_after)
