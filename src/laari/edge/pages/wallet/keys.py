"""API keys with which the customer's own programs read the wallet."""

import re

from laari.edge.pages.login import confirm
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.wallet.request import WalletRequest
from laari.http.messages import Reply
from laari.rules import terms
from laari.store.people import wallet_keys
from laari.store.people.wallet_keys import MAX_NAME, PREFIX
from laari.store.secrets import new_secret

NO_NAME = FormProblem(422, f"Give the key a name of at most {MAX_NAME} characters.")
CREATED_SINCE = FormProblem(
    409,
    "A key was created after this form was shown, so no other key was created now. A key is shown "
    "only once: if you did not copy it, revoke it and create another one.",
)
TOO_MANY = FormProblem(422, f"You have {terms.WALLET_KEYS} keys, the maximum. Revoke one first.")

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


async def show(request: WalletRequest, new_key: str | None = None) -> Reply:
    account = request.customer.account
    return request.page(
        "keys.html",
        keys=await request.backend.ask(wallet_keys.list_keys, account),
        new_key=new_key,
        made=await request.backend.ask(wallet_keys.keys_made, account),
        name=request.form.get("name", "") if request.problem else "",
        address=f"{request.backend.origin}/wallet",
    )


async def create(request: WalletRequest) -> Reply | Problem:
    """Shows the key once; only its digest is stored.

    The form has the number of keys at the time it was shown, so that one form makes one key.
    """
    name = request.form.get("name", "").strip()
    if not 1 <= len(name) <= MAX_NAME:
        return NO_NAME
    await confirm(request, request.customer)
    api_key, before = new_secret(PREFIX), read_count(request.form.get("made", ""))
    outcome = await request.backend.write(
        wallet_keys.add_key,
        request.actor,
        request.backend.master_key,
        request.customer.account,
        api_key,
        name,
        before,
    )
    if outcome == "added":
        return await show(request, new_key=api_key)
    return CREATED_SINCE if outcome == "made" else TOO_MANY


async def revoke(request: WalletRequest) -> Reply:
    if _DIGEST.fullmatch(request.params["digest"]):
        key_digest = bytes.fromhex(request.params["digest"])
        await request.backend.write(
            wallet_keys.revoke_key, request.actor, request.customer.account, key_digest
        )
    return request.go("/app/keys")


ROUTES = [
    PageRoute(WalletRequest, "/keys", get=show, post=create),
    PageRoute(WalletRequest, "/keys/{digest}/revoke", post=revoke),
]
