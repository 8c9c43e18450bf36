"""The first page of the wallet, with balance and limits, and the history."""

from datetime import datetime
from typing import NamedTuple

from laari.edge.moments import moment_at
from laari.edge.pages.spending import frozen_words
from laari.edge.pages.visit import Visit
from laari.edge.pages.wallet.bars import share
from laari.edge.pages.wallet.frame import PAGE, app_page, app_route
from laari.edge.pages.wallet.requests import first_waiting
from laari.http.messages import Reply
from laari.rules.calendar import Interval, period_after
from laari.rules.ids import is_tid
from laari.rules.periods import Moment
from laari.rules.wallets import counted, spent_now
from laari.rules.world import local_time
from laari.store.people.sessions import CustomerSession
from laari.store.reads import wallets
from laari.store.reads.wallets import WalletStatus

RECENT = 5  # transactions on the first page


class PeriodUsage(NamedTuple):
    """One limit of the wallet's tier; None is no limit."""

    interval: Interval
    spent: int
    limit: int | None
    resets_at: datetime

    @property
    def left(self) -> int | None:
        # A tier that was lowered may leave more spent than it allows.
        return None if self.limit is None else max(0, self.limit - self.spent)

    @property
    def share(self) -> int | None:
        return share(self.spent, self.limit)


def usage_of(wallet_status: WalletStatus, moment: Moment) -> list[PeriodUsage]:
    tier = wallet_status.tier
    day, week, month = spent_now(wallet_status.wallet, moment)
    return [
        PeriodUsage("day", day.spent, tier.daily, period_after(day.start, "day")),
        PeriodUsage("week", week.spent, tier.weekly, period_after(week.start, "week")),
        PeriodUsage("month", month.spent, tier.monthly, period_after(month.start, "month")),
    ]


async def show_home(visit: Visit, customer: CustomerSession) -> Reply:
    wallet_status = await visit.backend.wallets.get(customer.account)
    assert wallet_status is not None  # a customer has a wallet, and wallets stay
    wallet, clock = wallet_status.wallet, wallet_status.clock
    now = local_time(visit.now, clock)
    moment = await moment_at(visit.backend, wallet.mode, clock, now, counted(wallet))
    history = await visit.backend.ask(wallets.history, customer.account, None, RECENT)
    assert history is not None
    return app_page(
        visit,
        customer,
        "home",
        wallet_status=wallet_status,
        frozen=None if wallet.frozen_at is None else frozen_words(visit),
        usage=usage_of(wallet_status, moment),
        waiting=await first_waiting(visit, customer),
        transactions=history[0],
    )


async def show_transactions(visit: Visit, customer: CustomerSession) -> Reply:
    before = visit.query.get("before")
    if before is not None and not is_tid(before):
        return visit.refusal(404, "not_found", back="/app/transactions")
    history = await visit.backend.ask(wallets.history, customer.account, before, PAGE)
    if history is None:
        return visit.refusal(404, "not_found", back="/app/transactions")
    transactions, has_more = history
    return app_page(
        visit,
        customer,
        "transactions",
        transactions=transactions,
        is_first=before is None,
        older=f"/app/transactions?before={transactions[-1].tid}" if has_more else None,
    )


ROUTES = [
    app_route("/app", get=show_home),
    app_route("/app/transactions", get=show_transactions),
]
