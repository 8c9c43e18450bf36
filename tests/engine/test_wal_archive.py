"""What PostgreSQL calls to archive its log and to have it back."""

import gzip
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from laari.engine import wal_archive
from laari.engine.wal_archive import fetch_command, keep_command, missing_segment

SEGMENT = "000000010000000000000003"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pg_wal").mkdir()
    (tmp_path / "pg_wal" / SEGMENT).write_bytes(b"log" * 1000)
    an_archive(tmp_path / "archive")
    return tmp_path


def an_archive(path: Path) -> Path:
    path.mkdir()
    (path / wal_archive.ARCHIVE_MARK).touch()
    return path


def kept(archive: Path) -> list[str]:
    return [path.name for path in archive.iterdir() if path.name != wal_archive.ARCHIVE_MARK]


def run(place: Path, command: str, name: str = SEGMENT, path: str = "") -> int:
    """As PostgreSQL does it: in the cluster's directory, through a shell."""
    line = command.replace("%p", path or f"pg_wal/{name}").replace("%f", name).replace("%%", "%")
    return subprocess.run(line, shell=True, cwd=place, check=False).returncode


@pytest.mark.parametrize("name", ["plain", 'it\'s 100% "odd" $HOME; rm -rf \\ x'])
def test_a_segment_is_kept_and_fetched(place: Path, name: str) -> None:
    archive = an_archive(place / name)
    assert run(place, keep_command(archive)) == 0
    assert kept(archive) == [f"{SEGMENT}.gz"]
    assert run(place, fetch_command([place, archive]), path="back") == 0
    assert (place / "back").read_bytes() == b"log" * 1000


def test_what_is_kept_is_never_replaced(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = keep_command(place / "archive")
    assert run(place, command) == 0
    assert run(place, command) == 0  # PostgreSQL asks again where it did not hear the answer
    (place / "pg_wal" / SEGMENT).write_bytes(b"other" * 1000)
    assert run(place, command) == wal_archive.TRY_AGAIN
    assert "is there already, with other content" in capfd.readouterr().err
    content = (place / "archive" / f"{SEGMENT}.gz").read_bytes()
    assert gzip.decompress(content) == b"log" * 1000


def test_a_crash_leaves_nothing_that_looks_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    spied: Callable[[int], None] = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("sync"), spied(fd))[1])
    link = os.link

    def linked(source: Path, target: Path) -> None:
        assert gzip.decompress(Path(source).read_bytes()) == b"log" * 1000
        order.append("link")
        link(source, target)

    monkeypatch.setattr(os, "link", linked)
    wal_archive.keep(place / "archive", place / "pg_wal" / SEGMENT, SEGMENT)
    assert order == ["sync", "link", "sync"]

    def fails(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", fails)
    name = SEGMENT[:-1] + "4"
    (place / "pg_wal" / name).write_bytes(b"x")
    with pytest.raises(OSError, match="No space"):
        wal_archive.keep(place / "archive", place / "pg_wal" / name, name)
    assert kept(place / "archive") == [f"{SEGMENT}.gz"]


def test_a_missing_archive_is_no_reason_to_forget(place: Path) -> None:
    assert run(place, keep_command(place / "gone")) == wal_archive.TRY_AGAIN
    assert not (place / "gone").exists()
    (place / "gone").mkdir()  # where its disk would be mounted
    assert run(place, keep_command(place / "gone")) == wal_archive.TRY_AGAIN
    assert list((place / "gone").iterdir()) == []


def test_the_servers_lock_is_not_held_by_a_copy_that_hangs(place: Path) -> None:
    lock = os.open(place / "pg_wal" / SEGMENT, os.O_RDONLY)
    line = keep_command(place / "archive").replace("%p", f"/dev/fd/{lock}").replace("%f", SEGMENT)
    done = subprocess.run(line, shell=True, pass_fds=(lock,), check=False)
    assert done.returncode != 0  # what it inherited is closed, so there is nothing to read
    os.close(lock)


def test_what_is_damaged_does_not_look_like_the_end(place: Path) -> None:
    fetch = fetch_command([place / "archive"])
    assert run(place, fetch, path="back") == wal_archive.NOT_THERE
    run(place, keep_command(place / "archive"))
    path = place / "archive" / f"{SEGMENT}.gz"
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole[:30] + b"!" + whole[31:], b"", b"no gzip"):
        path.write_bytes(damaged)
        assert run(place, fetch, path="back") == wal_archive.DAMAGED
        assert not (place / "back").exists()


def test_only_names_of_log_files_are_taken(place: Path) -> None:
    (place / "pg_wal" / "x").touch()
    assert run(place, keep_command(place / "archive"), "x") != 0
    assert run(place, fetch_command([place / "archive"]), "../pg_wal/x", "back") != 0
    assert kept(place / "archive") == []


def test_gaps(tmp_path: Path) -> None:
    def with_segments(*names: str) -> str | None:
        for path in tmp_path.iterdir():
            path.unlink()
        for name in names:
            (tmp_path / name).touch()
        return missing_segment([tmp_path], 1, "0/FE000158")

    one, two = "0000000100000000000000FE.gz", "0000000100000000000000FF"
    three, four = "000000010000000100000000.gz", "000000010000000100000001.gz"
    assert with_segments() is None
    assert with_segments(one, two, three, four) is None
    assert with_segments(one, two, four) == "000000010000000100000000"
    assert with_segments(one, three) == "0000000100000000000000FF"
    assert with_segments("000000010000000000000001.gz", "00000002.history", two) is None
    assert with_segments(two, "000000020000000100000005.gz") is None  # where it branched off
    gap = with_segments(two, "000000020000000100000005.gz", "000000020000000100000007.gz")
    assert gap == "000000020000000100000006"


def test_what_another_has_just_kept_is_not_replaced(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server that archives here by mistake: it was first, after we had looked."""
    target = place / "archive" / f"{SEGMENT}.gz"
    target.write_bytes(b"kept by another")
    monkeypatch.setattr(wal_archive, "_content", lambda *_: None)
    with pytest.raises(FileExistsError):
        wal_archive.keep(place / "archive", place / "pg_wal" / SEGMENT, SEGMENT)
    assert target.read_bytes() == b"kept by another"
    assert kept(place / "archive") == [target.name]
