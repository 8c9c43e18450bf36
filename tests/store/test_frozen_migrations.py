"""A migration that was released never changes: databases that have it would miss the change."""

import hashlib
import shutil
from pathlib import Path

from laari import __version__
from laari.store.postgres.migrate import FOLDER

# The SHA-256 of each released file. A release adds the files that are new in it.
RELEASED: dict[str, str] = {}


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def changed(folder: Path, released: dict[str, str]) -> list[str]:
    """Released files that were edited, renamed or removed."""
    found = digests(folder)
    return [name for name, digest in released.items() if found.get(name) != digest]


def unfrozen(folder: Path, version: str, released: dict[str, str]) -> list[str]:
    """Migrations that this version would release without freezing them, and edited ones."""
    if version.startswith("0.1."):  # 0.2.0 is the first supported version
        return []
    return sorted({*digests(folder)} - {*released} | {*changed(folder, released)})


def test_no_released_migration_has_changed() -> None:
    assert changed(FOLDER, RELEASED) == [], "write another migration instead"


def test_the_first_supported_version_freezes_its_schema() -> None:
    """The schema may change until then."""
    assert unfrozen(FOLDER, __version__, RELEASED) == []
    assert unfrozen(FOLDER, "0.1.9", {}) == []
    assert unfrozen(FOLDER, "0.2.0", {}) == sorted(digests(FOLDER))


def test_a_later_version_freezes_its_migrations(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "migrations"))
    released = digests(folder)
    assert unfrozen(folder, "0.3.0", released) == []
    (folder / "9999_next.sql").write_text("SELECT 1")
    assert unfrozen(folder, "0.3.0", released) == ["9999_next.sql"]
    (folder / "0001_schema.sql").write_text("-- edited")
    assert unfrozen(folder, "0.3.0", released) == ["0001_schema.sql", "9999_next.sql"]


def test_an_edited_or_removed_file_is_noticed(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "migrations"))
    released = digests(folder)
    assert changed(folder, released) == []
    schema = folder / "0001_schema.sql"
    schema.write_text(schema.read_text() + "-- more\n")
    assert changed(folder, released) == ["0001_schema.sql"]
    schema.unlink()
    assert changed(folder, released) == ["0001_schema.sql"]
