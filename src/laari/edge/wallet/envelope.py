"""Replies of the wallet interface."""

from laari.http.messages import NO_STORE, Header, Reply, refusal_headers
from laari.rules.refusals import Refusal
from laari.rules.shapes.wallet import wallet_refusal_body

HEADERS = (NO_STORE,)  # of every response
CHALLENGE = (b"www-authenticate", b'ApiKey realm="laari wallet"')


def refused(refusal: Refusal, *headers: Header) -> Reply:
    more = refusal_headers(refusal.status, refusal.retry_after, CHALLENGE)
    body = wallet_refusal_body(refusal)
    return Reply(refusal.status, body, (*headers, *more), code=refusal.public_code)
