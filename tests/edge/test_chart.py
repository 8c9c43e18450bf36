"""The geometry of the dashboard's charts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.pages.dashboard.chart import HEIGHT, bars, round_up, stacked

values = st.integers(0, 10**15)


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 50), (51, 100)]
)
def test_a_scale_ends_at_a_round_number(value: int, top: int) -> None:
    assert round_up(value) == top


@given(st.lists(st.tuples(values, values), min_size=1, max_size=40))
def test_columns_stand_on_the_ground_and_stay_inside(columns: list[tuple[int, int]]) -> None:
    chart = stacked([low for low, _ in columns], [high for _, high in columns])
    for low, high in zip(*chart.pieces, strict=True):
        assert low.y + low.height == pytest.approx(HEIGHT, abs=0.02)
        assert high.y + high.height == pytest.approx(low.y, abs=0.02)
        assert high.y >= -0.02


def test_a_bar_has_the_words_of_its_column_and_one_without_height_is_left_out() -> None:
    drawn = bars(stacked([1, 0, 2], [0, 2, 0]), ["1 < 2", "none", "two"])
    assert drawn.count("<rect") == 3
    assert (
        '<rect class="series-1" x="1.5" y="50.0" width="7" height="50.0"><title>1 &lt; 2<' in drawn
    )
    assert '<rect class="series-2" x="11.5" y="0.0" width="7" height="100.0"><title>none<' in drawn
    assert '<rect class="series-1" x="21.5" y="0.0" width="7" height="100.0"><title>two<' in drawn
