"""Many tests of shops in a row against one sandbox: fast, and none sees anything of another."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

SHOP = """
import pytest

seen = {{}}  # what each test before this one made: its merchant, and its payment


@pytest.mark.parametrize("number", range({count}))
def test_a_shop_sells(laari_merchant, number):
    client, customer = laari_merchant.client, laari_merchant.customer
    assert customer.balance == 10_000_000
    assert list(client.payments.list()) == [] == list(client.events.list())
    payment = client.payments.create(reference="order-1", amount=1000 + number)
    laari_merchant.clock.advance(days=number % 40)
    if number % 3 == 0:
        customer.set(balance=5000)
    payment = client.payments.create(reference="order-2", amount=1000 + number)
    customer.pay(payment)
    told = laari_merchant.webhooks.wait_for("payment.paid")
    assert (told.data.id, told.data.amount) == (payment.id, 1000 + number)
    ours = {{each.data.reference for each in laari_merchant.webhooks.deliveries}}
    assert ours <= {{"order-1", "order-2"}}
    assert laari_merchant.id not in seen
    assert payment.id not in seen.values()
    seen[laari_merchant.id] = payment.id
"""


def sell(folder: Path, count: int, *options: str) -> float:
    """Runs so many tests of a shop, as a shop would; returns how long they took."""
    (folder / "test_shop.py").write_text(SHOP.format(count=count))
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", *options],
        cwd=folder,
        env={name: v for name, v in os.environ.items() if not name.startswith("PYTEST")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    took = time.monotonic() - began
    assert ended.returncode == 0, ended.stdout[-5000:]
    assert re.search(rf"\b{count} passed", ended.stdout), ended.stdout[-500:]
    return took


@pytest.mark.campaign
def test_thirty_tests_of_a_shop_over_two_workers(tmp_path: Path) -> None:
    sell(tmp_path, 30, "-n", "2")


@pytest.mark.campaign
def test_five_hundred_tests_of_a_shop_take_less_than_a_minute(tmp_path: Path) -> None:
    assert sell(tmp_path, 500) < 60
