"""examples/shop passes its own tests, which use the pytest plugin as any shop's would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples/shop"
PATIENCE_SECONDS = 300


def test_the_shop_passes_its_tests() -> None:
    """In a process of its own, so that nothing of this suite's set-up reaches it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"],
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
