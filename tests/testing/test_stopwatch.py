"""The first example of the guide, from the wheels, in an environment of its own."""

from pathlib import Path

import pytest

from tools import stopwatch

pytestmark = pytest.mark.ci


def test_two_tests_of_a_shop_in_ten_lines_and_ten_seconds(tmp_path: Path) -> None:
    assert stopwatch.lines_of(stopwatch.example()) <= stopwatch.MAX_LINES
    wheels = stopwatch.build(tmp_path / "dist")
    python = stopwatch.install(wheels, tmp_path / "venv", borrow=True)
    (tmp_path / "shop").mkdir()
    for _ in ("empty cache", "warm cache"):
        run = stopwatch.run_tests(python, tmp_path / "shop")
        # Of the processor: the clock on the wall tells as much about what else this machine does.
        assert run.processor_seconds < stopwatch.MAX_SECONDS
