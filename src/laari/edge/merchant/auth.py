"""Who is calling: Bearer, then X-API-Key, then Basic; the first one present alone is tried."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

from laari.edge.backend import Backend
from laari.edge.http import Request
from laari.edge.merchant.operations import Caller
from laari.rules.refusals import Refusal, refuse
from laari.rules.tokens import is_alive, recognised
from laari.store.secrets import digest


async def authenticate(backend: Backend, request: Request) -> Caller | Refusal:
    scheme, _, credentials = request.headers.get(b"authorization", "").strip().partition(" ")
    scheme, credentials = scheme.lower(), credentials.strip()
    if scheme == "bearer":
        return await _by_token(backend, credentials)
    if b"x-api-key" in request.headers:
        return await _by_secret(backend, request.headers[b"x-api-key"].strip())
    if scheme == "basic":
        pair = read_basic(credentials)
        if pair is None:
            return refuse("unauthorized")
        merchant_id, secret = pair
        return await _by_secret(backend, secret, merchant_id)
    return refuse("unauthorized")


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
    backend: Backend, secret: str, merchant_id: str | None = None
) -> Caller | Refusal:
    # The key is found by its digest, so comparing takes no longer for a near miss.
    found = await backend.credentials.get(digest(secret))
    if found is None or not found.active:
        return refuse("unauthorized")
    if merchant_id is not None and merchant_id != found.merchant_id:
        return refuse("unauthorized")
    return Caller(found, scopes=None)


async def _by_token(backend: Backend, token: str) -> Caller | Refusal:
    found = await backend.access_tokens.get(digest(token))
    if found is None:
        return refuse("unauthorized")
    now = datetime.now(UTC)
    if not is_alive(found.expires_at, found.sandbox_offset_seconds, found.tenant, now):
        return refuse("unauthorized")
    return Caller(found.tenant, recognised(found.scope))
