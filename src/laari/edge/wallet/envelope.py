"""Replies of the wallet interface."""

from __future__ import annotations

from laari.edge.http import Header, Reply, refusal_headers
from laari.rules.refusals import Refusal
from laari.rules.wallet_shapes import wallet_refusal_body

NO_STORE = (b"cache-control", b"no-store")
CHALLENGE = (b"www-authenticate", b'ApiKey realm="laari wallet"')


def refused(refusal: Refusal, *headers: Header) -> Reply:
    headers = (*headers, *refusal_headers(refusal, CHALLENGE))
    return Reply(refusal.status, wallet_refusal_body(refusal), headers)
