"""The money of a merchant: balance, hold, release, correction, and the terms of payouts."""

from laari.edge.pages.operator.forms import chosen_form
from laari.edge.pages.operator.merchants import MERCHANT
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.operations.merchant_money import CORRECT, HOLD, RELEASE
from laari.rules import terms
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.money import MAX_FEE_FIXED, MAX_MONEY, read_rufiyaa
from laari.rules.records.tenants import Mode, Tenant
from laari.store.merchants.merchants import Merchant
from laari.store.reads import tenants


async def _tenant(request: OperatorRequest, merchant: Merchant) -> Tenant | None:
    mode: Mode = "sandbox" if request.form.get("mode") == "sandbox" else "live"
    return await request.backend.ask(tenants.in_mode, merchant.id, mode)


def _page_of(request: OperatorRequest, tenant: Tenant) -> str:
    return f"/merchants/{tenant.merchant_id}?mode={tenant.mode}"


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
    return request.back_to(_page_of(request, tenant), "payout_terms")


ROUTES: Routes = [
    chosen_form(
        "/merchants/{merchant}/funds",
        {"hold": HOLD, "release": RELEASE, "correct": CORRECT},
        MERCHANT.show,
        _page_of,
    ),
    MERCHANT.form("/payout-terms", _set_terms, needs="fees.change"),
]
