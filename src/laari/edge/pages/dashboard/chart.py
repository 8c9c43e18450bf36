"""Bars of a chart in SVG units: a hundred high, ten wide for each day."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

HEIGHT = 100
STEP = 10
WIDTH = 7


class Bar(NamedTuple):
    """One piece of a column; `y` counts from the top, as SVG does."""

    x: float
    y: float
    height: float


class Chart(NamedTuple):
    width: int
    top: int  # the value of a column of full height
    pieces: list[list[Bar]]  # by series: the first at the bottom, the next on top of it


def stacked(*series: Sequence[int]) -> Chart:
    """Columns of stacked series, on a scale with a round top."""
    totals = [sum(column) for column in zip(*series, strict=True)]
    top = round_up(max(totals, default=0))
    pieces: list[list[Bar]] = [[] for _ in series]
    for place, column in enumerate(zip(*series, strict=True)):
        below = 0.0
        for bars, value in zip(pieces, column, strict=True):
            height = round(value / top * HEIGHT, 2)
            y = round(HEIGHT - below - height, 2)
            bars.append(Bar(place * STEP + (STEP - WIDTH) / 2, y, height))
            below += height
    return Chart(len(totals) * STEP, top, pieces)


def bars(chart: Chart, words: Sequence[str]) -> Markup:
    """The pieces as SVG with their words; a template would take long to escape every number."""
    return Markup().join(
        Markup(  # noqa: S704  # numbers, and words that are escaped
            f'<rect class="series-{series}" x="{bar.x}" y="{bar.y}" width="{WIDTH}" '
            f'height="{bar.height}"><title>{escape(word)}</title></rect>'
        )
        for series, pieces in enumerate(chart.pieces, 1)
        for bar, word in zip(pieces, words, strict=True)
        if bar.height
    )


def round_up(value: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50 … that is not smaller."""
    unit = 1
    while True:
        for step in (1, 2, 5):
            if step * unit >= value:
                return step * unit
        unit *= 10
