"""Who gets the receipt of a line, by which channel, and how many in a day."""

import os
from datetime import UTC, datetime

import pytest
from msgspec import json
from msgspec.structs import replace

from laari.rules.limits.messages import RECEIPTS_A_DAY
from laari.rules.messages import ReceiptContent
from laari.rules.payments.receipts import SendReceipt
from laari.rules.records.wallets import Transaction
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.rules.books import KEYS
from tests.rules.test_contact_changes import AISHA

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
ACCOUNT = 7_700_000_000_001
TID = "0123456789ABCDEF"
LINE = Transaction(TID, ACCOUNT, NOW, "payment", "Seagull", "Tea", -500, "success")
SEND = SendReceipt(AISHA.id, ACCOUNT, TID, "sms", "Payment to Seagull")


def world_of(line: Transaction = LINE, sent: int = 0, mode: str = "live") -> World:
    world = World(NOW, "http://laari.test", os.urandom, frozenset({"email", "sms"}), KEYS)
    world.customers.lock(AISHA.id, replace(AISHA, mode=mode))
    world.receipts_sent[AISHA.id] = sent
    world.lines[TID] = line
    return world


def test_a_receipt_has_its_line_and_goes_the_chosen_way() -> None:
    world = world_of()
    assert SEND.decide(world) == LINE
    [message] = world.messages
    assert (message.kind, message.channel, message.recipient) == ("receipt", "sms", "+9607771234")
    link = f"http://laari.test/app/transactions/{TID}"
    expected = ReceiptContent("Payment to Seagull", 500, "Tea", NOW, TID, link=link)
    assert json.decode(message.parameters, type=ReceiptContent) == expected


def test_receipts_of_a_day_are_counted_within_a_batch_too() -> None:
    world = world_of(sent=RECEIPTS_A_DAY - 1)
    assert SEND.decide(world) == LINE
    refused = SEND.decide(world)
    assert isinstance(refused, Refusal)
    assert refused.code == "rate_limited"
    assert len(world.messages) == 1


@pytest.mark.parametrize(
    ("world", "code"),
    [
        (world_of(replace(LINE, account=ACCOUNT + 1)), "not_found"),
        (world_of(replace(LINE, status="failed")), "not_found"),
        (world_of(mode="sandbox"), "conflict"),
    ],
)
def test_only_the_owner_gets_a_receipt_and_only_of_money_that_moved(
    world: World, code: str
) -> None:
    refused = SEND.decide(world)
    assert isinstance(refused, Refusal)
    assert refused.code == code
    assert world.messages == []
