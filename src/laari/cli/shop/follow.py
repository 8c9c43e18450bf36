"""Finds a merchant's new events by reading the newest ones again and again.

A sandbox's clock may be moved back, so the events around its present time are read too. An event id
begins with the real time: it shows which events are new, and their order.
"""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec

from laari.cli.shop.api import Api, AwayError, Json
from laari.rules.ids import EVENT

PAGE = 100
MOST_PAGES = 50  # per look; older events are skipped
MOST_REMEMBERED = 20_000
# The order of commits differs from the order of ids: an event that is older than the newest by less
# than this may be new.
OVERLAP_MILLISECONDS = 60_000
BEFORE_MILLISECONDS = 2_000  # the same at the start
AHEAD = timedelta(seconds=2)


class _Event(msgspec.Struct):
    """The checked fields of an event."""

    id: Annotated[str, msgspec.Meta(pattern=rf"^{EVENT}[0-9a-f]{{32}}$")]
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]


class Follower:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: dict[str, None] = {}  # ids in the order of discovery
        self._newest = 0  # real time in milliseconds
        self._floor = 0  # older events existed at the start
        self.mode: Literal["live", "sandbox"] = "sandbox"

    async def begin(self) -> None:
        """Takes the present events as known, and the mode from the key."""
        now = await self._api.sandbox_now()
        self.mode = "live" if now is None else "sandbox"
        self._seen.clear()
        self._newest = 0
        self._remember(await self._read(now, most_pages=1))
        self._floor = self._newest - BEFORE_MILLISECONDS

    async def new(self) -> list[Json]:
        """Returns the events since the last look, oldest first."""
        now = await self._api.sandbox_now()
        if (now is None) != (self.mode == "live"):  # events of the other mode are not new
            await self.begin()
            return []
        events = await self._read(now, MOST_PAGES)
        found = {event["id"]: event for event in events if self._is_new(event["id"])}
        self._remember(list(found.values()))
        return [found[event_id] for event_id in sorted(found)]

    async def _read(self, now: datetime | None, most_pages: int) -> list[Json]:
        """Reads the newest events, and those around the sandbox's time if others are later."""
        events = await self._walk({}, most_pages)
        last = datetime.fromisoformat(events[0]["created_at"]) if events else None
        if now is not None and last is not None and last > now + AHEAD:
            events += await self._walk({"created_to": (now + AHEAD).isoformat()}, most_pages)
        return events

    async def _walk(self, query: dict[str, str], most_pages: int) -> list[Json]:
        """Reads pages until one has an event that is not new."""
        events: list[Json] = []
        for _ in range(most_pages):
            answer = await self._api.get("/events", limit=str(PAGE), **query)
            page = _events_of(answer)
            events += page
            cursor = answer.get("pagination", {}).get("next_cursor")
            if not cursor or not all(self._is_new(event["id"]) for event in page):
                break
            query = {**query, "after": str(cursor)}
        return events

    def _is_new(self, event_id: str) -> bool:
        oldest = max(self._newest - OVERLAP_MILLISECONDS, self._floor)
        return event_id not in self._seen and _made_at(event_id) > oldest

    def _remember(self, events: list[Json]) -> None:
        for event in events:
            self._seen[event["id"]] = None
            self._newest = max(self._newest, _made_at(event["id"]))
        for event_id in list(self._seen)[: max(0, len(self._seen) - MOST_REMEMBERED)]:
            del self._seen[event_id]


def _made_at(event_id: str) -> int:
    """Returns the real time in an id, in milliseconds."""
    return int(event_id.removeprefix(EVENT)[:12], 16)


def _events_of(answer: Any) -> list[Json]:
    page: list[Json] = answer["data"]
    try:
        msgspec.convert(page, list[_Event])
    except msgspec.ValidationError:
        raise AwayError("the service sends events that are not Laari's: check --url") from None
    return page
