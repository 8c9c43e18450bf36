"""The wallet interface: a personal account reads its balance, limits and history.

The key comes first: an unknown endpoint and a wrong method need one and count as requests.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.endpoint import Endpoint
from laari.edge.input.fields import NO_QUERY, Query
from laari.edge.input.missing_key import SECRET_KEY, key_form, other_header
from laari.edge.input.warnings import warned
from laari.edge.wallet.envelope import HEADERS, refused
from laari.edge.wallet.paging import PAGING, Paging, unknown_cursor
from laari.http.messages import Reply, Request, read_parameters
from laari.http.router import Router
from laari.rules.limits.keys_and_rates import WALLET_WINDOW_REQUESTS
from laari.rules.records.tenants import local_time
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.wallet import (
    Usage,
    WalletBalance,
    WalletData,
    WalletList,
    WalletPage,
    WalletPagination,
    WalletTransaction,
    balance_shape,
    transaction_shape,
    usage_shape,
)
from laari.rules.wallets import counted
from laari.store.reads import wallets
from laari.store.reads.people.wallet_keys import key_digest


async def balance(backend: Backend, account: int, query: None) -> WalletList[WalletBalance]:
    wallet_status = await backend.wallets.get(account)
    assert wallet_status is not None  # a key belongs to a wallet, and wallets stay
    return WalletList(success=True, data=[balance_shape(wallet_status.wallet)])


async def usage(backend: Backend, account: int, query: None) -> WalletData[Usage]:
    wallet_status = await backend.wallets.get(account)
    assert wallet_status is not None
    wallet, clock = wallet_status.wallet, wallet_status.clock
    now = local_time(datetime.now(UTC), clock)
    moment = await backend.moment(wallet.mode, clock, now, counted(wallet))
    return WalletData(success=True, data=usage_shape(wallet, wallet_status.tier, moment))


async def transactions(
    backend: Backend, account: int, paging: Paging
) -> WalletPage[WalletTransaction] | Refusal:
    found = await backend.ask(wallets.history, account, paging.before, paging.limit)
    if found is None:
        return unknown_cursor()
    page, has_more = found
    cursor = page[-1].tid if has_more else None
    return WalletPage(
        success=True,
        data=[transaction_shape(transaction) for transaction in page],
        pagination=WalletPagination(paging.limit, has_more, cursor),
    )


@dataclass(frozen=True, kw_only=True)
class WalletRead(Endpoint):
    """Returns resources of one shape in an envelope."""

    get: Callable[[Backend, int, Any], Awaitable[Struct | Refusal]]
    query: Query[Any] = NO_QUERY
    envelope: type[Struct]
    shape: type[Struct]


ENDPOINTS = (
    WalletRead(
        path="/balance",
        name="wallet_balance",
        summary="Read the balances",
        get=balance,
        envelope=WalletList,
        shape=WalletBalance,
    ),
    WalletRead(
        path="/usage",
        name="wallet_usage",
        summary="Read limits and usage",
        get=usage,
        envelope=WalletData,
        shape=Usage,
    ),
    WalletRead(
        path="/transactions",
        name="wallet_transactions",
        summary="Read the history, newest first",
        get=transactions,
        envelope=WalletPage,
        shape=WalletTransaction,
        query=PAGING,
        refusals=("invalid_pagination",),
    ),
)
_UNKNOWN_KEY = (
    "The key in X-API-Key is not known or was revoked. Make one in the wallet application."
)
BASE_PATH = "/wallet"
ROUTER: Router[WalletRead] = Router()
for _endpoint in ENDPOINTS:
    ROUTER.add(BASE_PATH + _endpoint.path, _endpoint.method, _endpoint)


class WalletInterface:
    headers = HEADERS

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.admission = backend.admission

    def refused(self, refusal: Refusal) -> Reply:
        return refused(refusal)

    async def handle(self, request: Request) -> Reply:
        if self._backend.settings.require_https and not request.secure:
            return refused(refuse("https_required"))
        found = ROUTER.find(request.path.removesuffix("/"))
        endpoint = None if found is None else found.methods["GET"]
        if endpoint is not None:
            request.operation = endpoint.name
        key = request.headers.get(b"x-api-key", "").strip()
        use = (
            await self._backend.wallet_key_uses.call(key_digest(self._backend.master_key, key))
            if key
            else None
        )
        if use is None:
            return refused(refuse("unauthorized", _why_no_access(request, key)))
        if use.number > WALLET_WINDOW_REQUESTS:
            return refused(refuse("rate_limited")._replace(retry_after=use.seconds_left))
        if endpoint is None:
            return refused(refuse("not_found"))
        if request.method != "GET":
            return refused(refuse("method_not_allowed"), (b"allow", b"GET"))
        given = read_parameters(request.query)
        query = endpoint.query.read(given)
        shown = (
            query
            if isinstance(query, Refusal)
            else await endpoint.get(self._backend, use.account, query)
        )
        reply = refused(shown) if isinstance(shown, Refusal) else Reply(200, to_json(shown))
        return warned(reply, given, endpoint.query.fields)


def _why_no_access(request: Request, key: str) -> str:
    """By names and forms alone, so that it does not show which keys exist."""
    how = "Send a wallet's API key as X-API-Key."
    if b"x-api-key" in request.headers:
        if key.startswith(SECRET_KEY):
            return f"X-API-Key holds a merchant's secret key, which is for /merchant. {how}"
        wrong = key_form(key)
        return _UNKNOWN_KEY if wrong is None else f"{wrong} {how}"
    other = "Authorization" if b"authorization" in request.headers else None
    other = other or other_header(request.headers)
    return f"No API key was sent. {how}" if other is None else f"{other} is not read here. {how}"
