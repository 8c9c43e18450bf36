"""A bar is empty only where nothing is used, and full only where everything is."""

import pytest

from laari.edge.pages.authorization_limits import Used


@pytest.mark.parametrize(
    ("used", "limit", "expected"),
    [
        (0, 100, 0),
        (1, 1_000_000, 1),
        (126_500, 1_000_000, 12),
        (999_999, 1_000_000, 99),
        (1_000_000, 1_000_000, 100),
        (2_000_000, 1_000_000, 100),  # the tier was lowered
        (5, None, None),
    ],
)
def test_the_share_of_a_limit(used: int, limit: int | None, expected: int | None) -> None:
    assert Used("In total", used, limit).share == expected
