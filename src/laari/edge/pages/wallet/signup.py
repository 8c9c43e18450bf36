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
from laari.edge.pages.request import Access, FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import SIGN_UP, WalletVisitor
from laari.http.addresses import client_prefix
from laari.http.messages import Reply
from laari.rules import terms
from laari.rules.actors import Actor
from laari.rules.people.contacts import read_mobile
from laari.rules.people.factor_codes import read_code
from laari.rules.people.passwords import password_problem
from laari.store.people import customer_signup
from laari.store.secrets import new_secret

MAX_NAME = 255
LAST = math.inf  # the rank: everybody who logs in goes first


class SignUpVisitor(WalletVisitor):
    """Anybody who has no wallet yet."""

    async def enter(self, access: Access) -> Reply | None:
        return None if self.can_sign_up else self.no_such_page()

    def refuse(self, name: str) -> FormProblem:
        return FormProblem(422, self.language.text(name))


async def show(request: SignUpVisitor) -> Reply:
    return request.page("signup.html")


async def begin(request: SignUpVisitor) -> Reply | Problem:
    name = " ".join(request.form.get("name", "").split())
    mobile = read_mobile(request.form.get("mobile", ""))
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        return request.refuse("signup.no_name")
    if mobile is None:
        return request.refuse("signup.no_mobile")
    if password_problem(request.form.get("new", "")) is not None:
        return request.refuse("signup.weak")
    address = client_prefix(request.http.client)
    buckets = [
        throttle_bucket(terms.LINKS_PER_PERSON, "wallet sign-up", address, mobile),
        throttle_bucket(terms.LINKS_PER_PERSON_EVERYWHERE, "wallet sign-up mobile", mobile),
        throttle_bucket(terms.LINKS_PER_ADDRESS, "wallet sign-up address", address),
    ]
    throttle(request, buckets)
    password_hash = await hash_new_password(request, LAST)
    began, handle = time.monotonic(), new_secret("")
    await request.backend.write(
        customer_signup.begin,
        request.backend.master_key,
        handle,
        mobile,
        name,
        password_hash,
        "dv" if request.language.code == "dv" else "en",
        request.now,
    )
    await asyncio.sleep(max(0.0, began + REPLY_SECONDS - time.monotonic()))
    return request.page("signup_code.html", handle=handle)


async def show_code(request: SignUpVisitor) -> Reply:
    """Only in reply to a wrong code: the request's secret is in the form."""
    handle = request.form.get("handle")
    if handle is None:
        return request.go(SIGN_UP)
    return request.page("signup_code.html", handle=handle[:100])


async def finish(request: SignUpVisitor) -> Reply | Problem:
    address = client_prefix(request.http.client)
    throttle(request, [throttle_bucket(terms.CODES_PER_ADDRESS, "wallet sign-up code", address)])
    login = await request.backend.write(
        customer_signup.finish,
        Actor("service", "sign-up", address=request.http.client),
        request.backend.master_key,
        request.form.get("handle", "")[:100],
        read_code(request.form.get("code", "")),
        request.now,
    )
    if login is None:
        return request.refuse("signup.wrong_code")
    await request.start_session(login.whose, login.password_hash or "")
    remember_browser(request, login)
    return request.go(request.wanted)


ROUTES: Routes = [
    PageRoute(SignUpVisitor, "/signup", get=show, post=begin),
    PageRoute(SignUpVisitor, "/signup/code", get=show_code, post=finish),
]
