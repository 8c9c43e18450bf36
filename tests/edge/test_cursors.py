"""Cursors: they mark a place exactly, for one listing of one owner, and cannot be made up."""

import string
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.input.cursors import Cursors

CURSORS = Cursors(b"k" * 32)
MOMENT = datetime(2026, 3, 4, 5, 6, 7, 891_011, tzinfo=UTC)
ID = UUID("0195c2a4-0000-7abc-8def-0123456789ab")
URL_SAFE = string.ascii_letters + string.digits + "-_"

moments = st.datetimes(
    datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC) | st.timezones()
)


@given(st.text(st.characters(codec="utf-8")), st.integers(), moments, st.uuids())
def test_round_trip(listing: str, owner: int, moment: datetime, id: UUID) -> None:
    text = CURSORS.make(listing, owner, moment, id)
    assert set(text) <= set(URL_SAFE)
    # In UTC, because Python calls an hour that a zone has twice equal to nothing in other zones.
    assert CURSORS.read(listing, owner, text) == (moment.astimezone(UTC), id)


def test_neighbouring_microseconds_differ() -> None:
    later = MOMENT + timedelta(microseconds=1)
    assert CURSORS.read("payments", 1, CURSORS.make("payments", 1, later, ID)) == (later, ID)


def test_the_zone_of_the_moment_does_not_matter() -> None:
    shown = MOMENT.astimezone(timezone(timedelta(hours=5)))
    assert CURSORS.make("payments", 1, shown, ID) == CURSORS.make("payments", 1, MOMENT, ID)


def test_no_other_listing_owner_or_key_reads_it() -> None:
    text = CURSORS.make("payments", 12, MOMENT, ID)
    assert CURSORS.read("payments", 12, text) == (MOMENT, ID)
    assert CURSORS.read("payments", 1, text) is None
    assert CURSORS.read("payments", -12, text) is None
    assert CURSORS.read("2:payments", 1, text) is None
    assert CURSORS.read("payment_requests", 12, text) is None
    assert CURSORS.read("", 12, text) is None
    assert Cursors(b"K" * 32).read("payments", 12, text) is None


def test_every_altered_character_counts() -> None:
    text = CURSORS.make("payments", 1, MOMENT, ID)
    for place, kept in enumerate(text):
        for other in URL_SAFE.replace(kept, ""):
            assert CURSORS.read("payments", 1, text[:place] + other + text[place + 1 :]) is None


@pytest.mark.parametrize("text", ["", "=", "A" * 43, "_" * 43, "A" * 44, "A" * 100_000, "é" * 43])
def test_junk(text: str) -> None:
    assert CURSORS.read("payments", 1, text) is None


@pytest.mark.parametrize("change", ["{}=", "{} ", " {}", "{}\n", "{}A", "+{}", "\ud800{}", "{}\0"])
def test_things_added(change: str) -> None:
    text = CURSORS.make("payments", 1, MOMENT, ID)
    assert CURSORS.read("payments", 1, change.format(text)) is None


@given(st.text(max_size=60) | st.text(URL_SAFE + "=+/ ", min_size=42, max_size=44))
def test_junk_never_raises(text: str) -> None:
    assert CURSORS.read("payments", 1, text) is None
