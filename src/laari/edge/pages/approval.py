"""The approval page behind `approval_url`: who asks for what, within which limits; yes or no."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from starlette.responses import Response

from laari.edge.pages.limits import is_unlimited, limits_in_words
from laari.edge.pages.login import (
    STATUSES,
    confirm_failed,
    confirm_password,
    customer_in,
    is_fresh,
    log_in_customer,
)
from laari.edge.pages.visit import Visit, page_route
from laari.rules.authorizations import ApproveAuthorization, RejectAuthorization, as_of
from laari.rules.ids import is_token
from laari.rules.records import Authorization, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time

LEAD_BACK_WITHIN = timedelta(minutes=2)

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
        return decided is not None and self.now - decided < LEAD_BACK_WITHIN

    @property
    def seconds_left(self) -> int:
        left = self.authorization.approval_expires_at - self.now
        return max(0, int(left.total_seconds()))


async def _find(visit: Visit) -> Approval | None:
    token = visit.params["token"]
    found = await visit.backend.authorizations_by_token.get(token) if is_token(token) else None
    if found is None:
        return None
    tenant = await visit.backend.tenants.get(found.tenant_id)
    assert tenant is not None
    now = local_time(visit.now, tenant)
    return Approval(as_of(found, now), tenant, now)


async def _page(visit: Visit, approval: Approval, status: int = 200, **values: Any) -> Response:
    payer = None
    if approval.state == "pending":
        payer = await customer_in(visit, approval.tenant.mode)
    shown: dict[str, Any] = {
        "approval": approval,
        "authorization": approval.authorization,
        "merchant": approval.tenant.merchant_name,
        "limits": limits_in_words(visit.language, approval.authorization, approval.tenant),
        "unlimited": is_unlimited(approval.authorization),
        "payer": payer,
        "ask_password": payer is not None and not is_fresh(visit, payer),
        "failed": None,
        "login_problem": None,
        "identity": "",
    }
    return visit.page("approval.html", status, **(shown | values))


async def show(visit: Visit) -> Response:
    approval = await _find(visit)
    if approval is None:
        return visit.refusal(404, "not_found")
    return await _page(visit, approval)


async def status(visit: Visit) -> Response:
    approval = await _find(visit)
    return visit.json({"status": "not_found" if approval is None else approval.state})


async def log_in(visit: Visit) -> Response:
    approval = await _find(visit)
    if approval is None:
        return visit.refusal(404, "not_found")
    problem = await log_in_customer(visit, approval.tenant.mode)
    if problem is None:
        return visit.go(approval.address)
    identity = visit.form.get("identity", "")
    return await _page(visit, approval, STATUSES[problem], login_problem=problem, identity=identity)


async def log_out(visit: Visit) -> Response:
    await visit.end_session()
    return visit.go(visit.home)


async def approve(visit: Visit) -> Response:
    approval = await _find(visit)
    if approval is None:
        return visit.refusal(404, "not_found")
    payer = await customer_in(visit, approval.tenant.mode)
    if payer is None:  # logged out in the meantime: the page asks to log in
        return visit.go(approval.address)
    if not is_fresh(visit, payer):
        problem = await confirm_password(visit, payer)
        if problem is not None:
            failed = confirm_failed(visit, problem)
            return await _page(visit, approval, STATUSES[problem], failed=failed)
    asked = approval.authorization.id
    return await _decide(
        visit, approval, ApproveAuthorization(approval.tenant, asked, payer.account)
    )


async def reject(visit: Visit) -> Response:
    approval = await _find(visit)
    if approval is None:
        return visit.refusal(404, "not_found")
    if await customer_in(visit, approval.tenant.mode) is None:
        return visit.go(approval.address)
    return await _decide(
        visit, approval, RejectAuthorization(approval.tenant, approval.authorization.id)
    )


async def act_in_sandbox(visit: Visit) -> Response:
    """As the merchant's own sandbox customer, without a log-in."""
    approval = await _find(visit)
    if approval is None or approval.tenant.mode != "sandbox":
        return visit.refusal(404, "not_found")
    tenant, asked = approval.tenant, approval.authorization.id
    match visit.params["action"]:
        case "approve":
            decision: Decision = ApproveAuthorization(tenant, asked, tenant.sandbox_account)
        case "reject":
            decision = RejectAuthorization(tenant, asked)
        case _:
            return visit.refusal(404, "not_found")
    return await _decide(visit, approval, decision)


async def _decide(visit: Visit, approval: Approval, decision: Decision) -> Response:
    outcome = await visit.backend.spine.submit(decision)
    if not isinstance(outcome, Refusal):
        return visit.go(approval.address)
    now = await _find(visit)
    if now is None or now.state != "pending":  # decided in another tab, cancelled …
        return visit.go(approval.address)
    name = "too_late" if outcome.code == "authorization_expired" else "busy"
    failed = visit.language.text(f"approval.{name}")
    return await _page(visit, now, outcome.status, failed=failed)


ROUTES = [
    page_route("/approve/{token}", get=show),
    page_route("/approve/{token}/status", get=status),
    page_route("/approve/{token}/login", post=log_in),
    page_route("/approve/{token}/logout", post=log_out),
    page_route("/approve/{token}/approve", post=approve),
    page_route("/approve/{token}/reject", post=reject),
    page_route("/approve/{token}/sandbox/{action}", post=act_in_sandbox),
]
