"""The rules of secret keys and OAuth clients without a database."""

from datetime import timedelta
from typing import Any

import pytest

from laari.rules.actors import Actor
from laari.rules.merchants.keys import (
    CreateClient,
    EndOldKey,
    RevokeClient,
    RotateKey,
    mark_of,
)
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.test_merchants import NOW, SHOP, world_of

HOUR = timedelta(hours=1)


def with_clients(role: str | None = None, count: int = 0) -> World:
    world = world_of(role)
    world.client_counts[SHOP] = count
    return world


def client_in(world: World) -> Any:
    made = CreateClient(OPERATOR, SHOP, "payments:read").decide(world)
    assert not isinstance(made, Refusal)
    return made.client


def test_a_rotation_keeps_the_old_key_only_with_an_overlap() -> None:
    new = RotateKey(OPERATOR, SHOP, HOUR).decide(world_of())
    assert not isinstance(new, Refusal)
    merchant = new.merchant
    assert merchant.secret_digest == f"secret-key {new.secret_key}".encode()
    assert merchant.secret_encrypted == new.secret_key.encode()
    assert (merchant.old_secret_digest, merchant.old_secret_encrypted) == (b"digest", b"secret")
    assert merchant.old_secret_until == NOW + HOUR
    at_once = RotateKey(OPERATOR, SHOP).decide(world_of())
    assert not isinstance(at_once, Refusal)
    assert at_once.merchant.old_secret_digest is at_once.merchant.old_secret_until is None


def test_the_secret_is_not_in_the_journal() -> None:
    world = with_clients()
    new = RotateKey(OPERATOR, SHOP, HOUR).decide(world)
    made = CreateClient(OPERATOR, SHOP, "", secret="known").decide(world)
    assert not isinstance(new, Refusal)
    assert not isinstance(made, Refusal)
    assert made.secret == "known"
    assert [each.action for each in world.journal] == ["merchant.rotate_key", "oauth_client.create"]
    assert "secret_encrypted" not in str(world.journal)
    assert new.secret_key not in str([each.after for each in world.journal])


@pytest.mark.parametrize(("left", "is_refused"), [(1, True), (0, False), (-1, False)])
def test_a_second_overlap_waits_for_the_end_of_the_first(left: int, is_refused: bool) -> None:
    old = {
        "old_secret_digest": b"older",
        "old_secret_encrypted": b"older",
        "old_secret_until": NOW + timedelta(microseconds=left),
    }
    assert (
        isinstance(RotateKey(OPERATOR, SHOP, HOUR).decide(world_of(**old)), Refusal) == is_refused
    )
    at_once = RotateKey(OPERATOR, SHOP).decide(world_of(**old))
    assert not isinstance(at_once, Refusal)
    assert at_once.merchant.old_secret_digest is None


def test_a_page_replaces_only_the_key_that_it_showed() -> None:
    world = world_of()
    mark = mark_of(world.merchant_settings[SHOP].secret_digest)
    assert not isinstance(RotateKey(OPERATOR, SHOP, mark=mark).decide(world), Refusal)
    again = RotateKey(OPERATOR, SHOP, mark=mark).decide(world)
    assert isinstance(again, Refusal)
    assert "Nothing was done" in again.message


def test_the_old_key_ends_and_without_one_nothing_changes() -> None:
    world = world_of()
    RotateKey(OPERATOR, SHOP, HOUR).decide(world)
    for _ in range(2):
        ended = EndOldKey(OPERATOR, SHOP).decide(world)
        assert not isinstance(ended, Refusal)
        assert ended.old_secret_digest is ended.old_secret_encrypted is None
    assert [each.action for each in world.journal][1:] == ["merchant.end_old_key"]


def test_a_form_makes_one_client() -> None:
    world = with_clients(count=2)
    command = CreateClient(OPERATOR, SHOP, "", made_before=2)
    assert not isinstance(command.decide(world), Refusal)
    assert isinstance(command.decide(world), Refusal)
    assert len(world.oauth_clients.added) == 1


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": "x" * 81}, {"name": "a\nb"}, {"expires_at": NOW}]
)
def test_a_wrong_name_or_end_makes_no_client(wrong: Any) -> None:
    world = with_clients()
    refused = CreateClient(OPERATOR, SHOP, "", **wrong).decide(world)
    assert isinstance(refused, Refusal)
    assert refused.field in wrong
    assert (world.oauth_clients.added, world.journal) == ({}, [])


def test_a_client_is_revoked_once() -> None:
    world = with_clients()
    client = client_in(world)
    for _ in range(2):
        revoked = RevokeClient(OPERATOR, client.id).decide(world)
        assert not isinstance(revoked, Refusal)
        assert revoked.revoked_at == NOW
    actions = [each.action for each in world.journal]
    assert actions == ["oauth_client.create", "oauth_client.revoke"]
    assert isinstance(RevokeClient(OPERATOR, "cl_none").decide(world), Refusal)


@pytest.mark.parametrize("role", ["owner", "manager", "accountant", "cashier", None])
def test_only_owners_and_managers_have_keys(role: str | None) -> None:
    person = Actor("person", "a@shop.mv", "owner")  # the role of the request does not count
    world = with_clients(role)
    client = client_in(world)
    for command in (
        RotateKey(person, SHOP),
        EndOldKey(person, SHOP),
        CreateClient(person, SHOP, ""),
        RevokeClient(person, client.id),
    ):
        outcome: Any = command.decide(world)
        assert (isinstance(outcome, Refusal)) == (role not in ("owner", "manager"))
        assert not isinstance(outcome, Refusal) or outcome.status == 403
