"""The digits of a till without a connection; tests/pages/test_offline.py has its page."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from laari.rules.actors import Actor
from laari.rules.merchants.offline import digits_of, minute_of, secret_context, truncated
from laari.rules.merchants.tills import CreateTill, DeactivateTill, EndDevice
from laari.rules.records.tills import Till
from laari.rules.world import World
from laari.store.secrets import keys_of
from tests.rules.test_merchants import NOW
from tests.rules.test_tills import PERSON, TENANT, device_in, with_till

# Made with `openssl dgst -sha256 -mac HMAC`, and shared with the tests of the page.
VECTORS: list[dict[str, Any]] = json.decode(
    Path(__file__, "../offline_digits.json").resolve().read_bytes()
)


@pytest.mark.parametrize("vector", VECTORS)
def test_the_digits_of_a_till_an_amount_and_a_minute(vector: dict[str, Any]) -> None:
    wanted = vector.pop("digits")
    assert digits_of(**vector) == wanted


def test_the_truncation_is_that_of_rfc_4226() -> None:
    """The example of its section 5.4."""
    assert truncated(bytes.fromhex("1f8698690e02ca16618550ef7f19da8e945b555a")) == "872921"


def test_another_till_amount_or_minute_has_other_digits() -> None:
    digits = digits_of("secret", 4550, 1000)
    assert digits not in (
        digits_of("other", 4550, 1000),
        digits_of("secret", 4551, 1000),
        digits_of("secret", 4550, 1001),
        digits_of("secret", 1000, 4550),
    )


def test_a_minute_begins_with_its_first_second() -> None:
    start = NOW.replace(second=0, microsecond=0)
    inside = (start, start + timedelta(seconds=59, microseconds=999_999))
    assert {minute_of(moment) for moment in inside} == {int(start.timestamp()) // 60}
    assert minute_of(start + timedelta(minutes=1)) == minute_of(start) + 1


def secret_of(world: World, till: Till) -> bytes | None:
    return world.decrypt(world.tills[till.id].secret_encrypted, secret_context(till.id))


def test_a_till_has_a_secret_of_its_own() -> None:
    world, _ = with_till()
    keys = keys_of(bytes(32))
    world.encrypt, world.decrypt = keys.encrypt, keys.decrypt
    till = CreateTill(PERSON, TENANT, "Till 3").decide(world)
    other = CreateTill(PERSON, TENANT, "Till 2").decide(world)
    assert isinstance(till, Till)
    assert isinstance(other, Till)
    assert secret_of(world, till) != secret_of(world, other)
    # Copied to another till, it opens nothing.
    assert world.decrypt(till.secret_encrypted, secret_context(other.id)) is None
    written = str(world.journal)
    for each in (till, other):
        secret = secret_of(world, each)
        assert secret is not None
        assert secret.decode() not in written
        assert each.secret_encrypted.hex() not in written


@pytest.mark.parametrize("actor", [PERSON, Actor("person", "nobody@shop.mv", "owner")])
def test_who_ends_a_device_ends_its_secret(actor: Actor) -> None:
    world, till = with_till()
    device = device_in(world, till)
    before = secret_of(world, till)
    EndDevice(actor, TENANT, till.id, device.digest).decide(world)
    is_allowed = actor == PERSON
    assert (secret_of(world, till) != before) is is_allowed
    again = secret_of(world, till)
    EndDevice(actor, TENANT, till.id, device.digest).decide(world)
    assert secret_of(world, till) == again


def test_pairing_and_deactivation_end_the_secret_too() -> None:
    world, till = with_till()
    seen = [secret_of(world, till)]
    device_in(world, till)
    seen.append(secret_of(world, till))
    device_in(world, till)
    seen.append(secret_of(world, till))
    DeactivateTill(PERSON, TENANT, till.id).decide(world)
    seen.append(secret_of(world, till))
    assert len(set(seen)) == 4
    assert None not in seen
