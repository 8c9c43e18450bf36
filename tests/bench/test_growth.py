"""What the bench makes of its measurements of growth, without measuring."""

from typing import Any

import pytest

from bench import footprint
from bench.footprint import Logged
from bench.growth import Found, Held, in_turn
from bench.growth_report import show

pytestmark = pytest.mark.ci

WALDUMP = """\
WAL statistics between 0/2A000028 and 0/2B1F6C38:
Type                                           N      (%)          Record size      (%)  \
           FPI size      (%)        Combined size      (%)
----                                           -      ---          -----------      ---  \
           --------      ---        -------------      ---
XLOG                                          16 (  0.16)                 1456 (  0.24)  \
              16384 (  3.10)                17840 (  1.58)
Transaction                                  200 (  2.00)                 9100 (  1.52)  \
                  0 (  0.00)                 9100 (  0.81)
Storage                                        0 (  0.00)                    0 (  0.00)  \
                  0 (  0.00)                    0 (  0.00)
Btree                                       9784 ( 97.84)               588888 ( 98.24)  \
             512000 ( 96.90)              1100888 ( 97.61)
                                        --------                      --------           \
           --------                      --------
Total                                      10000                        599444 [ 53.15%] \
             528384 [ 46.85%]              1127828 [100%]
"""


def held(payments: int, microseconds: int, room: int) -> Held:
    return Held(
        payments,
        1.0,
        {"payments": room * payments, "payments.payments_pkey": 40 * payments, "wallets": 10**9},
        details={"create": {"processor_us": {"interface": microseconds, "engine": 100}}},
    )


def found(*ratios: float, room: int = 1000) -> Found:
    return Found([held(1000, 100, room), held(10_000, 150, room)], {"create": list(ratios)})


def test_the_log_is_told_into_records_and_images_by_kind() -> None:
    logged = footprint.parse(WALDUMP)
    assert logged == {
        "XLOG": Logged(1456, 16384),
        "Transaction": Logged(9100, 0),
        "Btree": Logged(588_888, 512_000),
    }
    assert footprint.total(logged) == Logged(599_444, 528_384)  # as the last line says
    assert footprint.total(logged).both == 1_127_828


def test_output_without_figures_is_not_taken_for_an_empty_log() -> None:
    with pytest.raises(RuntimeError, match="no figures"):
        footprint.parse("pg_waldump: first record is after 0/2A000028\n")


def test_what_has_grown_is_told_most_first_and_what_has_not_is_left_out() -> None:
    before = {"payments": 8192, "events": 8192, "tiers": 8192}
    after = {"payments": 16384, "events": 81920, "tiers": 8192, "events.events_pkey": 16384}
    grown = footprint.growth(before, after)
    assert list(grown.items()) == [
        ("events", 73728),
        ("events.events_pkey", 16384),
        ("payments", 8192),
    ]


def test_the_room_of_payments_leaves_out_what_customers_take() -> None:
    sizes = {"payments": 5, "payments.payments_pkey": 2, "wallets": 100, "customers.x": 50}
    assert footprint.of_payments(sizes) == 7


def test_every_database_is_as_often_first_as_last() -> None:
    rounds = in_turn([1, 2, 3], 4)
    assert rounds == [[1, 2, 3], [3, 2, 1], [1, 2, 3], [3, 2, 1]]


@pytest.mark.parametrize(
    ("ratios", "reached"), [((0.5, 0.9, 1.4), True), ((0.5, 0.89, 1.4), False)]
)
def test_the_median_of_the_rounds_decides(ratios: tuple[float, ...], reached: bool) -> None:
    [verdict, _] = found(*ratios).verdicts()
    assert verdict.reached is reached
    assert verdict.ratio == ratios[1]
    assert "10,000 payments ÷ 1,000 (0.50 to 1.40, by processor time 0.80)" in verdict.text


@pytest.mark.parametrize(("room", "reached"), [(1060, True), (1061, False)])
def test_the_room_of_a_payment_includes_its_indexes(room: int, reached: bool) -> None:
    [_, verdict] = found(1.0, room=room).verdicts()
    assert (verdict.ratio, verdict.reached) == (room + 40, reached)


def test_the_tables_show_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from bench.growth import Traffic
    from bench.measure import Figure

    whole = found(1.0)
    for one in whole.held:
        one.figures["create"] = Figure(2500.0, 2400.0, 2600.0, 20.0, 40.0, 0)
        one.details["create"] |= {"wal_bytes_per_request": 2144, "commits_per_request": 0.2}
        one.memory_mib = {"interface 1": 31.5}
    grown: dict[str, Any] = {"events": 829.8, "events.events_pkey": 50.0}
    whole.traffic = [
        Traffic(1000, "create", 50_000, 0.2, grown, {"Heap": 900.0, "Btree": 1232.0}, 44.0),
        Traffic(10_000, "create", 50_000, 0.2, grown, {"Heap": 900.0, "Btree": 1232.0}, 99.0),
    ]
    show(Console(width=150), whole)
    shown = capsys.readouterr().out
    for expected in ("2,500 (2,400 to 2,600)", "100 + 100 µs, 2,144 B", "31.5", "829.8", "2,132"):
        assert expected in shown
    [traffic, _] = whole.as_json()["traffic"]
    assert (traffic["bytes_per_payment"], traffic["log_records"]) == (879.8, 2132.0)
