"""What merchants may charge without asking: limits, usage, pause, resume and revoke."""

from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from laari.edge.moments import moment_at
from laari.edge.pages.asked import Asked, all_asked
from laari.edge.pages.language import Language
from laari.edge.pages.limits import is_unlimited, limits_in_words
from laari.edge.pages.login import is_fresh
from laari.edge.pages.render import money
from laari.edge.pages.visit import Visit
from laari.edge.pages.wallet.bars import share
from laari.edge.pages.wallet.frame import PAGE, OwnPages, app_page, app_route, older, read_place
from laari.edge.resources import AUTHORIZATIONS
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.authorizations import (
    ResumeAuthorization,
    RevokeAuthorization,
    SuspendAuthorization,
)
from laari.rules.calendar import period_after
from laari.rules.limits import counted, current_period
from laari.rules.periods import Moment
from laari.rules.records import Authorization
from laari.rules.refusals import Refusal
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


class Given(Asked[Authorization]):
    @property
    def is_open(self) -> bool:
        return self.state in ("active", "suspended")

    @property
    def address(self) -> str:
        return f"/app/authorizations/{ids.show_id(ids.AUTHORIZATION, self.row.id)}"

    def words(self, language: Language) -> list[Markup]:
        return limits_in_words(language, self.row, self.tenant)

    @property
    def is_unlimited(self) -> bool:
        return is_unlimited(self.row)


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


async def show_all(visit: Visit, customer: CustomerSession) -> Reply:
    window = Window(PAGE, read_place(visit, _LISTING, customer))
    found = await visit.backend.page(authorizations.of_account(customer.account, window))
    return app_page(
        visit,
        customer,
        "authorizations",
        given=await all_asked(visit, found.rows, Given),
        is_first=window.after is None,
        older=older(visit, _LISTING, customer, found.next),
    )


async def _page(
    visit: Visit, customer: CustomerSession, given: Given, status: int = 200, **values: object
) -> Reply:
    payments = await visit.backend.page(authorizations.payments_of(given.row.id, Window(RECENT)))
    held = counted(given.row)
    tenant = given.tenant
    moment = await moment_at(visit.backend, tenant.mode, tenant, given.now, held)
    shown = {
        "given": given,
        "authorization": given.row,
        "usage": usage_of(given.row, moment),
        "payments": payments.rows,
        "ask_password": not is_fresh(visit, customer),
        "failed": None,
    }
    return app_page(visit, customer, "authorizations/one", status, **(shown | values))


async def _refused_words(visit: Visit, given: Given, refusal: Refusal, account: int) -> str:
    if refusal.status < 500 and not given.is_open:
        return f"Nothing was changed: this authorization is already {STATES[given.state].lower()}."
    return "This could not be done right now, and nothing was changed. Try again in a moment."


STATES = {
    "active": "Active",
    "suspended": "Paused",
    "revoked": "Revoked",
    "expired": "Expired",
    "consumed": "Used up",
}

PAGES = OwnPages(AUTHORIZATIONS, Given, _page, _refused_words)
ROUTES = [
    app_route("/app/authorizations", get=show_all),
    app_route("/app/authorizations/{id}", get=PAGES.shown),
    app_route("/app/authorizations/{id}/pause", post=PAGES.decided(SuspendAuthorization)),
    # Like an approval, this lets the merchant charge: the password must be recent.
    app_route(
        "/app/authorizations/{id}/resume", post=PAGES.decided(ResumeAuthorization, confirmed=True)
    ),
    app_route("/app/authorizations/{id}/revoke", post=PAGES.decided(RevokeAuthorization)),
]
