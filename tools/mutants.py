"""Plants mistakes in copies of the code, one at a time, and sees whether the tests notice.

The mistakes are listed in tests/mutants/catalogue. The checkout itself is never changed.
"""

import argparse
import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "tests" / "mutants" / "catalogue"
PACKAGE = "laari"
# Where the sources of a package are; an entry names its `package` if it is not the service.
SOURCES = {"laari_client": Path("clients/python/src")}
OWN_SOURCES = Path("src")
FIELDS = {"name", "why", "file", "original", "replacement", "tests"}
PARALLEL = 2
# Far more than the tests of one mutant need: a test that hangs shows nothing.
TIMEOUT_SECONDS = 180
SECONDS_EACH = 5  # more for the first run, which has the tests of all mutants
END_SECONDS = 20  # for tests to end

# Tests that run now: each has a session of its own, so Ctrl-C in the terminal does not reach them.
_under_way: set[subprocess.Popen[str]] = set()

Verdict: TypeAlias = Literal["caught", "SURVIVED", "does not apply", "does not run"]


class CatalogueError(Exception):
    """The catalogue cannot be used as it is."""


@dataclass(frozen=True)
class Mutant:
    """One mistake: in this file of the package, this text instead of that one."""

    group: str
    name: str
    why: str
    file: str
    original: str
    replacement: str
    tests: tuple[str, ...]  # node ids; each of them fails when the mistake is made
    package: str = ""  # empty: the service

    @property
    def label(self) -> str:
        return f"{self.group}/{self.name}"

    def path(self, source: Path) -> Path:
        return source / (self.package or PACKAGE) / self.file

    def problem(self, source: Path) -> str | None:
        """Why the mistake cannot be made in this copy of the sources, or None."""
        path = self.path(source)
        if not path.is_file():
            return f"there is no file {self.file}"
        found = path.read_text().count(self.original)
        if found != 1:
            return f"its text is found {found} times in {self.file}, not once"
        if self.original == self.replacement:
            return "it changes nothing"
        return None

    def plant(self, source: Path) -> None:
        path = self.path(source)
        path.write_text(path.read_text().replace(self.original, self.replacement))


def read_catalogue(folder: Path = CATALOGUE) -> list[Mutant]:
    """All mutants, by group (the name of their file) and in the order they are written in."""
    mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        for number, entry in enumerate(tomllib.loads(path.read_text())["mutant"], 1):
            if set(entry) - {"package"} != FIELDS:
                raise CatalogueError(f"{path.name}, entry {number}: the fields are not {FIELDS}")
            fields = entry | {"tests": tuple(entry["tests"])}
            mutants.append(Mutant(group=path.stem, **fields))
    return mutants


def chosen(mutants: Sequence[Mutant], words: Sequence[str]) -> list[Mutant]:
    """Those whose group or label one of the words names; all without a word."""
    for word in words:
        if not any(_is_meant(mutant, word) for mutant in mutants):
            groups = ", ".join(sorted({mutant.group for mutant in mutants}))
            raise CatalogueError(f"nothing is named {word}; the groups are: {groups}")
    return [m for m in mutants if not words or any(_is_meant(m, word) for word in words)]


def _is_meant(mutant: Mutant, word: str) -> bool:
    return word in (mutant.group, mutant.name, mutant.label)


def missing_test(node_id: str, root: Path = ROOT) -> bool:
    """Whether no function of this name is in the file of the test."""
    file, _, name = node_id.partition("::")
    return name not in _functions(root / file)


@cache
def _functions(path: Path) -> frozenset[str]:
    if not path.is_file():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse(path.read_text()).body
    return frozenset(node.name for node in body if isinstance(node, functions))


@dataclass(frozen=True)
class Run:
    """What pytest said: the outcome of each test function, or why it said nothing of use."""

    failed: frozenset[str]
    passed: frozenset[str]
    trouble: str | None = None


