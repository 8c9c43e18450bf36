"""The examples pass their own tests, which use the pytest plugin as any shop's would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.guide_samples import file_named

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 300
OPTIONS = ("-c", "pytest.ini", "-p", "no:cacheprovider", "-p", "no:asyncio")


def own_tests(example: str, *more: Path) -> str:
    """The output of pytest for an example, in a process without this suite's set-up."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *OPTIONS, "tests", *map(str, more)],
        cwd=ROOT / "examples" / example,
        env={**clean, "PYTHONPATH": str(ROOT / "clients/python/src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_shop_passes_its_tests(tmp_path: Path) -> None:
    """The test that a guide shows runs beside them."""
    shown = tmp_path / "test_subscription.py"
    shown.write_text(file_named(shown.name))
    output = own_tests("shop", shown)
    told = re.search(r"(\d+) passed(?:, (\d+) skipped)?", output)
    assert told, output
    if told[2]:
        pytest.skip("the shop's test in a browser: chromium is not installed")


def test_the_provider_of_django_payments_passes_its_tests() -> None:
    assert re.search(r"\d+ passed in", own_tests("django-payments"))
