"""The rules of tills and of their devices without a database."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.limits.tills import PAIRING_LETTERS, PAIRING_LIFE, TILLS
from laari.rules.merchants.tills import (
    LETTERS,
    PAIRING,
    ActivateTill,
    CreateTill,
    DeactivateTill,
    EndDevice,
    OfferPairing,
    PairDevice,
    read_code,
)
from laari.rules.records.tenants import Tenant
from laari.rules.records.tills import Till, TillDevice
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.rules.test_merchants import NOW, SHOP, world_of

TENANT = Tenant(1, SHOP, "Shop", "live", 0, 0, 0, 1, True)
OTHER = replace(TENANT, id=2)
PERSON = Actor("person", "a@shop.mv", "owner")


def with_till(role: str = "manager", *names: str) -> tuple[World, Till]:
    """A shop with one till, whose devices are those of this world."""
    world = world_of(role)
    world.till_names[TENANT.id] = names
    till = CreateTill(PERSON, TENANT, "Till 1").decide(world)
    assert isinstance(till, Till)
    world.devices_of_till[till.id] = ()
    world.tenants[TENANT.id] = TENANT
    return world, till


def offered(world: World, till: Till) -> str:
    pairing = OfferPairing(PERSON, TENANT, till.id).decide(world)
    assert not isinstance(pairing, Refusal)
    return pairing.code


def paired(world: World, code: str) -> Any:
    digest = world.digest(PAIRING, code)
    for till in world.tills.seen.values():
        if till.pairing_digest == digest:
            world.pairing_codes[digest] = till.id
    return PairDevice(digest, "Chrome on Android", "192.0.2.1").decide(world)


def device_in(world: World, till: Till) -> TillDevice:
    made = paired(world, offered(world, till))
    assert not isinstance(made, Refusal)
    world.devices_of_till[till.id] = (*world.devices_of_till[till.id], made.device.digest)
    return made.device


@pytest.mark.parametrize("name", ["Till 1", "till 1", "TILL1", " Till  1 ", "T i l l 1"])
def test_names_that_differ_only_by_spaces_or_case_are_one(name: str) -> None:
    world, _ = with_till()
    refused = CreateTill(PERSON, TENANT, name).decide(world)
    assert isinstance(refused, Refusal)
    assert "“Till 1” already" in refused.message
    assert isinstance(CreateTill(PERSON, TENANT, "Till 2").decide(world), Till)


@pytest.mark.parametrize("name", ["", "   ", "x" * 11, "a\u202eb", "a\x00"])
def test_a_name_has_one_to_ten_printable_characters(name: str) -> None:
    world = world_of("manager")
    world.till_names[TENANT.id] = ()
    refused = CreateTill(PERSON, TENANT, name).decide(world)
    assert isinstance(refused, Refusal)
    assert (world.tills.added, world.journal) == ({}, [])


def test_a_shop_has_a_bounded_number_of_tills() -> None:
    world = world_of("manager")
    world.till_names[TENANT.id] = tuple(str(number) for number in range(TILLS))
    assert isinstance(CreateTill(PERSON, TENANT, "one more").decide(world), Refusal)


@pytest.mark.parametrize("role", ["accountant", "cashier", None])
def test_only_who_may_manage_tills_changes_one(role: str | None) -> None:
    _, till = with_till()
    other = world_of(role)
    other.tills.lock(till.id, till)
    other.till_names[TENANT.id] = other.devices_of_till[till.id] = ()
    count = len(other.journal)
    for command in (
        CreateTill(PERSON, TENANT, "Till 2"),
        OfferPairing(PERSON, TENANT, till.id),
        ActivateTill(PERSON, TENANT, till.id),
        DeactivateTill(PERSON, TENANT, till.id),
        EndDevice(PERSON, TENANT, till.id, b"x"),
    ):
        assert isinstance(command.decide(other), Refusal), command
    assert len(other.journal) == count


def test_a_till_of_another_tenant_does_not_exist() -> None:
    world, till = with_till()
    for command in (
        OfferPairing(PERSON, OTHER, till.id),
        DeactivateTill(PERSON, OTHER, till.id),
        EndDevice(PERSON, OTHER, till.id, b"x"),
    ):
        assert isinstance(command.decide(world), Refusal), command


def test_a_code_pairs_one_device_once() -> None:
    world, till = with_till()
    code = offered(world, till)
    assert len(code) == PAIRING_LETTERS
    assert set(code) <= set(LETTERS)
    made = paired(world, code)
    assert made.device.till_id == till.id
    assert isinstance(paired(world, code), Refusal)
    actions = [(each.action, each.actor_kind, each.actor_name) for each in world.journal]
    assert actions[-2:] == [
        ("till.use_pairing", "till", "Till 1"),
        ("till_device.pair", "till", "Till 1"),
    ]
    written = str(world.journal)
    assert code not in written
    assert made.token not in written


def test_a_code_ends_and_a_new_one_replaces_it() -> None:
    world, till = with_till()
    first = offered(world, till)
    second = offered(world, till)
    assert isinstance(paired(world, first), Refusal)
    world.now = NOW + PAIRING_LIFE
    assert isinstance(paired(world, second), Refusal)
    world.now = NOW + PAIRING_LIFE - timedelta(microseconds=1)
    assert not isinstance(paired(world, second), Refusal)


def test_a_code_is_read_as_people_type_it() -> None:
    assert read_code(" ab12-cd34 ") == "AB12CD34"


def test_an_ended_device_is_ended_once() -> None:
    world, till = with_till()
    device = device_in(world, till)
    for _ in range(2):
        EndDevice(PERSON, TENANT, till.id, device.digest).decide(world)
    assert world.till_devices[device.digest].ended_at == NOW
    assert [each.action for each in world.journal].count("till_device.end") == 1


def test_a_device_of_another_till_is_not_ended() -> None:
    world, till = with_till()
    device = device_in(world, till)
    second = CreateTill(PERSON, TENANT, "Till 2").decide(world)
    assert isinstance(second, Till)
    world.devices_of_till[second.id] = ()
    EndDevice(PERSON, TENANT, second.id, device.digest).decide(world)
    assert world.till_devices[device.digest].ended_at is None


def test_a_till_that_is_deactivated_ends_its_devices_for_good() -> None:
    world, till = with_till()
    devices = [device_in(world, till) for _ in range(2)]
    code = offered(world, till)
    DeactivateTill(PERSON, TENANT, till.id).decide(world)
    assert isinstance(paired(world, code), Refusal)
    assert isinstance(OfferPairing(PERSON, TENANT, till.id).decide(world), Refusal)
    ActivateTill(PERSON, TENANT, till.id).decide(world)
    assert all(world.till_devices[each.digest].ended_at == NOW for each in devices)
    assert world.tills[till.id].active
