"""An authenticator in software, which a test can make lie, and passkeys without the pages."""

import hashlib
import json
import os
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import cbor2
from asyncpg import Connection
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256

from laari.edge.input.passkeys import read_bytes, to_text
from laari.rules.actors import Actor
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.people.passkey_challenges import (
    RANDOM_BYTES,
    Bound,
    ForAdding,
    ForLogIn,
    new_challenge,
)
from laari.rules.people.passkeys import AddPasskey, UsePasskey
from laari.rules.records.people import CustomerId, Passkey
from laari.store.reads.people import logins
from laari.store.secrets import keys_of
from tests.actors import MASTER
from tests.people import decided

PRESENT, VERIFIED, HAS_KEY = 1, 4, 64  # flags of what an authenticator says
BROWSER = "a browser"


class Authenticator:
    """Has one passkey, and says what the browser and the authenticator of a form would say.

    Keywords replace what is true: `origin`, `rp_id`, `flags`, `type` or `challenge`.
    """

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.key = generate_private_key(SECP256R1())
        self.credential = os.urandom(16)
        self.user_handle = b""
        self.counter = 0

    @property
    def public_key(self) -> bytes:
        point = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (point.x, point.y))
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})

    def create(self, options: dict[str, Any], **lies: Any) -> dict[str, str]:
        """The fields of a new passkey."""
        self.user_handle = read_bytes(options["user"]["id"]) or b""
        client_data = self._client_data("webauthn.create", options, lies)
        length = len(self.credential).to_bytes(2, "big")
        flags = lies.get("flags", PRESENT | VERIFIED) | HAS_KEY
        said = self._said(options["rp"]["id"], flags, lies)
        said += bytes(16) + length + self.credential + self.public_key
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": said})
        return {
            "challenge": options["challenge"],
            "client_data": to_text(client_data),
            "credential": to_text(self.credential),
            "attestation": to_text(attestation),
        }

    def get(self, options: dict[str, Any], **lies: Any) -> dict[str, str]:
        """The fields of a log-in."""
        client_data = self._client_data("webauthn.get", options, lies)
        said = self._said(options["rpId"], lies.get("flags", PRESENT | VERIFIED), lies)
        signed = said + hashlib.sha256(client_data).digest()
        return {
            "challenge": options["challenge"],
            "client_data": to_text(client_data),
            "credential": to_text(self.credential),
            "authenticator_data": to_text(said),
            "signature": to_text(self.key.sign(signed, ECDSA(SHA256()))),
            "user_handle": to_text(self.user_handle),
        }

    def _client_data(self, type: str, options: dict[str, Any], lies: dict[str, Any]) -> bytes:
        said = {
            "type": lies.get("type", type),
            "challenge": lies.get("challenge", options["challenge"]),
            "origin": lies.get("origin", self.origin),
            "crossOrigin": False,
        }
        return json.dumps(said).encode()

    def _said(self, rp_id: str, flags: int, lies: dict[str, Any]) -> bytes:
        party = hashlib.sha256(lies.get("rp_id", rp_id).encode()).digest()
        return party + bytes([flags]) + self.counter.to_bytes(4, "big")


async def adding(
    connection: Connection,
    customer_id: UUID,
    authenticator: Authenticator | None = None,
    master: bytes = MASTER,
    name: str = "Phone",
) -> AddPasskey:
    """The command of a customer who has just entered the password."""
    authenticator = authenticator or Authenticator("https://laari.test")
    authenticator.user_handle = customer_id.bytes
    password_hash = await logins.password_hash_of(connection, CustomerId(customer_id))
    assert password_hash is not None
    bound = ForAdding(customer_id, password_hash, BROWSER)
    return AddPasskey(
        Actor("customer", show_id(CUSTOMER, customer_id)),
        customer_id,
        name,
        authenticator.credential,
        authenticator.public_key,
        authenticator.counter,
        challenge(bound, master),
        BROWSER,
    )


def using(passkey: Passkey, counter: int, master: bytes = MASTER) -> UsePasskey:
    """The command of a log-in to the wallet with a verified answer."""
    bound = ForLogIn("live", None, BROWSER)
    return UsePasskey(
        passkey.id,
        passkey.customer_id,
        passkey.public_key,
        counter,
        challenge(bound, master),
        bound,
    )


def challenge(bound: Bound, master: bytes) -> bytes:
    digest, chance = keys_of(master).digest, os.urandom(RANDOM_BYTES)
    return new_challenge(digest, datetime.now(UTC), chance, bound)


async def add_passkey(connection: Connection, customer_id: UUID, master: bytes = MASTER) -> Passkey:
    command = await adding(connection, customer_id, master=master)
    return await decided(connection, command, master=master)
