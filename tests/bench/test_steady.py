"""What the bench makes of a steady load: windows, verdicts, marks and the plot."""

import json
import time
import xml.etree.ElementTree as ET

import pytest

from bench.host import Host, HostSecond
from bench.marks import Marks, Sample, Span
from bench.pace import COLUMNS, Second, percentile, verdicts, windows
from bench.steady import Found, Load
from bench.timeline import draw

pytestmark = pytest.mark.ci

SVG = "{http://www.w3.org/2000/svg}"


def load(*p99s: float) -> list[Second]:
    """Windows of ten seconds in which two of a hundred requests take that long."""
    return [
        Second(number * 10 + second, [p99] * 2 + [5.0] * 98, 0, 200)
        for number, p99 in enumerate(p99s)
        for second in range(10)
    ]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.99, 99), (0.999, 100), (0.01, 1), (1.0, 100)]
)
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: int) -> None:
    assert percentile(range(1, 101), share) == expected


def test_a_percentile_of_one_value_and_of_none() -> None:
    assert percentile([7.0], 0.99) == percentile([7.0], 0.5) == 7.0
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)


def test_a_window_takes_its_percentile_over_all_of_its_requests() -> None:
    """The mean of the seconds' percentiles would say something else."""
    seconds = [Second(at, [1.0] * 99 + [100.0 * (at == 3)], at == 4, 10) for at in range(10)]
    [window] = windows(seconds)
    assert (window.p50_ms, window.p99_ms) == (1.0, 1.0)
    assert (window.requests, window.errors, window.deliveries) == (1000, 1, 100)


def test_a_window_that_is_not_whole_is_left_out() -> None:
    assert [window.at for window in windows(load(20.0, 20.0)[:-1])] == [0]


@pytest.mark.parametrize(("worst", "reached"), [(79.9, True), (80.0, False)])
def test_no_window_may_reach_four_times_the_median(worst: float, reached: bool) -> None:
    steady, failed, lost = verdicts(load(20.0, 20.0, worst, 20.0), undelivered=0)
    assert steady.reached is reached
    assert "median p99 of 20.0 ms (at 0:20 min)" in steady.text
    assert failed.reached
    assert lost.reached


def test_one_failed_request_and_one_lost_event_are_told() -> None:
    seconds = load(20.0, 20.0)
    seconds[3] = seconds[3]._replace(errors=1)
    _, failed, lost = verdicts(seconds, undelivered=1)
    assert (failed.ratio, failed.reached) == (1, False)
    assert (lost.ratio, lost.reached) == (1, False)


def sample(begun: int, done: int, *running: tuple[str, str], **vacuumed: int) -> Sample:
    return Sample(
        begun,
        done,
        frozenset(running),
        {("vacuum", table): count for table, count in vacuumed.items()},
    )


def test_a_checkpoint_is_seen_from_when_it_begins_until_it_is_done() -> None:
    seen = Marks()
    # An idle server has skipped two: they were begun and never done.
    for at, (begun, done) in enumerate([(7, 5), (7, 5), (8, 5), (8, 5), (8, 6), (8, 6)]):
        seen.see(at, sample(begun, done))
    assert seen.end(6) == [Span("checkpoint", "", 2, 4)]


def test_vacuums_are_seen_while_they_run_and_short_ones_by_their_count() -> None:
    seen = Marks()
    seen.see(0, sample(0, 0, events=3))
    seen.see(1, sample(0, 0, ("vacuum", "payments"), events=4))
    seen.see(2, sample(0, 0, ("vacuum", "payments"), events=4))
    seen.see(3, sample(0, 0, ("analyze", "events"), events=4, payments=1))
    assert seen.end(5) == [
        Span("vacuum", "events", 1, 1),
        Span("vacuum", "payments", 1, 3),
        Span("analyze", "events", 3, 5),  # still under way
    ]


def test_the_plot_shows_latencies_marks_and_failures() -> None:
    seconds = load(20.0, 20.0, 90.0)
    seconds[7] = seconds[7]._replace(errors=2)
    spans = [Span("checkpoint", "", 5, 12), Span("vacuum", "a <table>", 3, 3)]
    drawn = draw("Steady & <safe>", seconds, spans)
    root = ET.fromstring(drawn)
    assert root.findtext(f"{SVG}title") == "Steady & <safe>"
    assert "prefers-color-scheme:dark" in (root.findtext(f"{SVG}style") or "")
    classes = [element.get("class") for element in root.iter()]
    for name, count in {"p99": 2, "p50": 2, "limit": 1, "checkpoint": 1, "vacuum": 1}.items():
        assert classes.count(name) == count, name
    assert classes.count("failed") == 1
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "a <table>" in texts
    [band] = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "checkpoint"]
    across = (760 - 130 - 40) / 30  # a second
    assert float(band.get("x", 0)) == pytest.approx(130 + 5 * across, abs=0.1)
    assert float(band.get("width", 0)) == pytest.approx(7 * across, abs=0.2)


def test_the_higher_the_latency_the_higher_the_line() -> None:
    root = ET.fromstring(draw("Steady", load(*[20.0] * 60, 200.0, *[20.0] * 4), []))
    [line] = [p for p in root.iter(f"{SVG}path") if p.get("class") == "p99"]
    places = [tuple(map(float, at.split())) for at in (line.get("d") or "")[1:].split("L")]
    heights = [y for _, y in places]
    assert heights.index(min(heights)) == 60
    assert [x for x, _ in places] == sorted(x for x, _ in places)


def test_every_second_is_kept_in_the_file() -> None:
    found = Found(Load(1000.0, 400.0), load(20.0), [Span("checkpoint", "", 1, 2)])
    found.host, found.late_p99_ms = [HostSecond(0.5, 0.0, 3.0)] * 10, dict.fromkeys(range(10), 1.1)
    kept = json.loads(json.dumps(found.as_json()))
    assert len(kept["seconds"]) == 10
    assert dict(zip(kept["columns"], kept["seconds"][3], strict=True)) == {
        **{"at": 3, "count": 100, "p50_ms": 5.0, "p99_ms": 20.0, "errors": 0, "deliveries": 200}
    }
    assert tuple(kept["columns"]) == COLUMNS
    assert kept["marks"] == [{"kind": "checkpoint", "what": "", "begin": 1, "end": 2}]
    assert kept["host"]["seconds"][3] == [0.5, 0.0, 3.0]
    assert "400 a second of a best of 1,000" in found.summary()


def test_the_slowest_second_says_what_the_machine_did_in_it() -> None:
    seconds = [Second(at, [5.0, 20.0]) for at in range(10)]
    seconds[6] = Second(6, [5.0, 167.0])
    found = Found(Load(1000.0, 400.0), seconds)
    found.host = [HostSecond(0.5, 0.0, 1.0)] * 10
    found.host[3] = HostSecond(0.5, 0.9, 900.0)
    found.host[7] = HostSecond(0.5, 0.25, 150.0)  # a second is sampled when it has ended
    found.late_p99_ms = dict.fromkeys(range(10), 1.0) | {6: 140.0}
    assert found.slowest() == (
        "the slowest request took 167 ms (at 6 s): the load was 140 ms late, the host took 25% of "
        "the processors, everything waited 150 ms for disk"
    )


def test_the_machine_is_sampled() -> None:
    host = Host()
    time.sleep(0.1)
    second = host.sample()
    assert 0 <= second.idle <= 1
    assert 0 <= second.stolen <= 1
    assert second.disk_ms >= 0
