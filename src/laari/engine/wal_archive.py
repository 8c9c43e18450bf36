"""Archives the write-ahead log. PostgreSQL runs this file, so it uses only the standard library.

    python wal_archive.py keep ARCHIVE PATH NAME
    python wal_archive.py fetch NAME PATH ARCHIVE…

A file is synced and then linked, so that a crash leaves no half of it. An existing file is never
replaced: other content would be of another database or history.
"""

import contextlib
import gzip
import os
import re
import shlex
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

ARCHIVE_MARK = "laari-archive"
COMPRESSED = ".gz"
LEVEL = 1  # segments that were closed early are mostly zeros
EXCHANGE_SECONDS = 60  # a segment is archived after this time even if it is not full

# The exit status. A damaged segment must not look like the end of the archive: a status above 125
# stops recovery with an error.
NOT_THERE = TRY_AGAIN = 1
DAMAGED = 200

_HISTORY = re.compile(r"[0-9A-F]{8}\.history", re.ASCII)
_NAME = re.compile(r"[0-9A-F]{8}\.history|[0-9A-F]{24}(\.[0-9A-F]{8}\.backup|\.partial)?", re.ASCII)


class ArchiveError(Exception):
    """The file cannot be kept or read."""


def keep(archive: Path, path: Path, name: str) -> None:
    if not (archive / ARCHIVE_MARK).exists():  # such as the place of a disk that is not mounted
        raise ArchiveError(f"{archive} is not there, or is not an archive")
    content = path.read_bytes()
    plain = _HISTORY.fullmatch(name) is not None  # small, and looked for by people
    target = archive / (name if plain else name + COMPRESSED)
    if (known := _content(archive, name)) is not None:
        if known != content:
            raise ArchiveError(f"{target} is there already, with other content")
        _sync_folder(archive)  # its writer may have been killed before this
        return
    fresh = archive / f"{target.name}.{os.getpid()}.new"
    try:
        with fresh.open("xb") as file:
            file.write(content if plain else gzip.compress(content, LEVEL, mtime=0))
            file.flush()
            os.fsync(file.fileno())
        os.link(fresh, target)  # unlike a rename it fails if the name exists
        _sync_folder(archive)
    finally:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()


def fetch(archives: Sequence[Path], name: str, path: Path) -> bool:
    """Writes the first copy found to `path`; False if there is none."""
    for archive in archives:
        if (content := _content(archive, name)) is not None:
            path.write_bytes(content)
            return True
    return False


def _content(archive: Path, name: str) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return (archive / name).read_bytes()
    compressed = archive / (name + COMPRESSED)
    try:
        content = gzip.decompress(compressed.read_bytes())
    except FileNotFoundError:
        return None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveError(f"{compressed} is damaged: {error}") from None
    if not content:  # what an empty file decompresses to
        raise ArchiveError(f"{compressed} is damaged: it is empty")
    return content


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def missing_segment(archives: Sequence[Path], timeline: int, after: str) -> str | None:
    """The first missing segment after the end of a backup: PostgreSQL would stop at the gap.

    `after` is a position such as 0/3000158. A later timeline may begin with any segment.
    """
    high, low = (int(part, 16) for part in after.split("/"))
    expected = (high << 8) + (low >> 24)
    found: dict[int, set[int]] = {}
    for archive in archives:
        for path in archive.iterdir():
            name = path.name.removesuffix(COMPRESSED)
            if re.fullmatch(r"[0-9A-F]{24}", name):
                segment = (int(name[8:16], 16) << 8) + int(name[16:], 16)
                found.setdefault(int(name[:8], 16), set()).add(segment)
    for number, segments in sorted(found.items()):
        later = {segment for segment in segments if segment > expected}
        if number < timeline or not later:
            continue
        first = expected + 1 if number == timeline else min(later)
        for segment in range(first, max(later)):
            if segment not in later:
                return f"{number:08X}{segment >> 8:08X}{segment & 0xFF:08X}"
    return None


def keep_command(archive: Path) -> str:
    return _command("keep", str(archive), "%p", "%f")


def fetch_command(archives: Sequence[Path]) -> str:
    return _command("fetch", "%f", "%p", *map(str, archives))


def _command(action: str, *arguments: str) -> str:
    """A shell command in which PostgreSQL replaces %p and %f, and %% by one %."""
    program = ["exec", sys.executable, "-I", "-S", str(Path(__file__).resolve()), action]
    words = [*program, *arguments]
    return " ".join(
        word if word in {"%p", "%f"} else shlex.quote(word.replace("%", "%%")) for word in words
    )


def main(arguments: Sequence[str]) -> int:
    try:
        match arguments:
            case ["keep", archive, path, name] if _NAME.fullmatch(name):
                keep(Path(archive), Path(path), name)
                return 0
            case ["fetch", name, path, *archives] if _NAME.fullmatch(name):
                found = fetch([Path(archive) for archive in archives], name, Path(path))
                return 0 if found else NOT_THERE
            case _:
                reason = f"wrong arguments: {shlex.join(arguments)}"
    except ArchiveError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    sys.stderr.write(f"laari: {reason}\n")
    return TRY_AGAIN if arguments[:1] == ["keep"] else DAMAGED


if __name__ == "__main__":
    # The server's lock is among the open files; a copy that hangs must not hold it for longer.
    os.closerange(3, 4096)
    sys.exit(main(sys.argv[1:]))
