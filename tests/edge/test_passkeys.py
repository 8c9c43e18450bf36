"""What browsers send of passkeys: read strictly, verified for our origin and challenge alone."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.input.passkeys import (
    ALGORITHMS,
    NewKey,
    Party,
    party_of,
    read_added,
    read_bytes,
    read_used,
    to_text,
    verify_added,
    verify_used,
)
from tests.passkeys import PRESENT, Authenticator

ORIGIN = "https://pay.example.mv"
PARTY = Party("pay.example.mv", ORIGIN)
CHALLENGE = to_text(b"c" * 56)
USE = {"challenge": CHALLENGE, "rpId": PARTY.id}
ADD = {
    "challenge": CHALLENGE,
    "rp": {"id": PARTY.id},
    "user": {"id": to_text(b"u" * 16)},
}
LIES: list[dict[str, Any]] = [
    {"origin": "https://evil.example"},
    {"origin": "http://pay.example.mv"},
    {"origin": "https://pay.example.mv:444"},
    {"origin": "https://shop.pay.example.mv"},
    {"rp_id": "evil.example"},
    {"rp_id": "example.mv"},
    {"flags": PRESENT},  # nobody was verified
    {"flags": 4},  # nobody was present
    {"challenge": to_text(b"d" * 56)},
    {"type": "webauthn.delete"},
]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (ORIGIN, "pay.example.mv"),
        ("https://pay.example.mv:8443", "pay.example.mv"),
        ("https://7.example.mv", "7.example.mv"),
        ("http://localhost:8000", "localhost"),
        ("http://laari.localhost:8000", "laari.localhost"),
        ("http://pay.example.mv", None),
        ("http://127.0.0.1:8000", None),
        ("https://192.0.2.7", None),
        ("https://[2001:db8::1]", None),
        ("", None),
    ],
)
def test_passkeys_need_https_and_a_name(url: str, host: str | None) -> None:
    assert party_of(url) == (None if host is None else Party(host, url))


def test_the_origin_is_written_as_browsers_write_it() -> None:
    for url in (f"{ORIGIN}:443", "https://Pay.Example.MV"):
        assert party_of(url) == PARTY


@given(st.binary(max_size=70))
def test_bytes_are_read_as_they_were_written(value: bytes) -> None:
    assert read_bytes(to_text(value)) == value


@pytest.mark.parametrize("text", ["A", "AQ=", "AQ==", "A+==", "A Q", "AQ\n", "ÅQ", "AAAAA", "AR"])
def test_another_spelling_is_refused(text: str) -> None:
    """`AR` has bits that `AQ`, the only spelling of this byte, has not."""
    assert read_bytes(text) is None


def test_a_form_without_one_of_its_values_is_refused() -> None:
    phone = Authenticator(ORIGIN)
    for form, read in ((phone.create(ADD), read_added), (phone.get(USE), read_used)):
        assert read(form) is not None
        for name in form:
            assert read({**form, name: "!"}) is None


def added(**lies: Any) -> NewKey | None:
    read = read_added(Authenticator(ORIGIN).create(ADD, **lies))
    assert read is not None
    return verify_added(PARTY, read)


def used(phone: Authenticator, key: bytes | None = None, **lies: Any) -> int | None:
    read = read_used(phone.get(USE, **lies))
    assert read is not None
    return verify_used(PARTY, key or phone.public_key, read)


def test_a_new_passkey_is_verified() -> None:
    phone = Authenticator(ORIGIN)
    phone.counter = 3
    read = read_added(phone.create(ADD))
    assert read is not None
    assert verify_added(PARTY, read) == NewKey(phone.credential, phone.public_key, 3)
    another = read._replace(credential=os.urandom(16))
    assert verify_added(PARTY, another) is None


def test_a_use_is_verified_and_says_the_counter() -> None:
    phone = Authenticator(ORIGIN)
    assert used(phone) == 0
    phone.counter = 9
    assert used(phone) == 9
    assert used(phone, Authenticator(ORIGIN).public_key) is None


@pytest.mark.parametrize("lies", LIES, ids=str)
def test_lies_prove_nothing(lies: dict[str, Any]) -> None:
    assert added(**lies) is None
    assert used(Authenticator(ORIGIN), **lies) is None


@given(st.binary(max_size=200), st.sampled_from(["client_data", "attestation"]))
def test_what_is_not_readable_proves_nothing(value: bytes, name: str) -> None:
    read = read_added({**Authenticator(ORIGIN).create(ADD), name: to_text(value)})
    assert read is not None
    assert verify_added(PARTY, read) is None


@given(
    st.binary(max_size=200),
    st.sampled_from(["client_data", "authenticator_data", "signature", "credential"]),
)
def test_what_was_not_signed_proves_nothing(value: bytes, name: str) -> None:
    phone = Authenticator(ORIGIN)
    read = read_used({**phone.get(USE), name: to_text(value)})
    assert read is not None
    # The credential is no part of what is signed: it has found the key.
    found = verify_used(PARTY, phone.public_key, read)
    assert found is None or name == "credential"


def test_deep_and_long_values_prove_nothing() -> None:
    for value in (b"[" * 15_000, b"\x81" * 15_000, b'{"a":' * 3_000):
        read = read_added({**Authenticator(ORIGIN).create(ADD), "client_data": to_text(value)})
        assert read is not None
        assert verify_added(PARTY, read) is None
        assert verify_added(PARTY, read._replace(attestation=value)) is None


def test_windows_has_an_algorithm_too() -> None:
    assert ALGORITHMS == (-7, -8, -257)


def test_the_library_is_not_loaded_with_the_interfaces() -> None:
    """It takes a third of a second and 16 MB; only the process that hashes loads it."""
    code = "import sys, laari.process.interface; sys.exit('webauthn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
