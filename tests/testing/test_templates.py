"""Templates of databases: whole or not used, whoever else is at the same directory."""

import os
import shutil
import time
from pathlib import Path

import pytest

from laari.testing import templates
from laari.testing.hosting import cache_directory
from laari.testing.templates import Templates

pytestmark = pytest.mark.ci


def cluster(home: Path, *words: str) -> Path:
    """A data directory with something that looks like a cluster."""
    (home / "postgres" / "base").mkdir(parents=True)
    for number, word in enumerate(words or ("one", "two")):
        (home / "postgres" / "base" / str(number)).write_text(word)
    return home


def copied(cache: Path, target: Path, key: str = "k") -> bool:
    target.mkdir()
    return Templates(cache, key).copy_to(target)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    place = tmp_path / "cache"
    Templates(place, "k").keep(cluster(tmp_path / "made"))
    return place


def test_what_is_kept_is_copied(cache: Path, tmp_path: Path) -> None:
    assert copied(cache, tmp_path / "a")
    assert (tmp_path / "a/postgres/base/1").read_text() == "two"
    assert not copied(cache, tmp_path / "b", key="another version")
    assert not Templates(None, "k").copy_to(tmp_path)
    assert cache.stat().st_mode & 0o777 == 0o700


def test_one_from_which_a_file_was_removed_is_not_used(cache: Path, tmp_path: Path) -> None:
    (cache / "k/postgres/base/0").unlink()
    assert not copied(cache, tmp_path / "a")
    assert not (tmp_path / "a/postgres").exists()


@pytest.mark.parametrize("damage", ["short", "no manifest", "no cluster"])
def test_one_that_is_not_whole_is_not_used_and_made_anew(
    cache: Path, tmp_path: Path, damage: str
) -> None:
    match damage:
        case "short":
            (cache / "k/postgres/base/0").write_text("")
        case "no manifest":
            (cache / "k/manifest").unlink()
        case "no cluster":
            shutil.rmtree(cache / "k/postgres")
    assert not copied(cache, tmp_path / "a")
    assert not (tmp_path / "a/postgres").exists()
    Templates(cache, "k").keep(tmp_path / "made")
    assert copied(cache, tmp_path / "b")


def test_what_a_killed_process_left_is_no_template_and_goes(cache: Path, tmp_path: Path) -> None:
    shutil.rmtree(cache / "k")
    left = cache / "new-1"
    cluster(left / "template")  # it was being written
    assert not copied(cache, tmp_path / "a")
    old = time.time() - templates.UNUSED_SECONDS - 60
    os.utime(left, (old, old))
    Templates(cache, "k").keep(tmp_path / "made")
    assert not left.exists()
    assert copied(cache, tmp_path / "b")


def test_other_versions_stay_while_they_are_used(cache: Path, tmp_path: Path) -> None:
    Templates(cache, "other").keep(tmp_path / "made")
    assert copied(cache, tmp_path / "a")
    old = time.time() - templates.UNUSED_SECONDS - 60
    os.utime(cache / "k", (old, old))
    Templates(cache, "third").keep(tmp_path / "made")
    assert not copied(cache, tmp_path / "b")
    assert copied(cache, tmp_path / "c", key="other")


def test_a_directory_that_others_write_to_is_not_used(cache: Path, tmp_path: Path) -> None:
    cache.chmod(0o777)
    assert not copied(cache, tmp_path / "a")
    Templates(cache, "new").keep(tmp_path / "made")
    assert not (cache / "new").exists()


def test_no_directory_is_no_failure(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    Templates(blocked / "cache", "k").keep(cluster(tmp_path / "made"))
    assert not copied(blocked / "cache", tmp_path / "a")


def test_the_first_of_two_runs_keeps_its_template(cache: Path, tmp_path: Path) -> None:
    Templates(cache, "k").keep(cluster(tmp_path / "later", "three", "four"))
    assert copied(cache, tmp_path / "a")
    assert (tmp_path / "a/postgres/base/1").read_text() == "two"
    assert [path.name for path in cache.iterdir()] == ["k"]


def test_one_that_is_removed_is_made_anew(cache: Path, tmp_path: Path) -> None:
    Templates(cache, "k").remove()
    assert not copied(cache, tmp_path / "a")
    Templates(cache, "k").keep(tmp_path / "made")
    assert copied(cache, tmp_path / "b")


def test_caches_belong_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_directory() == Path("/caches/laari/testing")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/aisha")
    assert cache_directory() == Path("/home/aisha/.cache/laari/testing")
