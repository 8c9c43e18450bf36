"""API keys with which the customer's own programs read the wallet."""

import re

from laari.edge.pages.passkeys import log_in as passkeys
from laari.edge.pages.request import RefusedForm, read_count
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.wallet.request import WalletRequest
from laari.http.messages import Reply
from laari.rules.limits.keys_and_rates import WALLET_KEYS
from laari.rules.people.wallet_keys import MAX_NAME, CreateWalletKey, RevokeWalletKey
from laari.rules.refusals import Refusal
from laari.store.reads.people import wallet_keys

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


async def show(request: WalletRequest, new_key: str | None = None) -> Reply:
    account = request.customer.account
    return request.page(
        "keys.html",
        keys=await request.backend.ask(wallet_keys.usable, account),
        new_key=new_key,
        made=(await request.backend.ask(wallet_keys.counts, account)).made,
        name=request.form.get("name", "") if request.problem else "",
        address=f"{request.backend.origin}/wallet",
    )


async def create(request: WalletRequest) -> Reply:
    """Shows the key once; only its digest is stored.

    The form has the number of keys at the time it was shown, so that one form makes one key.
    """
    name = request.form.get("name", "").strip()
    if not 1 <= len(name) <= MAX_NAME:
        raise RefusedForm(422, request.language.text("keys.no_name", most=MAX_NAME))
    await passkeys.confirm(request, request.customer)
    before = read_count(request.form.get("made", ""))
    customer = request.customer
    made = await request.backend.spine.submit(
        CreateWalletKey(
            request.actor,
            customer.customer_id,
            customer.account,
            name,
            before,
            session=customer.digest,
        )
    )
    if not isinstance(made, Refusal):
        return await show(request, new_key=made)
    if made.code == "conflict":
        raise RefusedForm(409, request.language.text("keys.created_since"))
    if made.field is not None:
        raise RefusedForm(422, request.language.text("keys.too_many", count=WALLET_KEYS))
    raise RefusedForm(made.status, request.language.text("approval.busy"), made.retry_after)


async def revoke(request: WalletRequest) -> Reply:
    if _DIGEST.fullmatch(request.params["digest"]):
        key_digest = bytes.fromhex(request.params["digest"])
        customer = request.customer
        command = RevokeWalletKey(request.actor, customer.customer_id, customer.account, key_digest)
        outcome = await request.backend.spine.submit(command)
        if isinstance(outcome, Refusal):  # the key still works: nobody must believe the contrary
            words = request.language.text("approval.busy")
            raise RefusedForm(outcome.status, words, outcome.retry_after)
    return request.go("/app/keys")


ROUTES = [
    PageRoute(WalletRequest, "/keys", get=show, post=create),
    PageRoute(WalletRequest, "/keys/{digest}/revoke", post=revoke, page=show),
]
