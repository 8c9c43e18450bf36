"""The token endpoint: the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4).

Its errors have a different shape, and the version header does not apply to it.
"""

import hmac
import math
import time
from typing import Annotated, NamedTuple
from urllib.parse import unquote_plus

from msgspec import Meta, Struct

from laari.edge.backend import Backend
from laari.edge.endpoint import Endpoint
from laari.edge.load.token_buckets import Bucket, named_bucket
from laari.edge.merchant.auth import read_basic
from laari.http.messages import NO_STORE, Header, Reply, Request, read_parameters
from laari.rules.limits.bodies import MAX_TOKEN_BODY_BYTES
from laari.rules.refusals import Refusal
from laari.rules.shapes.envelopes import to_json
from laari.rules.tokens import IssueToken, granted_scope
from laari.store.merchants.oauth import (
    TOKEN_PREFIX,
    ClientCredential,
    bind_token,
    client_digest,
    is_client_id,
    token_digest,
)
from laari.store.secrets import new_secret

TOKEN = Endpoint(
    path="/oauth/token",
    method="POST",
    name="issue_token",
    summary="Get an access token",
    description="Send the client's id and secret with HTTP Basic or in the form.",
)
TOKEN_ADDRESS = f"/merchant{TOKEN.path}"
MAX_FIELDS = 50  # four are read
LONGEST_CREDENTIAL = 256  # characters of client_id and client_secret
LONGEST_ENCODED = 12 * LONGEST_CREDENTIAL  # inside Basic: four bytes a character, three for each
PARAMETERS = ("grant_type", "client_id", "client_secret", "scope")

# A setting limits failed attempts per client and address; over all clients an address has ten times
# as many.
CLIENTS_PER_ADDRESS = 10
LIMITS_OVER_SECONDS = 60.0  # both limits are settings per minute

# Every error there is, for the reference.
TOKEN_ERRORS = {
    400: ("invalid_request", "unsupported_grant_type", "invalid_scope"),
    401: ("invalid_client",),
    403: ("invalid_request",),
    405: ("invalid_request",),
    429: ("temporarily_unavailable",),
    500: ("server_error",),
    503: ("temporarily_unavailable",),
}

TOKEN_HEADERS = (NO_STORE, (b"pragma", b"no-cache"))
_CHALLENGE = (b"www-authenticate", b'Basic realm="laari"')


class TokenResponse(Struct, frozen=True):
    """An access token; `scope` is null if it has none."""

    access_token: Annotated[str, Meta(examples=["at_…"])]
    token_type: Annotated[str, Meta(examples=["Bearer"])]
    expires_in: Annotated[int, Meta(description="In seconds.", examples=[86400])]
    scope: Annotated[str | None, Meta(examples=["payments:create payments:read"])]


class TokenError(Struct, frozen=True):
    """The error shape of the token endpoint."""

    error: str
    error_description: str


class TokenRequest(NamedTuple):
    client_id: str
    client_secret: str
    scope: str | None


def _error(status: int, code: str, description: str, *headers: Header) -> Reply:
    return Reply(status, to_json(TokenError(code, description)), headers, code=code)


def _invalid(description: str) -> Reply:
    return _error(400, "invalid_request", description)


def _later(status: int, description: str, seconds: float) -> Reply:
    retry_after = (b"retry-after", str(math.ceil(seconds)).encode())
    return _error(status, "temporarily_unavailable", description, retry_after)


def token_refused(refusal: Refusal) -> Reply:
    """A refusal from outside the endpoint, in its shape."""
    if refusal.status == 503:
        return _later(503, refusal.message, refusal.retry_after or 1)
    if refusal.status == 500:
        return _error(500, "server_error", refusal.message)
    return _error(refusal.status, "invalid_request", refusal.message)


def _too_long() -> Reply:
    return _invalid(f"Credentials have at most {LONGEST_CREDENTIAL} characters.")


def _unknown_client() -> Reply:
    return _error(401, "invalid_client", "The client or its secret is not valid.", _CHALLENGE)


