"""The comparison of two versions: how the other one is built, and one small run."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bench import compare, versions
from bench.compare import Comparison, Cost, Slice
from bench.pairs import OTHER, Verdict, turns
from bench.versions import other_version

SET_UP = "#!/bin/sh\nmkdir -p .venv/bin && echo built >>.venv/bin/python\n"


def git(tree: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    result = subprocess.run(
        ["git", *identity, *arguments], cwd=tree, capture_output=True, text=True, check=True
    )
    return result.stdout


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one commit, whose environment is quickly made."""
    tree = tmp_path / "tree"
    (tree / "tools").mkdir(parents=True)
    (tree / "tools" / "set-up").write_text(SET_UP)
    (tree / "tools" / "set-up").chmod(0o755)
    (tree / "speed").write_text("fast\n")
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "-m", "One")
    monkeypatch.setattr(versions, "ROOT", tree)
    monkeypatch.setattr(versions, "PLACE", tree / "build" / "compare")
    return tree


def test_a_commit_is_built_once(tree: Path) -> None:
    (tree / "speed").write_text("changed since\n")
    told: list[str] = []
    first = other_version("HEAD", None, told.append)
    assert (first.tree / "speed").read_text() == "fast\n"
    assert other_version("HEAD", None, told.append) == first
    assert Path(first.python).read_text() == "built\n"
    assert len(told) == 1


def test_a_build_that_was_interrupted_begins_again(tree: Path) -> None:
    first = other_version("HEAD", None, lambda text: None)
    (first.tree / ".venv" / ".compare-ready").unlink()
    (first.tree / "speed").write_text("half\n")
    again = other_version("HEAD", None, lambda text: None)
    assert (again.tree / "speed").read_text() == "fast\n"
    shutil.rmtree(tree / "build")  # as `make clean` does
    assert other_version("HEAD", None, lambda text: None) == first


def test_a_patch_makes_another_version(tree: Path) -> None:
    (tree / "speed").write_text("slow\n")
    patch = tree / "slow.patch"
    patch.write_text(git(tree, "diff"))
    git(tree, "checkout", "--quiet", "speed")
    slow = other_version("HEAD", patch, lambda text: None)
    assert (slow.tree / "speed").read_text() == "slow\n"
    assert slow.tree != other_version("HEAD", None, lambda text: None).tree


@pytest.mark.usefixtures("tree")
def test_a_name_that_is_nothing_is_refused() -> None:
    with pytest.raises(SystemExit, match="no commit and no directory"):
        other_version("nothing", None, lambda text: None)
    with pytest.raises(SystemExit):
        compare.main(["HEAD", "--workloads", "walk"])


def slices(slower: float, hungrier: float) -> list[Slice]:
    """Of a version that has these ratios to the other."""
    return [
        Slice(1000, 200, 100, 0)
        if version == OTHER
        else Slice(1000 * slower, 200 * hungrier, 100 * hungrier, 0)
        for version in turns(20)
    ]


@pytest.mark.parametrize(
    ("slower", "hungrier", "expected"),
    [
        (1.0, 1.0, Verdict.SAME),
        (0.9, 1.0, Verdict.SLOWER),
        (1.0, 1.1, Verdict.SLOWER),
        (1.1, 0.9, Verdict.FASTER),
    ],
)
def test_rate_and_processor_time_both_count(
    slower: float, hungrier: float, expected: Verdict
) -> None:
    found = Comparison("create", 64, slices(slower, hungrier), (Cost(1, 1), Cost(1, 1)))
    assert found.verdict(0.03) is expected
    assert found.medians("rate") == pytest.approx((1000 * slower, 1000))
    assert found.of("postgres").median == pytest.approx(hungrier)


def test_the_planted_delay_applies() -> None:
    root = Path(__file__).parents[2]
    git(root, "apply", "--check", "bench/delay.patch")


@pytest.mark.campaign
@pytest.mark.skipif(shutil.which("wrk") is None, reason="needs wrk")
def test_this_tree_is_compared_with_itself(capfd: pytest.CaptureFixture[str]) -> None:
    few = ("--workloads", "charge", "--clients", "2", "--pairs", "1", "--seconds", "1")
    status = compare.main([".", *few, "--payments", "300", "--webhooks", "--json"])
    assert status == Verdict.UNDECIDED.exit_status  # one pair decides nothing
    [found] = json.loads(capfd.readouterr().out)
    assert found["workload"] == "charge"
    assert 0.2 < found["ratios"]["rate"]["median"] < 5
    for one in found["slices"]:
        assert one["rate"] > 0
        assert one["interface_us"] > 20
        assert one["engine_us"] > 20
        assert one["background_us"] > 20
    assert all(1000 < bytes_of_log < 100_000 for bytes_of_log in found["log_bytes"])
