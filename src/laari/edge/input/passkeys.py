"""The answers of authenticators, which browsers send in forms: read, and verified.

`webauthn` verifies them. It loads slowly, and answers come from strangers, so the process that
hashes passwords does it (`edge/load/hashing.py`): the import is in the functions.
"""

import base64
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

# In this order: the first that an authenticator has. RS256 is for Windows.
ALGORITHMS = (-7, -8, -257)  # ES256, EdDSA, RS256

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
_DOMAIN = re.compile(r"(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*", re.ASCII)  # not an address of numbers


class Party(NamedTuple):
    """The service as browsers and authenticators know it."""

    id: str  # the host: a passkey belongs to it
    origin: str


def party_of(public_url: str) -> Party | None:
    """None if browsers have no passkeys there: without https, or without a name."""
    parts = urlsplit(public_url)
    host, port = (parts.hostname or "").lower(), parts.port
    is_secure = parts.scheme == "https" or host == "localhost" or host.endswith(".localhost")
    if not is_secure or not _DOMAIN.fullmatch(host):
        return None
    is_usual = port in (None, 443 if parts.scheme == "https" else 80)  # browsers leave it out
    return Party(host, f"{parts.scheme}://{host}" + ("" if is_usual else f":{port}"))


def to_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def read_bytes(text: str) -> bytes | None:
    """Strict base64url without padding."""
    if not _BASE64URL.fullmatch(text) or len(text) % 4 == 1:
        return None
    value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return value if to_text(value) == text else None


class Added(NamedTuple):
    """The fields of the form of a new passkey."""

    challenge: bytes
    client_data: bytes
    credential: bytes
    attestation: bytes


class Used(NamedTuple):
    """The fields of the form of a log-in."""

    challenge: bytes
    client_data: bytes
    credential: bytes
    authenticator_data: bytes
    signature: bytes
    user_handle: bytes  # the customer for whom it was made; empty if the authenticator says nothing


def read_added(form: Mapping[str, str]) -> Added | None:
    values = _read(form, Added._fields)
    return None if values is None else Added(*values)


def read_used(form: Mapping[str, str]) -> Used | None:
    values = _read(form, Used._fields)
    return None if values is None else Used(*values)


def _read(form: Mapping[str, str], names: tuple[str, ...]) -> list[bytes] | None:
    values = [value for name in names if (value := read_bytes(form.get(name, ""))) is not None]
    return values if len(values) == len(names) else None


class NewKey(NamedTuple):
    credential: bytes
    public_key: bytes
    counter: int


def verify_added(party: Party, added: Added) -> NewKey | None:
    """The key of a new passkey that was made here, for this challenge, by a verified user."""
    from webauthn import verify_registration_response  # noqa: PLC0415
    from webauthn.helpers.cose import COSEAlgorithmIdentifier  # noqa: PLC0415
    from webauthn.helpers.structs import (  # noqa: PLC0415
        AuthenticatorAttestationResponse,
        RegistrationCredential,
    )

    try:
        found = verify_registration_response(
            credential=RegistrationCredential(
                id=to_text(added.credential),
                raw_id=added.credential,
                response=AuthenticatorAttestationResponse(added.client_data, added.attestation),
            ),
            expected_challenge=added.challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
            supported_pub_key_algs=[COSEAlgorithmIdentifier(each) for each in ALGORITHMS],
        )
    except Exception:  # an answer that it cannot read proves nothing
        return None
    if found.credential_id != added.credential:
        return None
    return NewKey(found.credential_id, found.credential_public_key, found.sign_count)


def verify_used(party: Party, public_key: bytes, used: Used) -> int | None:
    """The counter of a signature with this key, made here, for this challenge, by a verified user.

    Whether the counter goes on is decided under the lock of the passkey (`UsePasskey`).
    """
    from webauthn import verify_authentication_response  # noqa: PLC0415
    from webauthn.helpers.structs import (  # noqa: PLC0415
        AuthenticationCredential,
        AuthenticatorAssertionResponse,
    )

    try:
        found = verify_authentication_response(
            credential=AuthenticationCredential(
                id=to_text(used.credential),
                raw_id=used.credential,
                response=AuthenticatorAssertionResponse(
                    used.client_data, used.authenticator_data, used.signature
                ),
            ),
            expected_challenge=used.challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except Exception:  # an answer that it cannot read proves nothing
        return None
    return found.new_sign_count
