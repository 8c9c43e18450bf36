"""A credential that was just refused for its rate is refused again without being looked up."""

from types import SimpleNamespace
from typing import Any

import pytest

from laari.edge.load.admission import Admission
from laari.edge.load.token_buckets import RateBuckets
from laari.edge.merchant import app
from laari.edge.merchant.app import (
    BODY_BYTES_OF_A_REQUEST,
    BYTES_OF_A_REQUEST,
    OWING_SECONDS,
    REMEMBERED_SECONDS,
    MerchantInterface,
)
from laari.edge.merchant.operations import Caller
from laari.http.messages import Reply
from laari.rules.refusals import Refusal, refuse
from tests.actors import OPERATOR
from tests.edge.sent import sent


class Place:
    """The interface with one merchant, whose look-ups are counted and whose clock is the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
        settings = SimpleNamespace(
            require_https=False, merchant_rate_live=rate, merchant_rate_sandbox=rate
        )
        backend: Any = SimpleNamespace(
            settings=settings, rates=RateBuckets(None), admission=Admission()
        )
        self.interface = MerchantInterface(backend)
        self.looked_up: list[str | None] = []
        self.now = 1000.0
        self.active = True
        monkeypatch.setattr(app, "authenticate", self._authenticate)
        monkeypatch.setattr(app, "time", SimpleNamespace(monotonic=lambda: self.now))

    async def _authenticate(self, backend: Any, request: Any) -> Caller | Refusal:
        self.looked_up.append(request.headers.get(b"x-api-key"))
        if not self.active:
            return refuse("unauthorized")
        tenant: Any = SimpleNamespace(id=7, mode="live")
        return Caller(tenant, frozenset(), lambda: OPERATOR)  # without a scope: 403

    async def ask(self, key: str = "sk_a", body: bytes = b"") -> int:
        request = sent("/merchant/payments", body=body, x_api_key=key)
        return (await self.interface.handle(request)).status


async def test_most_of_a_flood_is_refused_without_a_look_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Place(monkeypatch, rate=20)
    statuses = [await place.ask() for _ in range(100)]
    assert statuses == [403] * 20 + [429] * 80
    assert len(place.looked_up) == 21
    place.now += 0.0501  # when one more may pass
    assert [await place.ask(), await place.ask()] == [403, 429]


async def test_another_credential_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch, rate=1)
    assert [await place.ask(), await place.ask(), await place.ask()] == [403, 429, 429]
    assert await place.ask("sk_b") == 429  # the same merchant's
    assert place.looked_up == ["sk_a", "sk_a", "sk_b"]


async def test_a_revoked_key_hears_so_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch, rate=0.1)
    assert [await place.ask(), await place.ask()] == [403, 429]
    place.active = False
    place.now += REMEMBERED_SECONDS + 0.001
    assert await place.ask() == 401
    assert place.interface._over_until == {}


class Endless(bytes):
    def __len__(self) -> int:
        return 5000 * BYTES_OF_A_REQUEST


async def test_long_responses_count_as_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch, rate=20)
    reply = Reply(200, bytes(5 * BYTES_OF_A_REQUEST))

    async def serve(*arguments: object) -> Reply:
        return reply

    monkeypatch.setattr(MerchantInterface, "_serve", serve)
    monkeypatch.setattr(Caller, "may", lambda *arguments: True)
    statuses = [await place.ask() for _ in range(5)]
    assert statuses == [200] * 4 + [429]  # 6 requests each, and the fourth may owe its own
    place.now += 0.2001
    assert await place.ask() == 429
    place.now += 0.0501
    reply = Reply(200, bytes(BYTES_OF_A_REQUEST - 1))
    assert [await place.ask(), await place.ask()] == [200, 429]
    place.now += 2
    reply = Reply(200, Endless())
    assert await place.ask() == 200
    place.now += OWING_SECONDS
    assert await place.ask() == 429
    place.now += 1
    assert await place.ask() == 200  # no more than a minute is owed


async def test_long_bodies_count_as_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes of them: they are charged before anything is read."""
    place = Place(monkeypatch, rate=20)
    long = bytes(4 * BODY_BYTES_OF_A_REQUEST)
    assert [await place.ask(body=long) for _ in range(5)] == [403] * 4 + [429]  # five each
    place.now += 0.0501
    short = bytes(BODY_BYTES_OF_A_REQUEST - 1)
    assert [await place.ask(body=short), await place.ask(body=short)] == [403, 429]
    place.now += 0.0501
    assert await place.ask(body=long) == 403  # the last may owe what it is
    place.now += 0.2001
    assert await place.ask() == 429
    place.now += 0.0501
    assert await place.ask() == 403


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(monkeypatch, rate=1)
    for number in range(2 * app.MOST_REMEMBERED):
        await place.ask(f"sk_{number}")
    assert len(place.interface._over_until) <= app.MOST_REMEMBERED
