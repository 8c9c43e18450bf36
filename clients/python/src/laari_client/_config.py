"""Where the service is and who is calling: checked once, when a client is made."""

from __future__ import annotations

import base64
import ipaddress
import math
from dataclasses import dataclass, field
from typing import Optional
from urllib.parse import quote_plus, urlsplit

import httpx

from laari_client._call import Headers, Operation, Prepared
from laari_client._errors import ConfigurationError
from laari_client._exchange import Policy, Proof

TOKEN = Operation(
    "issue_token",
    "POST",
    "/merchant/oauth/token",
    audience="token",
    keyed=False,
    repeatable=True,  # a token that nobody uses does no harm
)
MERCHANT_PATH = "/merchant"


@dataclass(frozen=True)
class Config:
    origin: str
    policy: Policy
    merchant: Optional[Proof]
    wallet: Optional[Proof]
    client: Optional[Proof]  # for the token endpoint
    token_request: Prepared = field(repr=False)

    def proof(self, audience: str) -> Optional[Proof]:
        """What is fixed; None where a token has to be fetched."""
        if audience == "public":
            return Proof(())
        if audience == "token":
            return self.client
        if audience == "wallet":
            if self.wallet is None:
                raise ConfigurationError("The wallet interface needs wallet_key.")
            return self.wallet
        if self.merchant is None and self.client is None:
            raise ConfigurationError(
                "The merchant interface needs secret_key, or client_id and client_secret."
            )
        return self.merchant

    def __str__(self) -> str:
        named = (("secret key", self.merchant), ("OAuth client", self.client))
        who = [name for name, proof in (*named, ("wallet key", self.wallet)) if proof is not None]
        return f"{self.origin}, {' and '.join(who)}"


def make_config(
    base_url: str,
    *,
    secret_key: Optional[str],
    client_id: Optional[str],
    client_secret: Optional[str],
    scope: Optional[str],
    wallet_key: Optional[str],
    timeout: float,
    deadline: float,
    max_attempts: int,
    allow_http: bool,
) -> Config:
    if (client_id is None) != (client_secret is None):
        raise ConfigurationError("client_id and client_secret go together.")
    if secret_key is not None and client_id is not None:
        raise ConfigurationError("Give secret_key or an OAuth client, not both.")
    if secret_key is None and client_id is None and wallet_key is None:
        raise ConfigurationError(
            "Give secret_key, client_id and client_secret, or wallet_key: there are no credentials."
        )
    if scope is not None and client_id is None:
        raise ConfigurationError("scope is for an OAuth client; a secret key has every scope.")
    return Config(
        _origin(base_url, allow_http=allow_http),
        _policy(timeout, deadline, max_attempts),
        _key("secret_key", secret_key),
        _key("wallet_key", wallet_key),
        _basic(client_id, client_secret),
        _token_request(scope),
    )


def _policy(timeout: float, deadline: float, max_attempts: int) -> Policy:
    for name, value in (("timeout", timeout), ("deadline", deadline)):
        if not (math.isfinite(value) and value > 0):
            raise ConfigurationError(f"{name} is a number of seconds above 0.")
    if max_attempts < 1:
        raise ConfigurationError("max_attempts is at least 1.")
    return Policy(float(timeout), float(deadline), max_attempts)


def _origin(base_url: str, *, allow_http: bool) -> str:
    """The service's address without a slash at its end; it may have a path of its own.

    The address of the merchant interface is understood too.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise ConfigurationError("base_url is not a URL.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError("base_url must be the http or https address of the service.")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigurationError("base_url has no credentials, query or fragment.")
    if parts.scheme == "http" and not allow_http and not _is_loopback(parts.hostname):
        raise ConfigurationError(
            "Plain http shows the key to the network. Use https, or allow_http=True."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path.rstrip("/")
    if path.endswith(MERCHANT_PATH):
        path = path[: -len(MERCHANT_PATH)].rstrip("/")
    origin = f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{path}"
    try:
        httpx.URL(origin)
    except (httpx.InvalidURL, ValueError):
        raise ConfigurationError("base_url is not a URL.") from None
    return origin


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _visible(name: str, value: str) -> str:
    """Refused here and without the value: a library's complaint about a header would show it."""
    if not isinstance(value, str) or not value or not all("!" <= each <= "~" for each in value):
        raise ConfigurationError(
            f"{name} is empty, or has a space, a line's end or another unusual character in it."
        )
    return value


def _key(name: str, value: Optional[str]) -> Optional[Proof]:
    return None if value is None else Proof((("X-API-Key", _visible(name, value)),))


def bearer(token: str) -> Proof:
    return Proof((("Authorization", f"Bearer {token}"),), token)


def _basic(client_id: Optional[str], client_secret: Optional[str]) -> Optional[Proof]:
    if client_id is None or client_secret is None:
        return None
    name = quote_plus(_visible("client_id", client_id))
    word = quote_plus(_visible("client_secret", client_secret))
    encoded = base64.b64encode(f"{name}:{word}".encode()).decode()
    return Proof((("Authorization", f"Basic {encoded}"),))


def _token_request(scope: Optional[str]) -> Prepared:
    form = "grant_type=client_credentials"
    if scope is not None:
        form = f"{form}&scope={quote_plus(scope)}"
    headers: Headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    return Prepared(TOKEN, TOKEN.path, headers, form.encode())
