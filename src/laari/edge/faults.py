"""Refusals before any interface sees the request, in the shape of the interface of its path."""

from laari.edge.merchant import envelope as merchant
from laari.edge.merchant.oauth import TOKEN_ADDRESS, TOKEN_HEADERS, token_refused
from laari.edge.wallet import envelope as wallet
from laari.http.messages import NO_STORE, PLAIN, Reply
from laari.rules.refusals import Refusal

_MERCHANT = "/merchant"
_WALLET = "/wallet"
_SANDBOX = "/sandbox"  # sign-up has the shape of the merchant interface


def fault_reply(refusal: Refusal, path: str | None) -> Reply:
    """`path` is None if it could not be read; most such requests come from programs."""
    if path == TOKEN_ADDRESS:
        return token_refused(refusal).plus(*TOKEN_HEADERS)
    if path is None or path == _MERCHANT or path.startswith((f"{_MERCHANT}/", f"{_SANDBOX}/")):
        return merchant.refused(refusal).plus(*merchant.HEADERS)
    if path == _WALLET or path.startswith(f"{_WALLET}/"):
        return wallet.refused(refusal).plus(*wallet.HEADERS)
    return Reply(refusal.status, f"{refusal.message}\n".encode(), (NO_STORE,), PLAIN)
