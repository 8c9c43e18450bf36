"""The catalogue of planted mistakes fits the code as it is; `make mutants` plants them."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tools import mutants
from tools.mutants import ROOT, CatalogueError, Mutant, chosen, missing_test, read_catalogue

ALL = read_catalogue()


def test_each_mutant_fits_the_code() -> None:
    """Whoever moves the code moves its mistakes along, and the tests that catch them."""
    found = {mutant.label: misfit(mutant) for mutant in ALL}
    assert {label: what for label, what in found.items() if what} == {}


def misfit(mutant: Mutant) -> object:
    source = ROOT / mutants.SOURCES.get(mutant.package, mutants.OWN_SOURCES)
    if problem := mutant.problem(source):
        return problem
    # A mistake that nobody could import would be caught by any test.
    mistaken = mutant.path(source).read_text().replace(mutant.original, mutant.replacement)
    try:
        if mutant.file.endswith(".py"):
            compile(mistaken, mutant.file, "exec")
    except SyntaxError as error:
        return error
    if not mutant.tests:
        return "no test"
    if not mutant.why.endswith("."):
        return "the reason is no sentence"
    return [test for test in mutant.tests if missing_test(test)]


def test_names_are_unique_and_there_are_enough_of_them() -> None:
    names = [mutant.name for mutant in ALL]
    assert sorted(set(names)) == sorted(names)
    assert len(names) >= 40


def test_a_part_is_chosen_by_group_and_by_name() -> None:
    some = chosen(ALL, ["spine", "weekly-limit-ignored"])
    assert {mutant.group for mutant in some} == {"spine", "wallets"}
    assert chosen(ALL, []) == ALL
    with pytest.raises(CatalogueError, match="nothing is named spline"):
        chosen(ALL, ["spline"])


# What follows tries the runner itself, on a small package with one rule and one test.

RULE = "def allowed(amount, limit):\n    return amount <= limit\n"
TESTS = """
import shop

def test_the_limit():
    assert shop.allowed(5, 5) and not shop.allowed(6, 5)

def test_nothing():
    assert True

def test_broken():
    raise AssertionError("with or without a mistake")

def test_that_hangs():
    import os, pathlib, time
    pathlib.Path(__file__).with_name("pid").write_text(f"{os.getpid()}\\n")
    time.sleep(60)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (tmp_path / "src" / "shop" / "__init__.py").write_text(RULE)
    (tmp_path / "test_shop.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "PACKAGE", "shop")
    return tmp_path


def planted(replacement: str, test: str, original: str = "amount <= limit") -> Mutant:
    return Mutant(
        "g", "n", "Why.", "__init__.py", original, replacement, (f"test_shop.py::{test}",)
    )


@pytest.mark.ci
@pytest.mark.parametrize(
    ("mutant", "verdict"),
    [
        (planted("amount <= limit + 1", "test_the_limit"), "caught"),
        (planted("amount <= limit + 1", "test_nothing"), "SURVIVED"),
        (planted("True", "test_the_limit", original="amount < limit"), "does not apply"),
        (planted("(", "test_the_limit"), "does not run"),
        (planted("amount", "test_of_nothing"), "does not run"),
    ],
    ids=["caught", "survived", "moved", "no Python", "no such test"],
)
def test_verdicts(project: Path, tmp_path: Path, mutant: Mutant, verdict: str) -> None:
    before = (project / "src" / "shop" / "__init__.py").read_text()
    assert mutants.try_mutant(mutant, tmp_path)[0] == verdict
    assert (project / "src" / "shop" / "__init__.py").read_text() == before


@pytest.mark.ci
def test_a_test_that_fails_anyway_catches_nothing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mutants._try_all([planted("True", "test_broken")], tmp_path, 1, 1) == 1
    assert "fail without any mistake: test_shop.py::test_broken" in capsys.readouterr().out


@pytest.mark.ci
def test_one_that_survives_is_named_and_fails_the_run(
    project: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caught, survives = planted("True", "test_the_limit"), planted("True", "test_nothing")
    assert mutants._try_all([caught], tmp_path, 1, 1) == 0
    assert "1 of 1 caught in 1 of 1 runs" in capsys.readouterr().out
    monkeypatch.setattr(mutants, "check_first", lambda *_: None)
    assert mutants._try_all([survives], tmp_path, 1, 1) == 1
    assert "g/n SURVIVED in run 1: these passed: test_shop.py::test_nothing" in (
        capsys.readouterr().out
    )


@pytest.mark.campaign
def test_an_interruption_ends_the_tests_that_are_under_way(project: Path, tmp_path: Path) -> None:
    note = project / "pid"

    def interrupt() -> None:
        while not (note.exists() and note.read_text().endswith("\n")):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            list(mutants.verdicts([planted("True", "test_that_hangs")], tmp_path, 1))
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)
