"""Forgotten passwords: a single-use link by email or a code by SMS, for people and customers.

The reply does not say whether the account exists, neither by its text nor by its time.
"""

import asyncio
import time

from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.login import (
    Named,
    check_new_password,
    hash_new_password,
    throttle,
)
from laari.edge.pages.request import PageRequest, RefusedForm
from laari.http.client_addresses import client_prefix
from laari.http.messages import Reply
from laari.rules.limits.messages import (
    LINKS_PER_ADDRESS,
    LINKS_PER_PERSON,
    LINKS_PER_PERSON_EVERYWHERE,
)
from laari.rules.limits.password_links import CODES_PER_ADDRESS
from laari.rules.people.factor_codes import read_code
from laari.rules.people.password_links import AskPasswordLink, ExchangeCode, UsePasswordLink
from laari.rules.records.people import CustomerId, Whose
from laari.rules.refusals import Refusal
from laari.store.reads.people import password_links
from laari.store.reads.people.logins import Login
from laari.store.secrets import new_secret

REPLY_SECONDS = 0.3  # longer than the look-up and the writes take


async def ask(request: PageRequest, named: Named) -> str:
    """Sends a link or a code if the login exists; returns the secret of the request."""
    address = client_prefix(request.http.client)
    throttle(
        request,
        [
            throttle_bucket(LINKS_PER_PERSON, "forgotten", address, named.identity),
            throttle_bucket(LINKS_PER_PERSON_EVERYWHERE, "forgotten identity", named.identity),
            throttle_bucket(LINKS_PER_ADDRESS, "forgotten address", address),
        ],
    )
    began = time.monotonic()
    handle = new_secret("")
    login: Login | None = await request.backend.ask(named.find)
    if login is not None:
        await request.backend.spine.submit(AskPasswordLink(login.whose, handle))
    await asyncio.sleep(max(0.0, began + REPLY_SECONDS - time.monotonic()))
    return handle


async def exchange(request: PageRequest) -> str:
    """The token of a link for the form's `handle` and `code`."""
    address = client_prefix(request.http.client)
    throttle(request, [throttle_bucket(CODES_PER_ADDRESS, "forgotten code", address)])
    handle, code = request.form.get("handle", "")[:100], read_code(request.form.get("code", ""))
    digest = password_links.of_request(request.backend.master_key, handle)
    exchanged = await request.backend.spine.submit(ExchangeCode(digest, handle, code))
    if isinstance(exchanged, Refusal) and exchanged.code == "not_found":
        raise RefusedForm(422, request.language.text("forgotten.wrong_code"))
    if isinstance(exchanged, Refusal):
        raise RefusedForm.of(exchanged)
    return exchanged


async def whose_link(request: PageRequest, *, of_customer: bool) -> Whose | None:
    """The owner of the link in the address; a link works only in its own area."""
    token = request.params["token"][:100]
    whose = await request.backend.ask(
        password_links.find, request.backend.master_key, token, request.now
    )
    return whose if whose is not None and isinstance(whose, CustomerId) == of_customer else None


async def set_password(request: PageRequest, *, of_customer: bool) -> bool:
    """Sets the form's new password; False if the link does not work."""
    if await whose_link(request, of_customer=of_customer) is None:
        return False
    check_new_password(request)
    password_hash = await hash_new_password(request)
    digest = password_links.of_link(request.backend.master_key, request.params["token"][:100])
    used = await request.backend.spine.submit(
        UsePasswordLink(digest, password_hash, request.http.client)
    )
    if isinstance(used, Refusal) and used.code != "not_found":
        raise RefusedForm.of(used)
    return not isinstance(used, Refusal)


def no_link(request: PageRequest) -> Reply:
    return request.page("link_gone.html", 410)
