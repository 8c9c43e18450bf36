"""Replies of the merchant interface."""

from laari.http.messages import NO_STORE, Header, Reply, refusal_headers
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import refusal_body

API_VERSION = "2027-07-01"

VERSION = (b"service-version", API_VERSION.encode())
HEADERS = (NO_STORE, VERSION)  # of every response
REPLAYED = (b"idempotent-replayed", b"true")
CHALLENGE = (b"www-authenticate", b'Bearer realm="laari", Basic realm="laari"')


def refused(refusal: Refusal, *headers: Header) -> Reply:
    more = refusal_headers(refusal.status, refusal.retry_after, CHALLENGE)
    body = refusal_body(refusal)
    return Reply(refusal.status, body, (*headers, *more), code=refusal.public_code)
