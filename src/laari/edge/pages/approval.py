"""The approval page behind `approval_url`: who asks for what, within which limits; yes or no."""

from markupsafe import Markup

from laari.edge.pages.asked import one_asked
from laari.edge.pages.limits import is_unlimited, limits_in_words
from laari.edge.pages.linked import Linked, LinkedPage, leads_back, seconds_until
from laari.edge.pages.login import customer_in, is_fresh
from laari.edge.pages.spending import frozen_words
from laari.edge.pages.visit import Visit, page_route
from laari.http.messages import Reply
from laari.rules.authorizations import ApproveAuthorization, RejectAuthorization
from laari.rules.ids import is_token
from laari.rules.records import Authorization
from laari.rules.refusals import Refusal


class Approval(LinkedPage[Authorization]):
    @property
    def is_open(self) -> bool:
        return self.state == "pending"

    @property
    def address(self) -> str:
        return f"/approve/{self.row.token}"

    @property
    def leads_back(self) -> bool:
        decided = self.row.approved_at or self.row.rejected_at
        return leads_back(decided, self.now)

    @property
    def seconds_left(self) -> int:
        return seconds_until(self.row.approval_expires_at, self.now)


async def _find(visit: Visit) -> Approval | None:
    token = visit.params["token"]
    found = await visit.backend.authorizations_by_token.get(token) if is_token(token) else None
    return await one_asked(visit, found, Approval)


async def _page(visit: Visit, approval: Approval, status: int = 200, **values: object) -> Reply:
    payer = wallet_status = None
    if approval.is_open:
        payer = await customer_in(visit, approval.tenant.mode)
        if payer is not None:
            wallet_status = await visit.backend.wallets.get(payer.account)
    shown: dict[str, object] = {
        "approval": approval,
        "authorization": approval.row,
        "merchant": approval.tenant.merchant_name,
        "limits": limits_in_words(visit.language, approval.row, approval.tenant),
        "unlimited": is_unlimited(approval.row),
        "payer": payer,
        "frozen": frozen_words(visit) if wallet_status and wallet_status.wallet.frozen_at else None,
        "ask_password": payer is not None and not is_fresh(visit, payer),
        "failed": None,
        "login_problem": None,
        "identity": "",
    }
    return visit.page("approval.html", status, **(shown | values))


async def _refused_words(
    visit: Visit, approval: Approval, refusal: Refusal, account: int
) -> Markup:
    name = "too_late" if refusal.code == "authorization_expired" else "busy"
    return visit.language.text(f"approval.{name}")


LINK = Linked(_find, _page, _refused_words)
ROUTES = [
    *LINK.routes("/approve/{token}"),
    page_route("/approve/{token}/approve", post=LINK.decided(ApproveAuthorization, confirmed=True)),
    page_route("/approve/{token}/reject", post=LINK.decided(RejectAuthorization)),
    page_route(
        "/approve/{token}/sandbox/{action}",
        post=LINK.in_sandbox(approve=ApproveAuthorization, reject=RejectAuthorization),
    ),
]
