"""With LAARI_TESTS_NO_SKIP=1, as in `.ci/run`, a skipped test is a failed one.

On a developer's machine a test may be skipped where something it needs is missing. Where everything
has to be checked, a skip would be a hole that nobody sees.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import TextIO

import pytest

import tests.patience.sitecustomize  # noqa: F401  # before any module of the service
from tests.watchdog import watched

pytest_plugins = ["tests.fixtures"]  # for tests and campaigns alike

# `make test` leaves these files out as a whole: its workers need not import them.
SHORT = "not ci and not campaign"
LONG_FILE = re.compile(r"^pytestmark = pytest\.mark\.(ci|campaign)$", re.MULTILINE)
CAMPAIGNS = Path(__file__).parent / "campaigns"

OUTPUT = pytest.StashKey[TextIO]()
NO_SKIP = os.environ.get("LAARI_TESTS_NO_SKIP") == "1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("markexpr") != SHORT:
        return None
    if collection_path == CAMPAIGNS:
        return True
    if collection_path.suffix == ".py" and LONG_FILE.search(collection_path.read_text()):
        return True
    return None


def pytest_configure(config: pytest.Config) -> None:
    """What a test prints is captured; the watchdog writes to the run's own output."""
    config.stash[OUTPUT] = os.fdopen(os.dup(2), "w")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("campaign"):
        return (yield)
    with watched(item.nodeid, item.config.stash[OUTPUT]):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The tests and their imports stay until the end: no garbage is looked for among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{reason}\nLAARI_TESTS_NO_SKIP is set: nothing may be skipped here."


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if NO_SKIP:
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if NO_SKIP:
        _refuse_skip(report)
    return report
