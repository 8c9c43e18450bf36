"""A part of the bench that fails takes nothing from what the others found."""

import argparse
from typing import cast

import pytest
from rich.console import Console

from bench import __main__ as main
from bench.__main__ import (
    FULL,
    INTERRUPTED,
    QUICK,
    Part,
    Plan,
    _counts,
    _measure_all,
    _plan,
    run_parts,
)
from bench.measure import Figure
from bench.report import Results, Row, Verdict
from bench.stage import Stage
from bench.workloads import WORKLOADS, Workload

pytestmark = pytest.mark.ci

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


@pytest.mark.parametrize(("quick", "plan"), [(False, FULL), (True, QUICK)])
def test_only_the_number_of_payments_is_another(quick: bool, plan: Plan) -> None:
    assert _plan(argparse.Namespace(quick=quick, payments=None)) == plan
    more = _plan(argparse.Namespace(quick=quick, payments=10_000_000))
    assert more.size == plan.size._replace(payments=10_000_000)
    assert more._replace(size=plan.size) == plan


@pytest.mark.parametrize("interrupted", ["get", "depth"])
def test_what_was_found_before_an_interrupt_is_kept(
    monkeypatch: pytest.MonkeyPatch, interrupted: str
) -> None:
    def row(ready: Stage, workload: Workload, clients: int, plan: Plan) -> Row:
        if workload.name == interrupted:
            raise KeyboardInterrupt
        found = dict.fromkeys(("laari", "echo"), Figure(100, 90, 110, 1, 2, 0))
        return Row(workload.name, workload.title, clients, found, {})

    def part(name: str) -> Part:
        def measured(ready: Stage, plan: Plan) -> list[Verdict]:
            if name == interrupted:
                raise KeyboardInterrupt
            return [Verdict(name, 1.0, "at least 1", True)]

        return measured

    monkeypatch.setattr(main, "measure", row)
    monkeypatch.setattr(main, "FIRST", {"audit": part("audit")})
    monkeypatch.setattr(main, "PARTS", {"checkout": part("checkout"), "depth": part("depth")})
    results = Results({}, 0.0)
    ready = cast(Stage, None)
    quiet = Console(quiet=True)
    assert not _measure_all(ready, QUICK, set(), WORKLOADS, results, (64,), quiet)
    assert results.missing == [INTERRUPTED]
    told = [verdict.text for verdict in results.verdicts]
    assert "audit" in told
    assert ("checkout" in told) is (interrupted == "depth")
    assert any("rate ÷ echo" in each for each in told) is (interrupted == "depth")
    assert results.rows[0].workload == WORKLOADS[0].name
