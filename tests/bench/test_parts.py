"""A part of the bench that fails takes nothing from what the others found."""

from __future__ import annotations

import argparse
from typing import cast

import pytest
from rich.console import Console

from bench.__main__ import QUICK, Part, _counts, run_parts
from bench.report import Results, Verdict
from bench.stage import Stage

FOUND = Verdict("found", 1.0, "at least 1", True)


def broken(ready: Stage, plan: object) -> list[Verdict]:
    raise AssertionError("not there")


PARTS: dict[str, Part] = {
    "one": lambda ready, plan: [FOUND],
    "two": broken,
    "three": lambda ready, plan: [FOUND],
}


@pytest.mark.parametrize(
    ("wanted", "found", "whole"), [(set(), 2, False), ({"two"}, 0, False), ({"one"}, 1, True)]
)
def test_what_was_found_stays(wanted: set[str], found: int, whole: bool) -> None:
    results = Results({}, 0.0)
    ready = cast(Stage, None)
    assert run_parts(ready, QUICK, wanted, results, Console(quiet=True), PARTS) is whole
    assert results.verdicts == [FOUND] * found
    missing = [] if whole else ["two was not measured: AssertionError('not there')"]
    assert results.missing == missing


def test_numbers_of_clients() -> None:
    assert _counts("1,64") == (1, 64)
    for text in ("0", "1,-2"):
        with pytest.raises(argparse.ArgumentTypeError):
            _counts(text)
    with pytest.raises(ValueError, match="invalid"):
        _counts("1.5")
