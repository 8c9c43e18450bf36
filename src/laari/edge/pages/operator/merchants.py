"""Merchants and their applications: review, approval, fees from a day on, and a pause."""

from uuid import UUID

from laari.edge.pages.operator.forms import form, perform
from laari.edge.pages.operator.request import OperatorRequest, Subject, hand_over_link
from laari.edge.pages.person import long
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.errors import LaariError
from laari.http.messages import Reply
from laari.operations.applications import APPROVE, REFUSE
from laari.operations.merchants import CANCEL_FEES, PAUSE, RENAME, RESUME, SET_FEES
from laari.rules import ids
from laari.rules.banking.bank_accounts import coming, in_effect, masked
from laari.rules.calendar import local_day
from laari.rules.lifecycle import shown_state
from laari.rules.limits.texts import MAX_DECISION
from laari.rules.records.tenants import Mode, local_time
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
NO_APPLICATION = "This merchant has no such application."


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
        moved=await request.movements_made(),
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


def _application(request: OperatorRequest) -> UUID:
    """The application on the operator's screen: another one may have followed it."""
    application_id = ids.read_id(ids.APPLICATION, request.form.get("application", ""))
    if application_id is None:
        raise RefusedForm(409, NO_APPLICATION)
    return application_id


async def _approve(request: OperatorRequest, merchant: Merchant) -> Reply:
    read = ids.show_id(ids.APPLICATION, _application(request))
    done = await perform(request, APPROVE, merchant, application_id=read)
    return request.back_to(_page_of(merchant), done)


async def _refuse(request: OperatorRequest, merchant: Merchant) -> Reply:
    applied = await request.backend.ask(applications.find, _application(request))
    if applied is None:
        raise RefusedForm(409, NO_APPLICATION)
    return request.back_to(_page_of(merchant), await perform(request, REFUSE, applied))


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
    MERCHANT.form("/approve", _approve, needs=APPROVE.needs, runs={APPROVE.name: {}}),
    MERCHANT.form("/refuse", _refuse, needs=REFUSE.needs, runs={REFUSE.name: {}}),
    form(MERCHANT, "/rename", RENAME, _page_of),
    form(MERCHANT, "/fees", SET_FEES, _page_of),
    form(MERCHANT, "/cancel-fees", CANCEL_FEES, _page_of),
    form(MERCHANT, "/pause", PAUSE, _page_of),
    form(MERCHANT, "/resume", RESUME, _page_of),
    MERCHANT.form("/password-link", _password_link, needs="people.manage"),
]
