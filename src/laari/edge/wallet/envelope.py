"""Replies of the wallet interface."""

from __future__ import annotations

from laari.edge.http import Reply
from laari.rules.refusals import Refusal
from laari.rules.wallet_shapes import wallet_refusal_body

NO_STORE = (b"cache-control", b"no-store")
CHALLENGE = (b"www-authenticate", b'ApiKey realm="laari wallet"')


def refused(refusal: Refusal, *headers: tuple[bytes, bytes]) -> Reply:
    if refusal.status == 401:
        headers = (*headers, CHALLENGE)
    elif refusal.status == 503:
        headers = (*headers, (b"retry-after", b"1"))
    return Reply(refusal.status, wallet_refusal_body(refusal), headers)
