"""A failed message is sent again, with an entry in the journal."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from msgspec import json

from laari.rules.actors import Actor
from laari.rules.people.message_resends import ResendMessage
from laari.rules.records.messages import MessageStatus, OutboxMessage
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
ID = UUID(int=7)


def world_with(status: MessageStatus) -> World:
    world = World(NOW, "https://laari.test", bytes)
    world.outbox.lock(ID, OutboxMessage(ID, status, 5, NOW - timedelta(hours=1)))
    return world


def test_a_failed_message_waits_again_as_if_it_were_new() -> None:
    world = world_with("failed")
    assert ResendMessage(OPERATOR, ID).decide(world) == OutboxMessage(ID, "pending", 0, NOW)
    [entry] = world.journal
    assert (entry.action, entry.object_type, entry.actor_name) == (
        "message.resend",
        "message",
        OPERATOR.name,
    )
    assert entry.object_id == f"msg_{ID.hex}"
    assert json.decode(entry.before or "") == {"status": "failed", "attempts": 5}
    assert json.decode(entry.after or "") == {"status": "pending", "attempts": 0}


@pytest.mark.parametrize("status", ["pending", "sent", "suppressed"])
def test_only_a_failed_message_is_sent_again(status: MessageStatus) -> None:
    world = world_with(status)
    refused = ResendMessage(OPERATOR, ID).decide(world)
    assert isinstance(refused, Refusal)
    assert refused.message == f"This message has not failed: it is {status}."
    assert (world.outbox.changed, world.journal) == ({}, [])


def test_a_missing_message_and_another_role_are_refused() -> None:
    world = world_with("failed")
    missing = ResendMessage(OPERATOR, UUID(int=8)).decide(world)
    assert isinstance(missing, Refusal)
    assert missing.code == "not_found"
    finance = Actor("operator", "ann@laari.test", "finance")
    refused = ResendMessage(finance, ID).decide(world)
    assert isinstance(refused, Refusal)
    assert refused.code == "insufficient_scope"
    assert world.outbox.changed == {}
