"""The customer's trusted person on the account page, and the customers who ask this one."""

from laari.edge.load.token_buckets import throttle_bucket
from laari.edge.pages.login import confirm, throttle
from laari.edge.pages.passkeys import log_in as passkeys
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.account import show_password
from laari.edge.pages.wallet.request import PASSWORD, WalletRequest
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.limits.messages import LINKS_PER_PERSON, LINKS_PER_PERSON_EVERYWHERE
from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.rules.people.contacts import read_mobile
from laari.rules.people.trusted import AgreeToTrust, AskTrustedPerson, EndTrust
from laari.rules.refusals import Refusal
from laari.store.reads.people import trusted


async def ask(request: WalletRequest) -> Reply:
    """Asks the holder of a number, who gets a message: throttled as links to strangers are."""
    text = request.language.text
    mobile = read_mobile(request.form.get("mobile", ""))
    if mobile is None:
        raise RefusedForm(422, text("details.no_mobile"))
    above = read_rufiyaa(request.form.get("above", ""))
    if above is None or not 0 <= above <= MAX_MONEY:
        raise RefusedForm(422, text("choice.no_amount"))
    await confirm(request, request.customer, always=True)
    own = request.customer.customer_id
    throttle(
        request,
        [
            throttle_bucket(LINKS_PER_PERSON, "trusted person", own.hex),
            throttle_bucket(LINKS_PER_PERSON_EVERYWHERE, "asked to be trusted", mobile),
        ],
    )
    outcome = await request.backend.spine.submit(
        AskTrustedPerson(request.actor, own, mobile, above)
    )
    if isinstance(outcome, Refusal):
        name = "trusted.own" if outcome.field == "mobile" else "details.changed"
        raise RefusedForm(outcome.status, text(name))
    return request.go(f"{PASSWORD}?done=trust_asked")


async def agree(request: WalletRequest) -> Reply:
    asking = ids.read_id("", request.form.get("customer", ""))
    if asking is None:
        raise _changed(request)
    own = request.customer.customer_id
    return await _decide(request, AgreeToTrust(request.actor, asking, own), "trust_agreed")


async def end(request: WalletRequest) -> Reply:
    """A form of the trusted person names the customer; the customer's own form names nobody."""
    own = request.customer.customer_id
    asking = ids.read_id("", request.form.get("customer", ""))
    if asking is not None:
        return await _decide(request, EndTrust(request.actor, asking, own), "trust_ended")
    await passkeys.confirm(request, request.customer)
    trust = await request.backend.ask(trusted.of_customer, own, request.now)
    # The page must not show the id of the other: it would tell whether the number has a wallet.
    if trust is None or trust.asked_at.isoformat() != request.form.get("asked"):
        raise _changed(request)
    command = EndTrust(request.actor, own, trust.trusted_id)
    return await _decide(request, command, "trust_ending")


async def _decide(request: WalletRequest, command: AgreeToTrust | EndTrust, done: str) -> Reply:
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        raise _changed(request)
    return request.go(f"{PASSWORD}?done={done}")


def _changed(request: WalletRequest) -> RefusedForm:
    return RefusedForm(409, request.language.text("details.changed"))


ROUTES: Routes = [
    PageRoute(WalletRequest, "/password/trusted", post=ask, page=show_password),
    PageRoute(WalletRequest, "/password/trusted/agree", post=agree, page=show_password),
    PageRoute(WalletRequest, "/password/trusted/end", post=end, page=show_password),
]