class TokenEndpoint:
    headers = TOKEN_HEADERS
    refused = staticmethod(token_refused)

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.admission = backend.admission

    async def handle(self, request: Request) -> Reply:
        request.operation = TOKEN.name
        if request.method != TOKEN.method:
            return _error(405, "invalid_request", "Use POST.", (b"allow", b"POST"))
        if self._backend.settings.require_https and not request.secure:
            return _error(403, "invalid_request", "HTTPS is required.")
        asked = _read(request)
        if isinstance(asked, Reply):
            return asked
        rates, failures = self._backend.rates, self._failure_buckets(asked.client_id, request)
        wait = max(rates.wait(bucket, time.monotonic()) for bucket in failures)
        if wait > 0:
            return _later(429, "Too many failed attempts.", wait)
        client = await self._authenticate(asked)
        if client is None:
            for bucket in failures:
                rates.take(bucket, time.monotonic())
            return _unknown_client()
        scope = granted_scope(client.scope, asked.scope)
        if scope is None:
            return _error(400, "invalid_scope", "The client does not have every requested scope.")
        # A token is a row that stays for a day: a client must not get one for every request.
        rate = self._backend.settings.tokens_per_minute / 60
        issued = Bucket(named_bucket("token issued", client.id), rate, LIMITS_OVER_SECONDS)
        wait = rates.take(issued, time.monotonic())
        if wait > 0:
            return _later(
                429, "Too many tokens were requested; a token is valid for 24 hours.", wait
            )
        return await self._issue(client, scope)

    async def _authenticate(self, asked: TokenRequest) -> ClientCredential | None:
        if not is_client_id(asked.client_id):
            return None
        client = await self._backend.clients.get(asked.client_id)
        if client is None:
            return None
        # 256 random bits need no slow hash, only a comparison in constant time.
        given = client_digest(self._backend.master_key, asked.client_secret)
        return client if hmac.compare_digest(given, client.secret_digest) else None

    async def _issue(self, client: ClientCredential, scope: str) -> Reply:
        token = new_secret(TOKEN_PREFIX)
        held = token_digest(self._backend.master_key, token)
        outcome = await self._backend.spine.submit(
            IssueToken(
                digest=held,
                binding=bind_token(self._backend.master_key, held, client.id, scope),
                client_id=client.id,
                scope=scope,
                sandbox_offset_seconds=client.sandbox_offset_seconds,
                client_expires_at=client.expires_at,
            )
        )
        if isinstance(outcome, Refusal):
            if outcome.code == "unauthorized":  # the client expired in this moment
                return _unknown_client()
            return _later(503, outcome.message, 1)  # the spine is full
        self._backend.client_uses.note(client.id)
        seconds = int((outcome.expires_at - outcome.issued_at).total_seconds())
        return Reply(200, to_json(TokenResponse(token, "Bearer", seconds, scope or None)))

    def _failure_buckets(self, client_id: str, request: Request) -> list[Bucket]:
        """A client's failures are counted per address, so that a stranger cannot lock it out."""
        rate, address = self._backend.settings.token_failures_per_minute / 60, request.client
        over, of_client = LIMITS_OVER_SECONDS, named_bucket("token", address, client_id)
        return [
            Bucket(of_client, rate, over),
            Bucket(named_bucket("token", address), rate * CLIENTS_PER_ADDRESS, over),
        ]


def _read(request: Request) -> TokenRequest | Reply:
    form = _read_form(request)
    if isinstance(form, Reply):
        return form
    if "grant_type" not in form:
        return _invalid("grant_type is required.")
    if form["grant_type"] != "client_credentials":
        return _error(400, "unsupported_grant_type", "grant_type must be client_credentials.")
    credentials = _read_credentials(request, form)
    if isinstance(credentials, Reply):
        return credentials
    if any(len(part) > LONGEST_CREDENTIAL for part in credentials):
        return _too_long()
    return TokenRequest(*credentials, form.get("scope"))


def _read_form(request: Request) -> dict[str, str] | Reply:
    """The parameters that have a value; unknown ones are ignored."""
    if request.media_type != "application/x-www-form-urlencoded":
        return _invalid("Content-Type must be application/x-www-form-urlencoded.")
    body = request.body(MAX_TOKEN_BODY_BYTES)
    if body is None:
        return _invalid("The body is too large.")
    if body.count(b"&") >= MAX_FIELDS:
        return _invalid(f"The body has more than {MAX_FIELDS} fields.")
    try:
        given = read_parameters(body, errors="strict")
    except ValueError:
        return _invalid("The body is not a valid form.")
    form: dict[str, str] = {}
    for name, value in given:
        if name not in PARAMETERS:
            continue
        if name in form:
            return _invalid(f"{name} must be given once.")
        form[name] = value
    return {name: value for name, value in form.items() if value}


def _read_credentials(request: Request, form: dict[str, str]) -> tuple[str, str] | Reply:
    """The client's id and secret, from HTTP Basic or the form; some libraries send the id twice."""
    scheme, _, encoded = request.headers.get(b"authorization", "").strip().partition(" ")
    if scheme.lower() != "basic":
        if "client_id" in form and "client_secret" in form:
            return form["client_id"], form["client_secret"]
        return _invalid("client_id and client_secret are required.")
    if "client_secret" in form:
        return _invalid("Send the client's secret once: with Basic or in the body.")
    pair = read_basic(encoded.strip())
    if pair is None:
        return _unknown_client()
    if any(len(part) > LONGEST_ENCODED for part in pair):
        return _too_long()
    # Both parts are form-encoded inside Basic, RFC 6749 says.
    client_id, secret = unquote_plus(pair[0]), unquote_plus(pair[1])
    if form.get("client_id", client_id) != client_id:
        return _invalid("client_id in the body differs from the one in Basic.")
    return client_id, secret
