"""The first page of the wallet, with balance and limits, and the history."""

import base64
from typing import NamedTuple

from laari.edge.pages.authorization_limits import Used, used_in_period
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.spending import frozen_words
from laari.edge.pages.wallet.request import PAGE, WalletRequest
from laari.edge.pages.wallet.requests import first_waiting
from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.ids import is_tid
from laari.rules.periods import Moment
from laari.rules.records.tenants import local_time
from laari.rules.records.wallets import Transaction
from laari.rules.wallets import counted, seen_by_customer, spent_now
from laari.store.reads import holders, refunds, wallets
from laari.store.reads.people import trusted
from laari.store.reads.refunds import LinkedRefund
from laari.store.reads.wallets import WalletStatus


class Linked(NamedTuple):
    """By the reference of a line: the payment of a refund, and the refunds of a payment."""

    payments: dict[str, str]
    refunds: dict[str, list[LinkedRefund]]


RECENT = 5  # transactions on the first page


def usage_of(wallet_status: WalletStatus, moment: Moment) -> list[Used]:
    tier = wallet_status.tier
    day, week, month = spent_now(wallet_status.wallet, moment)
    return [
        used_in_period("day", day, tier.daily),
        used_in_period("week", week, tier.weekly),
        used_in_period("month", month, tier.monthly),
    ]


async def show_home(request: WalletRequest) -> Reply:
    wallet_status = await request.backend.wallets.get(request.customer.account)
    assert wallet_status is not None  # a customer has a wallet, and wallets stay
    wallet, clock = seen_by_customer(wallet_status.wallet), wallet_status.clock
    now = local_time(request.now, clock)
    moment = await request.backend.moment(wallet.mode, clock, now, counted(wallet))
    history = await request.backend.ask(wallets.history, request.customer.account, None, RECENT)
    assert history is not None
    holder = await request.backend.ask(holders.by_account, request.customer.account)
    assert holder is not None
    trusting = await request.backend.ask(
        trusted.trusting, request.customer.customer_id, request.now
    )
    address = holder.vpa or holder.mobile or str(holder.account)
    return request.page(
        "home.html",
        holder=holder,
        address=address,
        code=base64.b64encode(qr_png(address)).decode(),
        wallet_status=wallet_status,
        frozen=frozen_words(request, wallet) if wallet.frozen_at is not None else None,
        usage=usage_of(wallet_status, moment),
        waiting=await first_waiting(request),
        asked=[each for each in trusting if each.trust.status == "asked"],
        transactions=history[0],
        linked=await _linked(request, history[0]),
    )


async def _linked(request: WalletRequest, lines: list[Transaction]) -> Linked:
    found = await request.backend.ask(refunds.linked, lines)
    linked = Linked({refund.tid: refund.payment_tid for refund in found}, {})
    for refund in found:
        linked.refunds.setdefault(refund.payment_tid, []).append(refund)
    return linked


async def show_transactions(request: WalletRequest) -> Reply:
    before, history = request.query.get("before"), None
    if before is None or is_tid(before):
        account = request.customer.account
        history = await request.backend.ask(wallets.history, account, before, PAGE)
    if history is None:
        return request.refusal(404, "not_found", back="/app/transactions")
    transactions, has_more = history
    return request.page(
        "transactions.html",
        transactions=transactions,
        linked=await _linked(request, transactions),
        is_first=before is None,
        older=f"/app/transactions?before={transactions[-1].tid}" if has_more else None,
    )


ROUTES = [
    PageRoute(WalletRequest, "", get=show_home),
    PageRoute(WalletRequest, "/transactions", get=show_transactions),
]
