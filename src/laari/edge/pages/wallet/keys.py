"""API keys with which the customer's own programs read the wallet."""

import re

from laari.edge.pages.login import is_fresh, unconfirmed
from laari.edge.pages.visit import Visit, read_count
from laari.edge.pages.wallet.frame import app_page, app_route
from laari.http.messages import Reply
from laari.store.people import wallet_keys
from laari.store.people.sessions import CustomerSession
from laari.store.people.wallet_keys import MAX_KEYS, MAX_NAME, PREFIX
from laari.store.secrets import new_secret

MADE = (
    "A key was made since this form was shown, and none is made now. A key is shown only once: "
    "if you did not copy it, revoke it and create another one."
)

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


async def _page(
    visit: Visit,
    customer: CustomerSession,
    status: int = 200,
    *,
    problem: str | None = None,
    new_key: str | None = None,
) -> Reply:
    return app_page(
        visit,
        customer,
        "keys",
        status,
        keys=await visit.backend.ask(wallet_keys.list_keys, customer.account),
        ask_password=not is_fresh(visit, customer),
        problem=problem,
        new_key=new_key,
        made=await visit.backend.ask(wallet_keys.keys_made, customer.account),
        name=visit.form.get("name", "") if problem else "",
        address=f"{visit.backend.origin}/wallet",
    )


async def show(visit: Visit, customer: CustomerSession) -> Reply:
    return await _page(visit, customer)


async def create(visit: Visit, customer: CustomerSession) -> Reply:
    """Shows the key itself, once; only its digest stays.

    The form says how many keys there had been when it was shown, so that one form makes one key.
    """
    name = visit.form.get("name", "").strip()
    if not 1 <= len(name) <= MAX_NAME:
        problem = f"Give the key a name of at most {MAX_NAME} characters."
        return await _page(visit, customer, 422, problem=problem)
    wrong = await unconfirmed(visit, customer)
    if wrong is not None:
        return await _page(visit, customer, wrong.status, problem=wrong.words)
    api_key, before = new_secret(PREFIX), read_count(visit.form.get("made", ""))
    outcome = await visit.backend.write(
        wallet_keys.add_key, customer.account, api_key, name, before
    )
    match outcome:
        case "added":
            return await _page(visit, customer, new_key=api_key)
        case "made":
            return await _page(visit, customer, 409, problem=MADE)
    problem = f"You have {MAX_KEYS} keys, which is as many as there can be. Revoke one first."
    return await _page(visit, customer, 422, problem=problem)


async def revoke(visit: Visit, customer: CustomerSession) -> Reply:
    if _DIGEST.fullmatch(visit.params["digest"]):
        key_digest = bytes.fromhex(visit.params["digest"])
        await visit.backend.write(wallet_keys.revoke_key, customer.account, key_digest)
    return visit.go("/app/keys")


ROUTES = [
    app_route("/app/keys", get=show, post=create),
    app_route("/app/keys/{digest}/revoke", post=revoke),
]
