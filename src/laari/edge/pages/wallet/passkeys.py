"""The customer's own passkeys on the account page."""

from typing import NamedTuple

import msgspec

from laari.edge.input.passkeys import ALGORITHMS, NewKey, read_added, to_text, verify_added
from laari.edge.load.admission import Overloaded
from laari.edge.load.hashing import FIRST
from laari.edge.pages.login import confirm
from laari.edge.pages.passkeys.log_in import TIMEOUT, VERIFIED, busy, challenge, party
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.wallet.request import PASSWORD, WalletRequest
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.passkeys import PASSKEYS
from laari.rules.people.passkey_challenges import ForAdding
from laari.rules.people.passkeys import MAX_NAME, AddPasskey, EndPasskey
from laari.rules.records.people import Passkey
from laari.rules.refusals import Refusal
from laari.store.reads import holders
from laari.store.reads.people import logins, passkeys


async def own_passkeys(request: WalletRequest) -> list[Passkey]:
    return await request.backend.ask(passkeys.of_customer, request.customer.customer_id)


def read_name(request: WalletRequest, problem: str, most: int) -> str:
    """The form's name; `problem` is the text if it has none, or a longer one."""
    name = " ".join(request.form.get("name", "").split())
    if not 1 <= len(name) <= most or not name.isprintable():
        raise RefusedForm(422, request.language.text(problem, most=most))
    return name


async def begin(request: WalletRequest) -> Reply:
    """After the password, what a script gives to the browser. Nothing is stored."""
    ours, customer = party(request), request.customer
    password_hash = await request.backend.ask(logins.password_hash_of, customer.whose)
    await confirm(request, customer, always=True)
    holder = await request.backend.ask(holders.by_account, customer.account)
    assert holder is not None  # a customer has a wallet, and wallets stay
    assert password_hash is not None  # the password fitted it, or one that came after it
    bound = ForAdding(customer.customer_id, password_hash, request.browser_secret)
    name = holder.mobile or holder.email or str(holder.account)
    user = {
        "id": to_text(customer.customer_id.bytes),
        "name": name if customer.mode == "live" else f"{name} (sandbox)",
        "displayName": customer.name,
    }
    options = {
        "challenge": challenge(request, bound),
        "rp": {"id": ours.id, "name": "Laari"},
        "user": user,
        "pubKeyCredParams": [{"type": "public-key", "alg": each} for each in ALGORITHMS],
        "excludeCredentials": [
            {"type": "public-key", "id": to_text(each.credential)}
            for each in await own_passkeys(request)
        ],
        # The authenticator keeps the customer's id, so that a log-in needs nothing to type.
        "authenticatorSelection": {
            "residentKey": "required",
            "requireResidentKey": True,
            "userVerification": VERIFIED,
        },
        "attestation": "none",
        "timeout": TIMEOUT,
    }
    return Reply(200, msgspec.json.encode(options))


async def show_refused(request: WalletRequest) -> Reply:
    """Why there is no challenge, for the script."""
    assert request.problem is not None
    text = {"problem": str(request.problem.message)}
    return Reply(request.problem.status, msgspec.json.encode(text))


async def add(request: WalletRequest) -> Reply:
    text = request.language.text
    name = read_name(request, "passkeys.no_name", MAX_NAME)
    made = await _verified(request)
    outcome = await request.backend.spine.submit(
        AddPasskey(
            actor=request.actor,
            customer_id=request.customer.customer_id,
            name=name,
            credential=made.key.credential,
            public_key=made.key.public_key,
            counter=made.key.counter,
            challenge=made.challenge,
            browser=request.browser_secret,
        )
    )
    if not isinstance(outcome, Refusal):
        return request.go(f"{PASSWORD}?done=passkey")
    if outcome.code == "rate_limited":
        raise RefusedForm(422, text("passkeys.too_many", count=PASSKEYS))
    raise RefusedForm(outcome.status, text("passkeys.not_added"), outcome.retry_after)


class _Made(NamedTuple):
    key: NewKey
    challenge: bytes


async def _verified(request: WalletRequest) -> _Made:
    """The key in the form, if an authenticator has just made it here."""
    ours, added, key = party(request), read_added(request.form), None
    if added is not None:
        try:
            key = await request.backend.hashing.run(
                verify_added, ours, added, rank=FIRST, disconnected=request.http.disconnected
            )
        except Overloaded as full:
            raise busy(request, full.retry_after) from None
    if added is None or key is None:
        raise RefusedForm(422, request.language.text("passkeys.not_added"))
    return _Made(key, added.challenge)


async def end(request: WalletRequest) -> Reply:
    """A passkey of another customer does not exist here."""
    passkey_id = ids.read_id("", request.params["id"])
    if passkey_id is None:
        return request.no_such_page()
    await confirm(request, request.customer, always=True)
    customer = request.customer
    command = EndPasskey(request.actor, customer.customer_id, passkey_id, customer.digest)
    outcome = await request.backend.spine.submit(command)
    if not isinstance(outcome, Refusal):
        return request.go(f"{PASSWORD}?done=unpasskey")
    if outcome.code == "not_found":
        return request.no_such_page()
    raise RefusedForm(outcome.status, request.language.text("login.busy"), outcome.retry_after)
