"""Bodies and replies of the merchant interface."""

from laari.edge.input.strict_json import read_object
from laari.http.messages import NO_STORE, Header, Reply, Request, refusal_headers
from laari.rules.limits.bodies import MAX_BODY_BYTES
from laari.rules.refusals import Refusal, refuse
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


def read_json_object(request: Request) -> dict[str, object] | Refusal:
    body = request.body(MAX_BODY_BYTES)
    if body is None:
        return refuse("request_too_large")
    if request.media_type != "application/json":
        return refuse("invalid_request", "Content-Type must be application/json.")
    return read_object(body)
