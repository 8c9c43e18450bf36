"""Which messages the rules write, to whom, and with what content."""

import os
from datetime import UTC, datetime, timedelta
from typing import get_args
from uuid import uuid4

import msgspec
import pytest

from laari.rules import ids
from laari.rules.messages import CONTENTS, RequestContent
from laari.rules.payments.payment_requests import CreateRequest, RequestDraft
from laari.rules.records.messages import Contact, Message, MessageKind
from laari.rules.records.payments import PaymentRequest
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.rules.books import KEYS

NOW = datetime(2027, 7, 1, 9, tzinfo=UTC)
ACCOUNT = 7_700_000_000_001
BOTH = frozenset({"email", "sms"})
AISHA = Contact(ACCOUNT, uuid4(), "aisha@laari.test", "7771234", "dv")
SHOP = Tenant(1, "mer_1", "Seagull", "live", 0, 0, 0, ACCOUNT, True)
SANDBOX = msgspec.structs.replace(SHOP, mode="sandbox")
DRAFT = RequestDraft("order-7", 125_000, "mobile", "7771234", title="Two coffees")


def world_of(channels: frozenset[str] = BOTH, contact: Contact = AISHA) -> World:
    world = World(NOW, "http://laari.test", os.urandom, channels, KEYS)
    world.recipients["mobile", "7771234"] = contact
    return world


def asked(world: World, draft: RequestDraft = DRAFT) -> PaymentRequest:
    request = CreateRequest(SHOP, draft, designated=False).decide(world)
    assert isinstance(request, PaymentRequest)
    return request


def sent_to(message: Message) -> tuple[str, str]:
    return message.channel, message.recipient


def test_a_payment_request_is_announced_to_its_customer() -> None:
    world = world_of()
    request = asked(world)
    [message] = world.messages
    assert (message.kind, message.language) == ("payment_request", "dv")
    assert (message.tenant_id, message.customer_id, message.object_id) == (
        SHOP.id,
        AISHA.customer_id,
        request.id,
    )
    link = f"http://laari.test/app/requests/{ids.show_id(ids.PAYMENT_REQUEST, request.id)}"
    assert msgspec.json.decode(message.parameters, type=RequestContent) == RequestContent(
        "Seagull", 125_000, "Two coffees", NOW + timedelta(days=1), link
    )


def test_a_request_without_a_title_is_named_by_its_reference() -> None:
    world = world_of()
    asked(world, RequestDraft("order-7", 1, "mobile", "7771234"))
    assert msgspec.json.decode(world.messages[0].parameters)["title"] == "order-7"


@pytest.mark.parametrize(
    ("email", "mobile", "channels", "expected"),
    [
        ("a@b.mv", "7771234", BOTH, [("email", "a@b.mv")]),
        (None, "7771234", BOTH, [("sms", "+9607771234")]),
        ("a@b.mv", "7771234", frozenset({"sms"}), [("sms", "+9607771234")]),
        ("a@b.mv", None, frozenset({"sms"}), []),
        (None, "7771234", frozenset({"email"}), []),
        ("a@b.mv", "7771234", frozenset(), []),
        (None, None, BOTH, []),
    ],
)
def test_email_comes_before_sms_and_only_with_a_transport(
    email: str | None, mobile: str | None, channels: frozenset[str], expected: list[object]
) -> None:
    world = world_of(channels, Contact(ACCOUNT, uuid4(), email, mobile, "en"))
    asked(world)
    assert [sent_to(message) for message in world.messages] == expected


def test_a_sandbox_sends_nothing() -> None:
    world = world_of()
    outcome = CreateRequest(SANDBOX, DRAFT, designated=True).decide(world)
    assert isinstance(outcome, PaymentRequest)
    assert world.messages == []


def test_a_refused_or_repeated_request_sends_nothing() -> None:
    world = world_of()
    unknown = RequestDraft("new", 1, "vpa", "nobody")
    assert isinstance(CreateRequest(SHOP, unknown, False).decide(world), Refusal)
    past = RequestDraft("new", 1, "mobile", "7771234", expires_at=NOW)
    assert isinstance(CreateRequest(SHOP, past, False).decide(world), Refusal)
    assert world.messages == []
    asked(world)
    asked(world)
    assert len(world.messages) == 1


def test_every_kind_of_message_has_its_content() -> None:
    assert get_args(MessageKind) == tuple(CONTENTS)
