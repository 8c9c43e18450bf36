"""Authorizations that the customer gave: limits and usage; pause, resume and revoke."""

from laari.edge.pages.authorization_limits import (
    Used,
    is_unlimited,
    limits_in_words,
    used_in_period,
)
from laari.edge.pages.decisions import all_asked, decided
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import PAGE, OwnRequest, WalletRequest
from laari.edge.resources import AUTHORIZATIONS
from laari.http.messages import Reply
from laari.rules.payments.authorization_limits import counted, current_period
from laari.rules.payments.authorizations import (
    ResumeAuthorization,
    RevokeAuthorization,
    SuspendAuthorization,
)
from laari.rules.periods import Moment
from laari.rules.records.authorizations import Authorization
from laari.rules.refusals import Refusal
from laari.store.reads import authorizations
from laari.store.reads.listing import Window

RECENT = 10  # payments on an authorization's page

_LISTING = "authorizations of a wallet"


def usage_of(authorization: Authorization, moment: Moment) -> list[Used]:
    used = []
    period = current_period(authorization, moment)
    if period is not None and authorization.period_interval:
        limit = authorization.period_amount
        used.append(used_in_period(authorization.period_interval, period, limit))
    if authorization.total is not None:
        used.append(Used("total", authorization.total_paid, authorization.total))
    allowed = 1 if authorization.type == "one_time" else authorization.max_payments
    if allowed is not None:
        used.append(Used("payments", authorization.payment_count, allowed, is_money=False))
    return used


async def show_all(request: WalletRequest) -> Reply:
    window = Window(PAGE, request.read_place(_LISTING))
    found = await request.backend.page(authorizations.of_account(request.customer.account, window))
    return request.page(
        "authorizations.html",
        given=await all_asked(request, found.rows),
        limits_in_words=limits_in_words,
        is_first=window.after is None,
        older=request.older(_LISTING, found.next),
    )


class OwnAuthorizationRequest(OwnRequest[Authorization]):
    prefix = "/app/authorizations/{id}"
    open_states = ("active", "suspended")
    resource = AUTHORIZATIONS

    async def refused_words(self, refusal: Refusal, account: int) -> str:
        if refusal.status < 500 and not self.is_open:
            state = self.language.text(f"given.state_{self.asked.state}")
            return self.language.text("given.changed", state=state)
        return self.language.text("approval.busy")


async def show(request: OwnAuthorizationRequest) -> Reply:
    asked = request.asked
    row, tenant = asked.row, asked.tenant
    payments = await request.backend.page(authorizations.payments_of(row.id, Window(RECENT)))
    moment = await request.backend.moment(tenant.mode, tenant, asked.now, counted(row))
    return request.page(
        "authorizations/one.html",
        asked=asked,
        authorization=row,
        limits=limits_in_words(request.language, row, tenant),
        unlimited=is_unlimited(row),
        usage=usage_of(row, moment),
        payments=payments.rows,
    )


# A resumed authorization lets the merchant charge again, like an approval.
_RESUME = decided(ResumeAuthorization, confirmed=True)
ROUTES: Routes = [
    PageRoute(WalletRequest, "/authorizations", get=show_all),
    PageRoute(OwnAuthorizationRequest, "", get=show),
    PageRoute(OwnAuthorizationRequest, "/pause", post=decided(SuspendAuthorization), page=show),
    PageRoute(OwnAuthorizationRequest, "/resume", post=_RESUME, page=show),
    PageRoute(OwnAuthorizationRequest, "/revoke", post=decided(RevokeAuthorization), page=show),
]
