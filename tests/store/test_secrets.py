import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from laari.store.secrets import (
    MasterKeyError,
    decrypt,
    derive,
    encrypt,
    load_master_key,
    new_secret,
)

MASTER = bytes(range(32))


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    key = load_master_key(tmp_path / "data")
    assert len(key) == 32
    assert load_master_key(tmp_path / "data") == key
    assert stat.S_IMODE((tmp_path / "data" / "master.key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["master.key"]


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: load_master_key(tmp_path), range(16)))
    assert len(keys) == 1


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_master_key(tmp_path)
    (tmp_path / "master.key").chmod(0o640)
    with pytest.raises(MasterKeyError, match="chmod 600"):
        load_master_key(tmp_path)


@pytest.mark.parametrize("text", ["", "00" * 31, "zz" * 32, "é"])
def test_a_broken_key_file_is_refused(tmp_path: Path, text: str) -> None:
    load_master_key(tmp_path)
    (tmp_path / "master.key").write_text(text)
    with pytest.raises(MasterKeyError, match="does not hold a master key"):
        load_master_key(tmp_path)


def test_a_lost_key_is_not_replaced_by_one_that_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    with pytest.raises(MasterKeyError, match="restore it"):
        load_master_key(tmp_path)


def test_a_data_directory_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(MasterKeyError, match="cannot be used"):
        load_master_key(tmp_path / "data")


def test_what_is_encrypted_opens_only_with_the_same_key_and_context() -> None:
    stored = encrypt(MASTER, b"sk_secret", b"merchant 1")
    assert decrypt(MASTER, stored, b"merchant 1") == b"sk_secret"
    assert b"sk_secret" not in stored
    assert stored != encrypt(MASTER, b"sk_secret", b"merchant 1")
    for master, text, context in (
        (bytes(32), stored, b"merchant 1"),
        (MASTER, stored, b"merchant 2"),
        (MASTER, stored[:-1] + bytes([stored[-1] ^ 1]), b"merchant 1"),
        (MASTER, stored[:20], b"merchant 1"),
        (MASTER, b"", b"merchant 1"),
    ):
        with pytest.raises(MasterKeyError):
            decrypt(master, text, context)


def test_derived_values_differ_by_key_purpose_and_value() -> None:
    values = {
        derive(MASTER, "cursors", "a"),
        derive(MASTER, "cursors", "b"),
        derive(MASTER, "tokens", "a"),
        derive(bytes(32), "cursors", "a"),
    }
    assert len(values) == 4
    assert derive(MASTER, "cursors", "a") in values


def test_secrets_are_random() -> None:
    first, second = new_secret("sk_"), new_secret("sk_")
    assert first.startswith("sk_")
    assert len(first) == len("sk_") + 43  # 256 bits in base64
    assert first != second
