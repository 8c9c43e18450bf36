"""The master key, and what is made with it: encrypted secrets, digests and derived values."""

import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from laari.errors import LaariError
from laari.rules import master_key
from laari.rules.master_key import Keys
from laari.store.files import sync_folder

KEY_FILE = "master.key"  # in the data directory
KEY_BYTES = 32
NONCE_BYTES = 12
VERSION = b"\x01"  # of the stored form: version, nonce, ciphertext with its tag


class MasterKeyError(LaariError):
    """The master key is missing, unsafe, or not the key of the data."""


def load_master_key(data_dir: Path) -> bytes:
    """The data directory's own key, made at first use."""
    path = data_dir / KEY_FILE
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        has_database = (data_dir / "postgres").exists()
        if not path.exists():
            if has_database:  # a new key would open nothing that is stored there
                raise MasterKeyError(f"{path} is missing beside its database: restore it")
            write_key(path, secrets.token_bytes(KEY_BYTES))
    except OSError as error:
        raise MasterKeyError(f"{path} cannot be used: {error.strerror}") from None
    return read_key(path)


def read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read().strip()
    except OSError as error:
        raise MasterKeyError(f"{path} cannot be used: {error.strerror}") from None
    if mode & 0o077:
        raise MasterKeyError(f"{path} can be read by others: run `chmod 600 {path}`")
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise MasterKeyError(f"{path} does not hold a master key")
    return key


def write_key(path: Path, key: bytes) -> None:
    """Written whole under another name first; of two at once the first stays."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix="master.") as file:  # mode 0600
        file.write(key.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, path)
        except FileExistsError:
            return
    sync_folder(path.parent)


def encrypt(master: bytes, plaintext: bytes, context: bytes) -> bytes:
    """`context` names the owner: a secret moved to another row does not decrypt."""
    nonce = os.urandom(NONCE_BYTES)
    return VERSION + nonce + _cipher(master).encrypt(nonce, plaintext, context)


def decrypt(master: bytes, stored: bytes, context: bytes) -> bytes:
    nonce, ciphertext = stored[1 : 1 + NONCE_BYTES], stored[1 + NONCE_BYTES :]
    if stored[:1] != VERSION:
        raise MasterKeyError("a stored secret has a form that this version of Laari does not know")
    try:
        return _cipher(master).decrypt(nonce, ciphertext, context)
    except (InvalidTag, ValueError):
        raise MasterKeyError(
            "a stored secret does not open with this master key: is it the right one?"
        ) from None


def derive(master: bytes, purpose: str, value: str) -> bytes:
    """The same 32 bytes for the same value; they reveal nothing without the key.

    It is also the stored form of a secret such as a token. A plain digest would let somebody who
    can write to the database add a row for a secret of their own.
    """
    # Every request derives, and HMAC-SHA256 takes four times as long as BLAKE2b with a key.
    key = _subkey(master, f"derive {purpose}")
    return hashlib.blake2b(value.encode(), key=key, digest_size=KEY_BYTES).digest()


def keys_of(master: bytes) -> Keys:
    """What commands do with the master key."""
    return Keys(partial(encrypt, master), partial(derive, master), partial(opened, master))


def opened(master: bytes, stored: bytes, context: bytes) -> bytes | None:
    with suppress(MasterKeyError):
        return decrypt(master, stored, context)
    return None


def bind(master: bytes, stored: bytes, *owner: str) -> bytes:
    return master_key.bind(partial(derive, master), stored, *owner)


def is_bound(master: bytes, binding: bytes, stored: bytes, *owner: str) -> bool:
    return hmac.compare_digest(binding, bind(master, stored, *owner))


def fingerprint(master: bytes) -> str:
    """Equal for equal keys; reveals nothing else."""
    return _subkey(master, "fingerprint").hex()


def new_secret(prefix: str) -> str:
    """256 random bits behind a readable prefix such as `sk_`."""
    return prefix + secrets.token_urlsafe(32)


@lru_cache(maxsize=4)
def _cipher(master: bytes) -> AESGCM:
    return AESGCM(_subkey(master, "encrypt"))


@lru_cache(maxsize=64)  # every request derives: a subkey takes ten times as long as its use
def _subkey(master: bytes, purpose: str) -> bytes:
    info = f"laari {purpose}".encode()
    return HKDF(hashes.SHA256(), length=KEY_BYTES, salt=None, info=info).derive(master)
