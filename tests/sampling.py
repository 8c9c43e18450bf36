"""Lists of near-equal cases, of which `make test` runs some and CI all."""

from collections.abc import Iterable
from typing import Any

import pytest


def some_of(cases: Iterable[Any], every: int = 8) -> list[Any]:
    """The cases for `parametrize`; all but one of `every` are left to CI."""
    return [case if number % every == 0 else _for_ci(case) for number, case in enumerate(cases)]


def _for_ci(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.ci)
