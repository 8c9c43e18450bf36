"""The money of a merchant: balance, hold, release, correction, and the terms of payouts."""

from typing import Literal

from laari.edge.pages.operator.merchants import MERCHANT
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.rules import terms
from laari.rules.banking.merchant_money import MoveFunds
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.money import MAX_FEE_FIXED, MAX_MONEY, read_rufiyaa
from laari.rules.records import Mode, Tenant
from laari.store.merchants.merchants import Merchant
from laari.store.reads import tenants

KINDS: dict[str, Literal["hold", "release", "merchant_adjustment"]] = {
    "hold": "hold",
    "release": "release",
    "correct": "merchant_adjustment",
}


async def _tenant(request: OperatorRequest, merchant: Merchant) -> Tenant | None:
    mode: Mode = "sandbox" if request.form.get("mode") == "sandbox" else "live"
    return await request.backend.ask(tenants.in_mode, merchant.id, mode)


async def _move(request: OperatorRequest, merchant: Merchant) -> Reply | Problem:
    tenant, kind = await _tenant(request, merchant), KINDS.get(request.form.get("kind", ""))
    if tenant is None:
        return request.missing()
    amount = read_rufiyaa(request.form.get("moved", ""))
    if kind is None or amount is None or amount == 0 or abs(amount) > MAX_MONEY:
        return FormProblem(422, "The amount must be in rufiyaa, such as 125.50.")
    if amount < 0 and kind != "merchant_adjustment":
        return FormProblem(422, "Only a correction can be negative.")
    reason = request.text_of("reason", terms.MAX_REASON)
    await request.confirm()
    below_zero = kind == "merchant_adjustment" and request.form.get("below_zero") == "on"
    earlier = read_count(request.form.get("earlier", ""))
    command = MoveFunds(tenant.id, request.actor, kind, amount, reason, below_zero, earlier)
    return _back(request, tenant, await request.move(command, "funds"))


async def _set_terms(request: OperatorRequest, merchant: Merchant) -> Reply | Problem:
    tenant = await _tenant(request, merchant)
    if tenant is None:
        return request.missing()
    minimum = read_rufiyaa(request.form.get("payout_minimum", ""))
    fee = read_rufiyaa(request.form.get("payout_fee", ""))
    if minimum is None or not 1 <= minimum <= MAX_MONEY:
        return FormProblem(422, "The smallest payout must be in rufiyaa, such as 100.00.")
    if fee is None or not 0 <= fee <= MAX_FEE_FIXED:
        return FormProblem(422, "The fee of a payout must be in rufiyaa, such as 5.00.")
    paused = None
    if request.form.get("paused_reason", "").strip():
        paused = request.text_of("paused_reason", terms.MAX_REASON)
    await request.confirm()
    on_request = request.form.get("on_request") == "on"
    new = NewTerms(minimum=minimum, fee=fee, on_request=on_request, paused_reason=paused)
    await request.submit(ChangePayoutTerms(request.actor, tenant.id, new))
    return _back(request, tenant, "payout_terms")


def _back(request: OperatorRequest, tenant: Tenant, done: str) -> Reply:
    return request.redirect(f"/merchants/{tenant.merchant_id}", mode=tenant.mode, done=done)


ROUTES: Routes = [
    MERCHANT.form("/funds", _move, needs="payouts.run"),
    MERCHANT.form("/payout-terms", _set_terms, needs="fees.change"),
]
