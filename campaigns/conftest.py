"""What is here and not marked `campaign` is the short form of one, or tries its tools."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience.sitecustomize import python_path


@pytest.fixture(scope="package", autouse=True)
def _real_deadlines() -> Iterator[None]:
    """Campaigns measure how long an outage lasts, so their services are not more patient."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", python_path())
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.ci)
