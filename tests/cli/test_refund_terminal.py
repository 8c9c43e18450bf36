"""`laari payment refund` asks on a terminal, and only there."""

import json

import pytest

from tests.cli.test_given import on_a_terminal
from tests.cli.test_operator import SANDBOX, Laari, laari, make_payment  # noqa: F401  # a fixture


@pytest.fixture
def paid(laari: Laari, dsn: str) -> str:  # noqa: F811
    shop = laari("merchant", "create", "Shop", "--json").json["merchant_id"]
    customer = laari("customer", "create", "Aisha", *SANDBOX, "--balance", "10000", "--json").json
    return make_payment(dsn, shop, int(customer["account_number"]))


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"y\n"])
def test_a_refund_on_a_terminal_waits_for_a_yes(
    laari: Laari,  # noqa: F811
    dsn: str,
    paid: str,
    answer: bytes,
) -> None:
    env = {"LAARI_DATABASE_URL": dsn, "LAARI_MASTER_KEY": "00" * 32}
    status, told = on_a_terminal([answer], "payment", "refund", paid, "--json", env=env)
    question, _, out = told.partition("\0")
    assert "Refund MVR 100.00 of 'order-1' from Shop" in question
    says_yes = answer == b"y\n"
    assert status == (0 if says_yes else 1)
    assert (json.loads(out)["status"] == "refunded") if says_yes else (out == "")
    shown = laari("payment", "show", paid, "--json").json
    assert shown["status"] == ("refunded" if says_yes else "paid")


@pytest.mark.ci
def test_yes_is_said_beforehand(dsn: str, paid: str) -> None:
    env = {"LAARI_DATABASE_URL": dsn, "LAARI_MASTER_KEY": "00" * 32}
    status, told = on_a_terminal([], "payment", "refund", paid, "--yes", "--json", env=env)
    assert (status, told[0]) == (0, "\0")


def test_a_refund_that_cannot_be_is_refused_without_a_question(
    laari: Laari,  # noqa: F811
    dsn: str,
    paid: str,
) -> None:
    laari("payment", "refund", paid)
    env = {"LAARI_DATABASE_URL": dsn, "LAARI_MASTER_KEY": "00" * 32}
    status, told = on_a_terminal([], "payment", "refund", paid, env=env)
    assert (status, "Refund MVR" in told) == (1, False)
