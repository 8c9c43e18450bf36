"""Merchants and their applications: review, approval, fees from a day on, and a pause."""

from uuid import UUID

from laari.edge.pages.operator.forms import form
from laari.edge.pages.operator.request import OperatorRequest, Subject, hand_over_link
from laari.edge.pages.person import long
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.errors import LaariError
from laari.http.messages import Reply
from laari.operations.merchants import PAUSE, RENAME, RESUME, SET_FEES
from laari.rules import ids
from laari.rules.banking.bank_accounts import coming, in_effect, masked
from laari.rules.calendar import local_day, read_timestamp
from laari.rules.lifecycle import shown_state
from laari.rules.merchants.applications import (
    NO_TERMS,
    ApproveMerchant,
    LiveTerms,
    RefuseApplication,
)
from laari.rules.merchants.fees import CancelFees
from laari.rules.money import MAX_FEE_FIXED, MAX_MONEY, MAX_PAYMENT_AMOUNT, read_rufiyaa
from laari.rules.records.tenants import Mode, local_time
from laari.rules.terms import MAX_DECISION, MAX_REASON
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from laari.store.reads import fees, payments, tenants, webhook_states
from laari.store.reads.find import found_payouts
from laari.store.reads.listing import Window
from laari.store.reads.merchants import applications
from laari.store.reads.money import balances, payouts
from laari.store.reads.people import memberships

MOST_LISTED = 500
MOST_NEWEST = 10  # payouts and payments on the page of a merchant
BAD_PERCENT = "The fee in percent must be between 0 and 100, such as 1.5."
BAD_FIXED = "The fixed fee must be an amount in rufiyaa, such as 0.50."


@long
async def show_list(request: OperatorRequest) -> Reply:
    waiting = await request.backend.ask(applications.with_status, "submitted", MOST_LISTED)
    found = await request.backend.ask(merchants.newest, MOST_LISTED)
    return await request.long_page(
        "merchants.html", merchants=found, applications=waiting, most=MOST_LISTED
    )


async def _find(request: OperatorRequest) -> Merchant | None:
    return await request.backend.ask(merchants.find, request.params["merchant"])


def _mode(request: OperatorRequest, merchant: Merchant) -> Mode:
    """The mode whose money the page shows."""
    wanted = request.form.get("mode", request.query.get("mode"))
    return "live" if merchant.has_live and wanted != "sandbox" else "sandbox"


async def _show(request: OperatorRequest, merchant: Merchant) -> Reply:
    ask, mode = request.backend.ask, _mode(request, merchant)
    tenant = await ask(tenants.of_merchant, merchant.id, mode)
    accounts = (await ask(payouts.bank_accounts, [tenant.id]))[tenant.id]
    application = await ask(applications.latest_of, merchant.id)
    now, window = local_time(request.now, tenant), Window(MOST_NEWEST)
    paid_out = (await request.backend.page(payouts.of_tenant(tenant.id, now, window))).rows
    return request.page(
        "merchant.html",
        merchant=merchant,
        mode=mode,
        max_payment=tenant.max_payment,
        payout_terms=await ask(payouts.terms, tenant.id),
        earlier=(await ask(balances.movement_counts, [tenant.id]))[tenant.id],
        bank_account=in_effect(accounts, request.now),
        next_accounts=coming(accounts, request.now),
        application=application,
        application_id=application and ids.show_id(ids.APPLICATION, application.id),
        terms=await ask(fees.terms_of, merchant.id),
        balances=await ask(balances.of_merchant, merchant.id),
        people=await ask(memberships.list_members, merchant.id),
        payouts=await ask(found_payouts, paid_out),
        payments=(await request.backend.page(payments.of_tenant(tenant.id, now, window))).rows,
        tenants={tenant.id: tenant},
        webhooks=await ask(webhook_states.webhook_state, tenant.id),
        state_of=shown_state,
        masked=masked,
        today=local_day(request.now),
        most_reason=MAX_DECISION,
    )


MERCHANT = Subject("/merchants/{merchant}", _find, _show)