def run_tests(
    node_ids: Iterable[str], source: Path, scratch: Path, seconds: int = TIMEOUT_SECONDS
) -> Run:
    """The tests of the checkout on another copy of the sources."""
    report = scratch / "report.xml"
    report.unlink(missing_ok=True)
    tests = sorted(set(node_ids))
    process = subprocess.Popen(  # noqa: S603  # our own Python and names from the catalogue
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            f"--junitxml={report}",
            f"--basetemp={scratch / 'pytest'}",
            *tests,
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(source),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LAARI_TESTS_NO_SKIP": "",  # a skipped test must not look like one that has failed
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    _under_way.add(process)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return Run(frozenset(), frozenset(), f"no end after {seconds} s")
    except BaseException:  # interrupted
        _end(process)
        raise
    finally:
        _under_way.discard(process)
    if process.returncode not in (0, 1) or not report.is_file():
        return Run(frozenset(), frozenset(), "\n".join(output.strip().splitlines()[-5:]))
    return _read_report(report, tests)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends tests that are under way, first so that they stop the servers that they started."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read_report(report: Path, tests: Sequence[str]) -> Run:
    """A test with parameters has failed where any of its cases has.

    An error is not a failure: a service that does not even start is no test of a rule.
    """
    failed, passed, errors = set(), set(), []
    names = {(_module(test), test.rpartition("::")[2]): test for test in tests}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  # pytest wrote it
        name = case.get("name", "").partition("[")[0]
        test = names.get((case.get("classname", ""), name))
        if test is None:
            continue
        if case.find("error") is not None:
            errors.append(f"{test} has an error, which is no failure")
        elif case.find("failure") is not None:
            failed.add(test)
        elif case.find("skipped") is None:
            passed.add(test)
    silent = set(tests) - failed - passed
    errors += [f"{test} did not run" for test in sorted(silent) if not errors]
    return Run(frozenset(failed), frozenset(passed - failed), "; ".join(errors) or None)


def _module(node_id: str) -> str:
    return node_id.partition("::")[0].removesuffix(".py").replace("/", ".")


def try_mutant(mutant: Mutant, folder: Path) -> tuple[Verdict, str]:
    """The verdict on one mutant, and what there is to say about it."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="m") as made:
        scratch = Path(made)
        source = copy_sources(scratch)
        problem = mutant.problem(source)
        if problem is not None:
            return "does not apply", problem
        mutant.plant(source)
        run = run_tests(mutant.tests, source, scratch)
    unmoved = [test for test in mutant.tests if test not in run.failed]
    if run.trouble is not None and unmoved:
        return "does not run", run.trouble
    if unmoved:
        return "SURVIVED", f"these passed: {', '.join(unmoved)}"
    return "caught", ""


def copy_sources(scratch: Path) -> Path:
    """One directory with every package."""
    source = scratch / "src"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in (OWN_SOURCES, *SOURCES.values()):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, source, ignore=ignored, dirs_exist_ok=True)
    return source


def check_first(mutants: Sequence[Mutant], folder: Path) -> str | None:
    """Why the tests say nothing about mistakes, or None: they have to pass on a copy without any.

    That copy has to be the code that is tested, too, and not the checkout.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="m") as made:
        scratch = Path(made)
        source = copy_sources(scratch)
        for package in sorted({mutant.package or PACKAGE for mutant in mutants}):
            used = subprocess.run(  # noqa: S603  # our own Python
                [sys.executable, "-c", f"import {package}; print({package}.__file__)"],
                env=os.environ | {"PYTHONPATH": str(source)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            if not used.startswith(str(source)):
                return f"the tests would run on {used.strip()} and not on the copy"
        tests = (test for mutant in mutants for test in mutant.tests)
        run = run_tests(tests, source, scratch, TIMEOUT_SECONDS + SECONDS_EACH * len(mutants))
    if run.trouble is not None:
        return run.trouble
    return (
        f"these fail without any mistake: {', '.join(sorted(run.failed))}" if run.failed else None
    )


def verdicts(
    mutants: Sequence[Mutant], folder: Path, parallel: int
) -> Iterator[tuple[Mutant, Verdict, str]]:
    with ThreadPoolExecutor(parallel) as pool:
        tried = {pool.submit(try_mutant, mutant, folder): mutant for mutant in mutants}
        try:
            for future in as_completed(tried):
                yield tried[future], *future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in [*_under_way]:
                _end(process)
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="GROUP", help="a group, or a mutant by name")
    parser.add_argument("--runs", type=int, default=1, help="how often to try each")
    parser.add_argument("--parallel", type=int, default=PARALLEL, help="how many at once")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    options = parser.parse_args(arguments)
    try:
        mutants = chosen(read_catalogue(), options.words)
    except CatalogueError as error:
        parser.error(str(error))
    if options.list:
        for mutant in mutants:
            print(f"{mutant.label}: {mutant.why}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="laari-mutants-") as made:
        try:
            return _try_all(mutants, Path(made), options.runs, options.parallel)
        except KeyboardInterrupt:
            print("interrupted")
            return 130


def _try_all(mutants: Sequence[Mutant], folder: Path, runs: int, parallel: int) -> int:
    print(f"{len(mutants)} mutants; first their tests without a mistake …", flush=True)
    problem = check_first(mutants, folder)
    if problem is not None:
        print(problem)
        return 1
    begun, done, total = time.monotonic(), 0, len(mutants) * runs
    escaped: dict[str, str] = {}
    for number in range(1, runs + 1):
        for mutant, verdict, detail in verdicts(mutants, folder, parallel):
            done += 1
            run = f" (run {number})" if runs > 1 else ""
            print(f"[{done}/{total}] {mutant.label}: {verdict}{run}", flush=True)
            if verdict != "caught":
                escaped[mutant.label] = f"{verdict} in run {number}: {detail}"
    for label, why in sorted(escaped.items()):
        print(f"{label} {why}")
    caught = len(mutants) - len(escaped)
    minutes = (time.monotonic() - begun) / 60
    print(f"{caught} of {len(mutants)} caught in {runs} of {runs} runs, {minutes:.1f} minutes")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
