"""Where a backup is written: by one at a time, and nothing of anybody else's is removed."""

from pathlib import Path

import pytest

from laari.engine.backup import _partial
from laari.engine.backup_files import BackupError


def test_a_place_is_one_backups_at_a_time(tmp_path: Path) -> None:
    place = tmp_path / "saved"
    with _partial(place) as (partial, _):
        (partial / "cluster").mkdir()
        with pytest.raises(BackupError, match="another backup"), _partial(place):
            pass
        assert (partial / "cluster").is_dir()  # the second one has emptied nothing
    assert not partial.exists()


def test_what_a_killed_backup_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    left = tmp_path / "saved.partial"
    (left / "cluster").mkdir(parents=True)
    (left / "cluster" / "half").touch()
    with _partial(tmp_path / "saved") as (partial, _):
        assert list(partial.iterdir()) == []
    left.mkdir()
    (left / "photos").mkdir()
    with pytest.raises(BackupError, match="in the way"), _partial(tmp_path / "saved"):
        pass
    assert (left / "photos").is_dir()
