"""Who is calling: by Bearer, X-API-Key or Basic. Only the first one present is tried."""

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime

from laari.edge.backend import Backend
from laari.edge.input.missing_key import (
    ACCESS_TOKEN,
    CLIENT_SECRET,
    SECRET_KEY,
    WALLET_KEY,
    key_form,
    other_header,
)
from laari.edge.merchant.operations import Caller
from laari.http.messages import Request
from laari.rules.actors import Actor
from laari.rules.refusals import Refusal, refuse
from laari.rules.tokens import is_alive, recognised
from laari.store.merchants.merchants import key_digest
from laari.store.merchants.oauth import token_digest

_HOW = "Send the merchant's secret key as X-API-Key, or an access token as Authorization: Bearer."
_HOW_BASIC = "The user name is the merchant id, the password its secret key."
# One text for unknown, expired, rotated and inactive: a stranger must not learn which it is.
_WRONG_BASIC = f"The Basic credentials are not valid, or the merchant is not active. {_HOW_BASIC}"
_WRONG_KEY = (
    "The key in X-API-Key is not known, was rotated, or its merchant is not active. Send "
    "the secret key of a merchant of this service."
)
_EXPIRED = "The access token is not known or has expired; get another at /merchant/oauth/token."


async def authenticate(backend: Backend, request: Request) -> Caller | Refusal:
    scheme, _, credentials = request.headers.get(b"authorization", "").strip().partition(" ")
    scheme, credentials = scheme.lower(), credentials.strip()
    if scheme == "bearer":
        return await _by_token(backend, request, credentials)
    if b"x-api-key" in request.headers:
        return await _by_secret(backend, request, request.headers[b"x-api-key"].strip())
    if scheme == "basic":
        pair = read_basic(credentials)
        if pair is None:
            return _refused("The Basic credentials cannot be read. " + _HOW_BASIC)
        merchant_id, secret = pair
        return await _by_secret(backend, request, secret, merchant_id)
    return _refused(_nothing_sent(request, scheme))


def read_basic(credentials: str) -> tuple[str, str] | None:
    """User name and password of HTTP Basic credentials."""
    try:
        name, colon, password = (
            base64.b64decode(credentials, validate=True).decode("utf-8").partition(":")
        )
    except (binascii.Error, UnicodeError, ValueError):
        return None
    return (name, password) if colon else None


async def _by_secret(
    backend: Backend, request: Request, secret: str, merchant_id: str | None = None
) -> Caller | Refusal:
    basic = merchant_id is not None
    # The look-up by digest takes no longer for a near miss.
    found = await backend.credentials.get(key_digest(backend.master_key, secret))
    if found is None or not found.active:
        return _refused(_WRONG_BASIC if basic else _wrong_key(secret))
    if merchant_id is not None and merchant_id != found.merchant_id:
        return _refused(_WRONG_BASIC)
    return Caller(found, None, _names(request, "secret key"))


async def _by_token(backend: Backend, request: Request, token: str) -> Caller | Refusal:
    found = await backend.access_tokens.get(token_digest(backend.master_key, token))
    if found is None:
        return _refused(_wrong_token(token))
    now = datetime.now(UTC)
    if not is_alive(found.expires_at, found.sandbox_offset_seconds, found.tenant, now):
        return _refused(_wrong_token(token))
    backend.client_uses.note(found.client_id)
    return Caller(found.tenant, recognised(found.scope), _names(request, found.client_id))


def _names(request: Request, name: str) -> Callable[[], Actor]:
    return lambda: Actor("credential", name, address=request.client)


def _refused(why: str) -> Refusal:
    return refuse("unauthorized", why)


def _nothing_sent(request: Request, scheme: str) -> str:
    other = other_header(request.headers)
    if scheme:
        return f"Authorization must begin with Bearer or Basic. {_HOW}"
    if other is not None:
        return f"{other} is not read. {_HOW}"
    return f"No credentials were sent. {_HOW}"


def _wrong_key(key: str) -> str:
    """Why this key is not accepted, by its form alone."""
    if key.startswith(ACCESS_TOKEN):
        return "X-API-Key holds an access token; send it as Authorization: Bearer."
    if key.startswith(WALLET_KEY):
        return "X-API-Key holds a wallet's key, which is for /wallet. " + _HOW
    if key.startswith(CLIENT_SECRET):
        return "X-API-Key holds a client secret; get an access token at /merchant/oauth/token."
    wrong = key_form(key)
    return _WRONG_KEY if wrong is None else f"{wrong} {_HOW}"


def _wrong_token(token: str) -> str:
    if token.startswith(SECRET_KEY):
        return "Authorization: Bearer holds a secret key; send it as X-API-Key."
    return _EXPIRED
