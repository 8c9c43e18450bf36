"""Sign-up of customers, if LAARI_CUSTOMER_SIGNUP is on: name, password, and a code by SMS.

The reply does not say whether the number has a wallet, neither by its text nor by its time.
"""

import asyncio
import math
import time

from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.forgotten import (
    REPLY_SECONDS,
)
from laari.edge.pages.known import remember_browser
from laari.edge.pages.login import hash_new_password, throttle
from laari.edge.pages.request import Access, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import SIGN_UP, WalletVisitor
from laari.http.client_addresses import client_prefix
from laari.http.messages import Reply
from laari.rules.actors import Actor
from laari.rules.limits.messages import (
    LINKS_PER_ADDRESS,
    LINKS_PER_PERSON,
    LINKS_PER_PERSON_EVERYWHERE,
)
from laari.rules.limits.password_links import CODES_PER_ADDRESS
from laari.rules.people.contacts import MAX_OWN_NAME, read_mobile, read_own_name
from laari.rules.people.customer_signups import BeginSignUp, FinishSignUp
from laari.rules.people.factor_codes import read_code
from laari.rules.people.passwords import password_problem
from laari.rules.records.messages import Language
from laari.rules.records.people import CustomerId
from laari.rules.refusals import Refusal
from laari.store.counters.sessions import Proof
from laari.store.reads.people import customer_signups
from laari.store.reads.people.logins import Login
from laari.store.secrets import new_secret

LAST = math.inf  # the rank: everybody who logs in goes first


class SignUpVisitor(WalletVisitor):
    """Anybody who has no wallet yet."""

    async def enter(self, access: Access) -> Reply | None:
        return None if self.can_sign_up else self.no_such_page()

    def refused(self, name: str) -> RefusedForm:
        return RefusedForm(422, self.language.text(name))


async def show(request: SignUpVisitor) -> Reply:
    return request.page("signup.html")


async def begin(request: SignUpVisitor) -> Reply:
    name = read_own_name(request.form.get("name", ""))
    mobile = read_mobile(request.form.get("mobile", ""))
    if name is None:
        raise RefusedForm(422, request.language.text("signup.no_name", most=MAX_OWN_NAME))
    if mobile is None:
        raise request.refused("signup.no_mobile")
    if password_problem(request.form.get("new", "")) is not None:
        raise request.refused("signup.weak")
    address = client_prefix(request.http.client)
    buckets = [
        throttle_bucket(LINKS_PER_PERSON, "wallet sign-up", address, mobile),
        throttle_bucket(LINKS_PER_PERSON_EVERYWHERE, "wallet sign-up mobile", mobile),
        throttle_bucket(LINKS_PER_ADDRESS, "wallet sign-up address", address),
    ]
    throttle(request, buckets)
    password_hash = await hash_new_password(request, LAST)
    began, handle = time.monotonic(), new_secret("")
    language: Language = "dv" if request.language.code == "dv" else "en"
    command = BeginSignUp(handle, mobile, name, password_hash, language)
    began_sign_up = await request.backend.spine.submit(command)
    if isinstance(began_sign_up, Refusal):
        raise RefusedForm(began_sign_up.status, request.language.text("approval.busy"))
    await asyncio.sleep(max(0.0, began + REPLY_SECONDS - time.monotonic()))
    return request.page("signup_code.html", handle=handle)


async def show_code(request: SignUpVisitor) -> Reply:
    """Only in reply to a wrong code: the request's secret is in the form."""
    handle = request.form.get("handle")
    if handle is None:
        return request.go(SIGN_UP)
    return request.page("signup_code.html", handle=handle[:100])


async def finish(request: SignUpVisitor) -> Reply:
    address = client_prefix(request.http.client)
    throttle(request, [throttle_bucket(CODES_PER_ADDRESS, "wallet sign-up code", address)])
    handle = request.form.get("handle", "")[:100]
    command = FinishSignUp(
        Actor("service", "sign-up", address=request.http.client),
        customer_signups.of_request(request.backend.master_key, handle),
        handle,
        read_code(request.form.get("code", "")),
    )
    made = await request.backend.spine.submit(command)
    if isinstance(made, Refusal):
        if made.code != "not_found":
            raise RefusedForm(made.status, request.language.text("approval.busy"))
        raise request.refused("signup.wrong_code")
    login = Login(CustomerId(made.id), made.password_hash)
    await request.start_session(login.whose, Proof(login.password_hash or ""))
    remember_browser(request, login)
    return request.go(request.wanted)


ROUTES: Routes = [
    PageRoute(SignUpVisitor, "/signup", get=show, post=begin),
    PageRoute(SignUpVisitor, "/signup/code", get=show_code, post=finish),
]
