"""What merchants may charge without asking: limits, usage, pause, resume and revoke."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from laari.edge.moments import moment_at
from laari.edge.pages.language import Language
from laari.edge.pages.limits import is_unlimited, limits_in_words
from laari.edge.pages.login import is_fresh, unconfirmed
from laari.edge.pages.render import money
from laari.edge.pages.visit import Visit
from laari.edge.pages.wallet.bars import share
from laari.edge.pages.wallet.frame import (
    PAGE,
    app_page,
    app_route,
    for_one,
    older,
    own_row,
    read_place,
    tenants_of,
)
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.authorizations import (
    ResumeAuthorization,
    RevokeAuthorization,
    SuspendAuthorization,
    as_of,
)
from laari.rules.calendar import period_after
from laari.rules.limits import counted, current_period
from laari.rules.periods import Moment
from laari.rules.records import Authorization, Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import local_time
from laari.store.people.sessions import CustomerSession
from laari.store.reads import authorizations
from laari.store.reads.listing import Window

RECENT = 10  # payments that an authorization's page names

_LISTING = "authorizations of a wallet"


class Used(NamedTuple):
    """How much of one limit is used up."""

    name: str
    used: str | Markup
    limit: str | Markup
    share: int | None
    resets_at: datetime | None = None


class Given(NamedTuple):
    """An authorization as it is now, who may charge it, and the time on that merchant's clock."""

    authorization: Authorization
    tenant: Tenant
    now: datetime

    @property
    def state(self) -> str:
        return self.authorization.status

    @property
    def is_open(self) -> bool:
        return self.state in ("active", "suspended")

    @property
    def address(self) -> str:
        return f"/app/authorizations/{ids.show_id(ids.AUTHORIZATION, self.authorization.id)}"

    def words(self, language: Language) -> list[Markup]:
        return limits_in_words(language, self.authorization, self.tenant)

    @property
    def is_unlimited(self) -> bool:
        return is_unlimited(self.authorization)


def usage_of(given: Authorization, moment: Moment) -> list[Used]:
    used = []
    period = current_period(given, moment)
    if period is not None and given.period_interval and given.period_amount:
        name = {"day": "Today"}.get(given.period_interval, f"This {given.period_interval}")
        resets_at = period_after(period.start, given.period_interval)
        used.append(_money_used(name, period.spent, given.period_amount, resets_at))
    if given.total is not None:
        used.append(_money_used("In all", given.total_paid, given.total))
    allowed = 1 if given.type == "one_time" else given.max_payments
    if allowed is not None:
        part = share(given.payment_count, allowed)
        used.append(Used("Payments", f"{given.payment_count:,}", f"{allowed:,}", part))
    return used


def _money_used(name: str, used: int, limit: int, resets_at: datetime | None = None) -> Used:
    return Used(name, money(used), money(limit), share(used, limit), resets_at)


async def _given(visit: Visit, rows: Sequence[Authorization]) -> list[Given]:
    tenants = await tenants_of(visit, rows)
    return [
        Given(as_of(row, now), tenant, now)
        for row in rows
        for tenant in (tenants[row.tenant_id],)
        for now in (local_time(visit.now, tenant),)
    ]


async def show_all(visit: Visit, customer: CustomerSession) -> Reply:
    window = Window(PAGE, read_place(visit, _LISTING, customer))
    found = await visit.backend.page(authorizations.of_account(customer.account, window))
    return app_page(
        visit,
        customer,
        "authorizations",
        given=await _given(visit, found.rows),
        is_first=window.after is None,
        older=older(visit, _LISTING, customer, found.next),
    )


async def _find(visit: Visit, customer: CustomerSession) -> Given | None:
    rows = visit.backend.authorizations
    authorization = await own_row(visit, customer, ids.AUTHORIZATION, rows)
    return None if authorization is None else (await _given(visit, [authorization]))[0]


async def _page(
    visit: Visit, customer: CustomerSession, given: Given, status: int = 200, **values: object
) -> Reply:
    payments = await visit.backend.page(
        authorizations.payments_of(given.authorization.id, Window(RECENT))
    )
    held = counted(given.authorization)
    tenant = given.tenant
    moment = await moment_at(visit.backend, tenant.mode, tenant, given.now, held)
    shown = {
        "given": given,
        "authorization": given.authorization,
        "usage": usage_of(given.authorization, moment),
        "payments": payments.rows,
        "ask_password": not is_fresh(visit, customer),
        "failed": None,
    }
    return app_page(visit, customer, "authorizations/one", status, **(shown | values))


async def pause(visit: Visit, customer: CustomerSession, given: Given) -> Reply:
    return await _change(visit, customer, given, SuspendAuthorization)


async def resume(visit: Visit, customer: CustomerSession, given: Given) -> Reply:
    """Like an approval, this lets the merchant charge: the password must be recent."""
    problem = await unconfirmed(visit, customer)
    if problem is not None:
        return await _page(visit, customer, given, problem.status, failed=problem.words)
    return await _change(visit, customer, given, ResumeAuthorization)


async def revoke(visit: Visit, customer: CustomerSession, given: Given) -> Reply:
    return await _change(visit, customer, given, RevokeAuthorization)


Change = type[SuspendAuthorization] | type[ResumeAuthorization] | type[RevokeAuthorization]


async def _change(visit: Visit, customer: CustomerSession, given: Given, change: Change) -> Reply:
    outcome = await visit.backend.spine.submit(
        change(given.tenant, given.authorization.id, customer.payer)
    )
    if not isinstance(outcome, Refusal):
        return visit.go(given.address)
    now = await _find(visit, customer)
    if now is None or now.state != given.state:  # the merchant or another tab was faster
        return visit.go(given.address)
    if outcome.status < 500 and not now.is_open:
        failed = f"Nothing was changed: this authorization is already {STATES[now.state].lower()}."
    else:
        failed = "This could not be done right now, and nothing was changed. Try again in a moment."
    return await _page(visit, customer, now, outcome.status, failed=failed)


STATES = {
    "active": "Active",
    "suspended": "Paused",
    "revoked": "Revoked",
    "expired": "Expired",
    "consumed": "Used up",
}

ROUTES = [
    app_route("/app/authorizations", get=show_all),
    app_route("/app/authorizations/{id}", get=for_one(_find, _page)),
    app_route("/app/authorizations/{id}/pause", post=for_one(_find, pause)),
    app_route("/app/authorizations/{id}/resume", post=for_one(_find, resume)),
    app_route("/app/authorizations/{id}/revoke", post=for_one(_find, revoke)),
]
