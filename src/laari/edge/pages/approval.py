"""The approval page behind `approval_url`: who asks, within which limits; approve or decline."""

from laari.edge.pages.authorization_limits import is_unlimited, limits_in_words
from laari.edge.pages.decisions import LinkedRequest, decided, in_sandbox, linked_routes
from laari.edge.pages.login import is_fresh
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.spending import frozen_words
from laari.http.messages import Reply
from laari.rules.ids import is_token
from laari.rules.payments.authorizations import ApproveAuthorization, RejectAuthorization
from laari.rules.records.authorizations import Authorization
from laari.rules.refusals import Refusal
from laari.rules.wallets import seen_by_customer


class ApprovalRequest(LinkedRequest[Authorization]):
    prefix = "/approve/{token}"
    open_states = ("pending",)

    async def find_row(self) -> Authorization | None:
        token = self.params["token"]
        return await self.backend.authorizations_by_token.get(token) if is_token(token) else None

    async def refused_words(self, refusal: Refusal, account: int) -> str:
        name = "too_late" if refusal.code == "authorization_expired" else "busy"
        return self.language.text(f"approval.{name}")


async def show(request: ApprovalRequest) -> Reply:
    asked, authorization = request.asked, request.asked.row
    payer = await request.decider() if request.is_open else None
    wallet_status = payer and await request.backend.wallets.get(payer.account)
    wallet = seen_by_customer(wallet_status.wallet) if wallet_status else None
    return request.page(
        "approval.html",
        asked=asked,
        authorization=authorization,
        leads_back=asked.leads_back(authorization.approved_at or authorization.rejected_at),
        seconds_left=asked.seconds_until(authorization.approval_expires_at),
        limits=limits_in_words(request.language, authorization, asked.tenant),
        unlimited=is_unlimited(authorization),
        payer=payer,
        frozen=frozen_words(request, wallet) if wallet and wallet.frozen_at else None,
        ask_password=payer is not None and not is_fresh(request, payer),
    )


_CUSTOMER_CONTROLS = in_sandbox(approve=ApproveAuthorization, reject=RejectAuthorization)
ROUTES = [
    *linked_routes(ApprovalRequest, show),
    PageRoute(
        ApprovalRequest, "/approve", post=decided(ApproveAuthorization, confirmed=True), page=show
    ),
    PageRoute(ApprovalRequest, "/reject", post=decided(RejectAuthorization), page=show),
    PageRoute(ApprovalRequest, "/sandbox/{action}", post=_CUSTOMER_CONTROLS, page=show),
]
