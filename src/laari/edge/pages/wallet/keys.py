"""API keys with which the customer's own programs read the wallet."""

import re

from laari.edge.pages.login import confirm
from laari.edge.pages.request import FormProblem, Problem, in_form, read_count
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.wallet.request import EnglishRequest
from laari.http.messages import Reply
from laari.rules.people.wallet_keys import MAX_NAME, CreateWalletKey, RevokeWalletKey
from laari.rules.refusals import Refusal
from laari.store.reads.people import wallet_keys

NO_NAME = FormProblem(422, f"Give the key a name of at most {MAX_NAME} characters.")
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


async def show(request: EnglishRequest, new_key: str | None = None) -> Reply:
    account = request.customer.account
    return request.page(
        "keys.html",
        keys=await request.backend.ask(wallet_keys.usable, account),
        new_key=new_key,
        made=(await request.backend.ask(wallet_keys.counts, account)).made,
        name=request.form.get("name", "") if request.problem else "",
        address=f"{request.backend.origin}/wallet",
    )


async def create(request: EnglishRequest) -> Reply | Problem:
    """Shows the key once; only its digest is stored.

    The form has the number of keys at the time it was shown, so that one form makes one key.
    """
    name = request.form.get("name", "").strip()
    if not 1 <= len(name) <= MAX_NAME:
        return NO_NAME
    await confirm(request, request.customer)
    before = read_count(request.form.get("made", ""))
    made = await request.backend.spine.submit(
        CreateWalletKey(request.actor, request.customer.account, name, before)
    )
    return in_form(made) if isinstance(made, Refusal) else await show(request, new_key=made)


async def revoke(request: EnglishRequest) -> Reply:
    if _DIGEST.fullmatch(request.params["digest"]):
        key_digest = bytes.fromhex(request.params["digest"])
        await request.backend.spine.submit(
            RevokeWalletKey(request.actor, request.customer.account, key_digest)
        )
    return request.go("/app/keys")


ROUTES = [
    PageRoute(EnglishRequest, "/keys", get=show, post=create),
    PageRoute(EnglishRequest, "/keys/{digest}/revoke", post=revoke),
]
