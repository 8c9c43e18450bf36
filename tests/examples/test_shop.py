"""examples/shop passes its own tests, which use the pytest plugin as any shop's would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.guide_samples import file_named

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples/shop"
PATIENCE_SECONDS = 300
OPTIONS = ("-c", "pytest.ini", "-p", "no:cacheprovider", "-p", "no:asyncio")


def test_the_shop_passes_its_tests(tmp_path: Path) -> None:
    """In a process of its own, so that nothing of this suite's set-up reaches it.

    The test that a guide shows runs beside them.
    """
    shown = tmp_path / "test_subscription.py"
    shown.write_text(file_named(shown.name))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *OPTIONS, "tests", str(shown)],
        cwd=SHOP,
        env={**clean, "PYTHONPATH": str(ROOT / "clients/python/src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = re.search(r"(\d+) passed(?:, (\d+) skipped)?", ended.stdout)
    assert told, ended.stdout
    if told[2]:
        pytest.skip("the shop's test in a browser: chromium is not installed")
