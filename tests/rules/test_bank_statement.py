from datetime import date

import pytest

from laari.rules.banking.bank_statement import (
    MAX_BYTES,
    MAX_LINES,
    StatementError,
    StatementLine,
    statement_slices,
)

TODAY = date(2026, 11, 20)
HEADER = "date,reference,description,debit,credit,balance\n"
GOOD = HEADER + (
    '2026-11-18,FT1,"Top-up, 7700000000001",,"1,250.00",5000.00\n'
    "2026-11-18,FT2,LP000012R0001,10.5,,4989.50\n"
)


def read_statement(content: bytes) -> list[StatementLine]:
    return [line for lines in statement_slices(content, TODAY) for line in lines]


def test_lines_are_read_with_their_number_and_sign() -> None:
    assert read_statement(GOOD.encode()) == [
        StatementLine(2, date(2026, 11, 18), "FT1", "Top-up, 7700000000001", 125_000, 500_000),
        StatementLine(3, date(2026, 11, 18), "FT2", "LP000012R0001", -1_050, 498_950),
    ]


def test_columns_may_have_another_order_and_a_byte_order_mark() -> None:
    text = "\ufeffBalance,Credit,Debit,Description,Reference,Date\r\n,1.00,,x,FT1,2026-11-18\r\n"
    assert read_statement(text.encode()) == [
        StatementLine(2, date(2026, 11, 18), "FT1", "x", 100, None)
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: the file is empty"),
        ("date,reference\n", "line 1: the columns must be date, reference"),
        (HEADER + "2026-11-18,FT1,x,,1.00\n", "line 2: 5 fields instead of 6"),
        (HEADER + "18/11/2026,FT1,x,,1.00,\n", "line 2: the date '18/11/2026' is not like"),
        (HEADER + "2026-02-30,FT1,x,,1.00,\n", "line 2: the date '2026-02-30' is not like"),
        (HEADER + "2026-11-18,FT1,x,1.00,1.00,\n", "line 2: exactly one of debit and credit"),
        (HEADER + "2026-11-18,FT1,x,,,\n", "line 2: exactly one of debit and credit"),
        (HEADER + "2026-11-18,FT1,x,,0.00,\n", "line 2: exactly one of debit and credit"),
        (HEADER + "2026-11-18,FT1,x,,-1.00,\n", "line 2: the credit is negative"),
        (HEADER + "2026-11-18,FT1,x,,1.001,\n", "line 2: the credit '1.001' is not an amount"),
        (HEADER + "2026-11-18,FT1,x,,1e3,\n", "line 2: the credit '1e3' is not an amount"),
        (HEADER + "2026-11-18,,x,,1.00,\n", "line 2: the reference must have 1 to 100"),
        (HEADER + "2026-11-18,FT1,,,1.00,\n", "line 2: the description must have 1 to 500"),
        (GOOD + "2026-11-18,FT1,x,,1.00,\n", "line 4: line 2 has the same reference, 'FT1'"),
        (HEADER + '2026-11-18,FT1,"x,,1.00,\n', "line 2: not CSV"),
        (HEADER + "2026-11-18,FT1,x\0,,1.00,\n", "line 2: a null byte"),
        (HEADER + "0001-01-01,FT1,x,,1.00,\n", "line 2: the date '0001-01-01' is more than two"),
        (HEADER + "2024-11-18,FT1,x,,1.00,\n", "line 2: the date '2024-11-18' is more than two"),
        (HEADER + "2026-11-28,FT1,x,,1.00,\n", "line 2: the date '2026-11-28' is more than a week"),
        (HEADER + "9999-12-31,FT1,x,,1.00,\n", "line 2: the date '9999-12-31' is more than a week"),
        (HEADER + "," * 20_000 + "\n", "line 2: longer than 16 KiB"),
        (" " * (MAX_BYTES + 1), "the file is longer than 10 MiB"),
        (
            HEADER + "".join(f"2026-11-18,{n},x,,1.00,\n" for n in range(MAX_LINES + 1)),
            "the file has more than 10000 lines",
        ),
        (HEADER + "\n" * (MAX_LINES + 1), "the file has more than 10000 lines"),
        (HEADER + '2026-11-18,FT1,"x\ny",,1.00,\n', "line 2: not CSV"),
    ],
)
def test_a_wrong_line_refuses_the_whole_file(content: str, message: str) -> None:
    with pytest.raises(StatementError) as refused:
        read_statement(content.encode())
    assert str(refused.value).startswith(message)


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(StatementError, match="line 3: not UTF-8 text"):
        read_statement(GOOD.encode().replace(b"LP0", b"\xff\xfe"))


@pytest.mark.parametrize("day", ["2024-11-19", "2026-11-27"])
def test_days_up_to_two_years_ago_and_a_week_ahead_are_read(day: str) -> None:
    (line,) = read_statement(f"{HEADER}{day},FT1,x,,1.00,\n".encode())
    assert str(line.day) == day
