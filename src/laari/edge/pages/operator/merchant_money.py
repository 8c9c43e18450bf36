"""The money of a merchant in one mode: limit, balance, payouts and bank account."""

from laari.edge.pages.operator.forms import chosen_form, named_subject, perform, plain_form
from laari.edge.pages.operator.merchants import MERCHANT
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.merchant_money import ADD_BANK, CORRECT, HOLD, RELEASE, REQUEST, SET_TERMS
from laari.operations.merchants import SET_LIMIT
from laari.rules.records.tenants import Tenant

PAGE = "/merchants/{merchant}"


def _page_of(request: OperatorRequest, tenant: Tenant) -> str:
    return f"/merchants/{tenant.merchant_id}?mode={tenant.mode}"


async def _set_terms(request: OperatorRequest) -> Reply:
    """The form has all terms: without a reason to pause, payouts are not paused."""
    tenant = await named_subject(request, SET_TERMS)
    assert isinstance(tenant, Tenant)
    return request.back_to(
        _page_of(request, tenant), await perform(request, SET_TERMS, tenant, resume="on")
    )


ROUTES: Routes = [
    plain_form(f"{PAGE}/limit", SET_LIMIT, MERCHANT.show, _page_of),
    chosen_form(
        f"{PAGE}/funds",
        {"hold": HOLD, "release": RELEASE, "correct": CORRECT},
        MERCHANT.show,
        _page_of,
    ),
    plain_form(f"{PAGE}/request-payout", REQUEST, MERCHANT.show, _page_of),
    PageRoute(
        OperatorRequest,
        f"{PAGE}/payout-terms",
        post=_set_terms,
        page=MERCHANT.show,
        needs=SET_TERMS.needs,
        runs={SET_TERMS.name: {}},
    ),
    plain_form(f"{PAGE}/bank", ADD_BANK, MERCHANT.show, _page_of),
]
