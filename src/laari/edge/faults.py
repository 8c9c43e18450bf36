"""What is refused before any interface sees it, in the shape of the interface that was meant."""

from __future__ import annotations

from laari.edge.http import PLAIN, Reply
from laari.edge.merchant import envelope as merchant
from laari.edge.merchant.oauth import TOKEN_HEADERS, TOKEN_PATH, token_refused
from laari.edge.wallet import envelope as wallet
from laari.rules.refusals import Refusal

_MERCHANT = "/merchant"
_WALLET = "/wallet"
_SANDBOX = "/sandbox"  # sign-up speaks as the merchant interface does


def fault_reply(refusal: Refusal, path: str | None) -> Reply:
    """`path` is None where the request was not understood so far: most are programs' then."""
    if path == _MERCHANT + TOKEN_PATH:
        return _with(token_refused(refusal), *TOKEN_HEADERS)
    if path is None or path.startswith((f"{_MERCHANT}/", f"{_SANDBOX}/")):
        return _with(merchant.refused(refusal), *merchant.HEADERS)
    if path == _WALLET or path.startswith(f"{_WALLET}/"):
        return _with(wallet.refused(refusal), wallet.NO_STORE)
    shown = Reply(refusal.status, f"{refusal.message}\n".encode(), content_type=PLAIN)
    return _with(shown, merchant.NO_STORE)


def _with(reply: Reply, *headers: tuple[bytes, bytes]) -> Reply:
    return reply._replace(headers=(*reply.headers, *headers))
