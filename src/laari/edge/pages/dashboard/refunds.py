"""The form that refunds a payment, or a part of it."""

import re
from typing import get_args

from laari.edge.merchant.refunds import REFUND_BODY
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import for_one
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.edge.resources import PAYMENTS
from laari.http.messages import Reply
from laari.rules.money import read_rufiyaa
from laari.rules.payments.refunds import RefundPayment, left_of, missing_for, not_refundable
from laari.rules.records.payments import Payment, RefundReason
from laari.rules.refusals import Refusal
from laari.store.reads import refunds
from laari.store.reads.money import balances

# The pages' words for reasons; the API has its own.
REASONS: dict[RefundReason, str] = {
    "requested_by_customer": "The customer asked for it",
    "duplicate": "Paid twice",
    "fraudulent": "Fraud",
    "other": "Another reason",
}
# The API names an amount in its own unit first; people read rufiyaa.
_LAARI = re.compile(r"\d+ laari \((MVR [\d,.]+)\)")
assert REASONS.keys() == set(get_args(RefundReason))


async def _ask(request: DashboardRequest, payment: Payment) -> Reply:
    ask, tenant_id = request.backend.ask, request.tenant.id
    counts = await ask(refunds.counts, [payment.id])
    refusal = not_refundable(payment, counts.get(payment.id, 0), request.tenant_now)
    left, available, missing = left_of(payment), 0, 0
    if refusal is None:
        available = (await ask(balances.of_tenant, tenant_id)).available
        missing = missing_for(await ask(balances.funds_of, tenant_id), available, payment, left)
    return request.page(
        "refund.html",
        payment=payment,
        refusal=refusal,
        left=left,
        available=available,
        missing=missing,
        reasons=REASONS,
        written=request.form,
    )


async def _refund(request: DashboardRequest, payment: Payment) -> Reply:
    await request.confirm(always=request.tenant.mode == "live")
    draft = REFUND_BODY.read(_source(request.form))
    if isinstance(draft, Refusal):
        raise RefusedForm.of(draft)
    shown = request.form.get("left", "")
    command = RefundPayment(
        tenant=request.tenant,
        id=payment.id,
        actor=request.actor,
        amount=draft.amount,
        reason=draft.reason,
        note=draft.note,
        if_left=int(shown) if shown.isdecimal() and len(shown) <= 20 else None,
    )
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        raise RefusedForm(outcome.status, _LAARI.sub(r"\1", outcome.message))
    return request.redirect(request.resource_path, done="refunded")


def _source(form: dict[str, str]) -> dict[str, object]:
    """The form as a program would send it; the operation checks every field."""
    source: dict[str, object] = {
        name: written for name in ("reason", "note") if (written := form.get(name, "").strip())
    }
    if written := form.get("amount", "").strip():
        amount = read_rufiyaa(written)
        if amount is None:
            raise RefusedForm(400, "The amount must be a number such as 125 or 125.50.")
        source["amount"] = amount
    return source


ROUTES = [
    PageRoute(
        DashboardRequest,
        "/payments/{id}/refund",
        get=for_one(PAYMENTS, _ask),
        post=for_one(PAYMENTS, _refund),
        needs="payments.refund",
    ),
]
