"""Hints for a missing key, by names and forms alone.

No key is looked up, so a hint does not show which keys exist. No hint repeats the input.
"""

from collections.abc import Mapping

from laari.rules.merchants import keys
from laari.rules.people import wallet_keys
from laari.store.merchants import oauth

SECRET_KEY, WALLET_KEY = keys.KEY_PREFIX, wallet_keys.PREFIX
ACCESS_TOKEN, CLIENT_SECRET = oauth.TOKEN_PREFIX, keys.SECRET_PREFIX

# Header names that other services use for a key.
_OTHER_HEADERS = (
    "Api-Key",
    "ApiKey",
    "Secret-Key",
    "Token",
    "X-Access-Token",
    "X-Api-Token",
    "X-ApiKey",
    "X-Auth-Key",
    "X-Auth-Token",
    "X-Secret-Key",
    "X-Token",
    "X_API_KEY",
)


def other_header(headers: Mapping[bytes, str]) -> str | None:
    """The header in which the client probably sent its key."""
    return next((name for name in _OTHER_HEADERS if name.lower().encode() in headers), None)


def key_form(key: str) -> str | None:
    """The mistake in the form of an X-API-Key."""
    if not key:
        return "X-API-Key is empty."
    if " " in key:
        return "X-API-Key must have only the key, without a word such as Bearer."
    return None
