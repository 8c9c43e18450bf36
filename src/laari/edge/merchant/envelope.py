"""Replies of the merchant interface."""

from __future__ import annotations

from laari.http.messages import NO_STORE, Header, Reply, refusal_headers
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import refusal_body

API_VERSION = "2027-07-01"

VERSION = (b"service-version", API_VERSION.encode())
HEADERS = (NO_STORE, VERSION)  # of every response
CHALLENGE = (b"www-authenticate", b'Bearer realm="laari", Basic realm="laari"')


def refused(refusal: Refusal, *headers: Header) -> Reply:
    headers = (*headers, *refusal_headers(refusal, CHALLENGE))
    return Reply(refusal.status, refusal_body(refusal), headers, code=refusal.public_code)