async def _approve(request: OperatorRequest, merchant: Merchant) -> Reply:
    minimum = _optional(request, "live_minimum", MAX_MONEY)
    max_payment = _optional(request, "live_max", MAX_PAYMENT_AMOUNT)
    try:
        hold = request.text_of("live_hold", MAX_REASON) if request.form.get("live_hold") else None
    except RefusedForm:
        raise RefusedForm(422, "The reason of a hold must be printable characters.") from None
    application_id = _application(request)
    terms = LiveTerms(
        minimum=minimum or NO_TERMS.minimum,
        hold=hold,
        max_payment=max_payment,
        fee_bps=_fee(request, "live_percent", 10_000, BAD_PERCENT),
        fee_fixed=_fee(request, "live_fixed", MAX_FEE_FIXED, BAD_FIXED),
    )
    await request.submit(
        ApproveMerchant(request.actor, merchant.id, terms, application_id=application_id)
    )
    return request.redirect(f"/merchants/{merchant.id}", done="approved")


def _application(request: OperatorRequest) -> UUID:
    """The application on the operator's screen: another one may have followed it."""
    application_id = ids.read_id(ids.APPLICATION, request.form.get("application", ""))
    if application_id is None:
        raise RefusedForm(409, "This merchant has no such application.")
    return application_id


def _optional(request: OperatorRequest, name: str, highest: int) -> int | None:
    """An amount of the form in laari; None if the field is empty."""
    written = request.form.get(name, "").strip()
    amount = read_rufiyaa(written)
    if written and (amount is None or not 1 <= amount <= highest):
        raise RefusedForm(422, "An amount must be in rufiyaa, such as 100.00.")
    return amount


async def _refuse(request: OperatorRequest, merchant: Merchant) -> Reply:
    reason = request.text_of("reason", MAX_DECISION)
    application_id = _application(request)
    await request.submit(RefuseApplication(request.actor, application_id, reason))
    return request.redirect(f"/merchants/{merchant.id}", done="refused")


def _fee(request: OperatorRequest, name: str, highest: int, problem: str) -> int | None:
    """Hundredths of a percent or of a rufiyaa; None if the field is empty."""
    written = request.form.get(name, "").strip()
    fee = read_rufiyaa(written)
    if written and (fee is None or not 0 <= fee <= highest):
        raise RefusedForm(422, problem)
    return fee


async def _cancel_fees(request: OperatorRequest, merchant: Merchant) -> Reply:
    starts_at = read_timestamp(request.form.get("starts_at", ""))
    if starts_at is None:
        raise RefusedForm(422, "The moment of the fees must be a time.")
    await request.submit(CancelFees(request.actor, merchant.id, starts_at))
    return request.redirect(f"/merchants/{merchant.id}", done="unscheduled")


def _page_of(merchant: Merchant) -> str:
    return f"/merchants/{merchant.id}"


async def _password_link(request: OperatorRequest, merchant: Merchant) -> Reply:
    email = request.form.get("email", "")
    try:
        member = await request.backend.ask(memberships.find_member, merchant.id, email)
    except LaariError:
        raise RefusedForm(404, "This person does not log in to this merchant.") from None
    return await hand_over_link(request, member.person_id, f"/merchants/{merchant.id}")


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/merchants", get=show_list, needs="merchants.read"),
    PageRoute(OperatorRequest, "/merchants/{merchant}", get=MERCHANT.show, needs="merchants.read"),
    MERCHANT.form("/approve", _approve, needs="merchants.approve"),
    MERCHANT.form("/refuse", _refuse, needs="merchants.approve"),
    form(MERCHANT, "/rename", RENAME, _page_of),
    form(MERCHANT, "/fees", SET_FEES, _page_of),
    MERCHANT.form("/cancel-fees", _cancel_fees, needs="fees.change"),
    form(MERCHANT, "/pause", PAUSE, _page_of),
    form(MERCHANT, "/resume", RESUME, _page_of),
    MERCHANT.form("/password-link", _password_link, needs="people.manage"),
]
