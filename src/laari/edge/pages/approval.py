"""The approval page behind `approval_url`: who asks for what, within which limits; yes or no."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, TypeAlias

from laari.edge.pages.limits import is_unlimited, limits_in_words
from laari.edge.pages.linked import Linked, leads_back, seconds_until
from laari.edge.pages.login import customer_in, is_fresh
from laari.edge.pages.spending import frozen_words
from laari.edge.pages.visit import Visit, page_route
from laari.http.messages import Reply
from laari.rules.actors import sandbox_customer
from laari.rules.authorizations import ApproveAuthorization, RejectAuthorization, as_of
from laari.rules.ids import is_token
from laari.rules.records import Authorization, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time
from laari.store.people.sessions import CustomerSession

Decision: TypeAlias = ApproveAuthorization | RejectAuthorization


class Approval(NamedTuple):
    """The authorization of the page as it is now, on its merchant's clock."""

    authorization: Authorization
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        if self.authorization.status == "pending" and not self.tenant.active:
            return "closed"
        return self.authorization.status

    @property
    def address(self) -> str:
        return f"/approve/{self.authorization.token}"

    @property
    def leads_back(self) -> bool:
        decided = self.authorization.approved_at or self.authorization.rejected_at
        return leads_back(decided, self.now)

    @property
    def seconds_left(self) -> int:
        return seconds_until(self.authorization.approval_expires_at, self.now)


async def _find(visit: Visit) -> Approval | None:
    token = visit.params["token"]
    found = await visit.backend.authorizations_by_token.get(token) if is_token(token) else None
    if found is None:
        return None
    tenant = await visit.backend.tenants.get(found.tenant_id)
    assert tenant is not None
    now = local_time(visit.now, tenant)
    return Approval(as_of(found, now), tenant, now)


async def _page(visit: Visit, approval: Approval, status: int = 200, **values: object) -> Reply:
    payer = standing = None
    if approval.state == "pending":
        payer = await customer_in(visit, approval.tenant.mode)
        if payer is not None:
            standing = await visit.backend.wallets.get(payer.account)
    shown: dict[str, object] = {
        "approval": approval,
        "authorization": approval.authorization,
        "merchant": approval.tenant.merchant_name,
        "limits": limits_in_words(visit.language, approval.authorization, approval.tenant),
        "unlimited": is_unlimited(approval.authorization),
        "payer": payer,
        "frozen": frozen_words(visit) if standing and standing.wallet.frozen_at else None,
        "ask_password": payer is not None and not is_fresh(visit, payer),
        "failed": None,
        "login_problem": None,
        "identity": "",
    }
    return visit.page("approval.html", status, **(shown | values))


async def approve(visit: Visit, approval: Approval, payer: CustomerSession) -> Reply:
    command = ApproveAuthorization(approval.tenant, approval.authorization.id, payer.payer)
    return await _decide(visit, approval, command)


async def reject(visit: Visit, approval: Approval, payer: CustomerSession) -> Reply:
    command = RejectAuthorization(approval.tenant, approval.authorization.id, payer.payer)
    return await _decide(visit, approval, command)


async def act_in_sandbox(visit: Visit, approval: Approval) -> Reply:
    """As the merchant's own sandbox customer, without a log-in."""
    tenant, asked = approval.tenant, approval.authorization.id
    match tenant.mode, visit.params["action"]:
        case "sandbox", "approve":
            decision: Decision = ApproveAuthorization(tenant, asked, sandbox_customer(tenant))
        case "sandbox", "reject":
            decision = RejectAuthorization(tenant, asked, sandbox_customer(tenant))
        case _:
            return visit.refusal(404, "not_found")
    return await _decide(visit, approval, decision)


async def _decide(visit: Visit, approval: Approval, decision: Decision) -> Reply:
    outcome = await visit.backend.spine.submit(decision)
    if not isinstance(outcome, Refusal):
        return visit.go(approval.address)
    now = await _find(visit)
    if now is None or now.state != "pending":  # decided in another tab, cancelled …
        return visit.go(approval.address)
    name = "too_late" if outcome.code == "authorization_expired" else "busy"
    failed = visit.language.text(f"approval.{name}")
    return await _page(visit, now, outcome.status, failed=failed)


LINK = Linked(_find, _page)
ROUTES = [
    *LINK.routes("/approve/{token}"),
    page_route("/approve/{token}/approve", post=LINK.decided(approve, confirmed=True)),
    page_route("/approve/{token}/reject", post=LINK.decided(reject)),
    page_route("/approve/{token}/sandbox/{action}", post=LINK.found(act_in_sandbox)),
]
