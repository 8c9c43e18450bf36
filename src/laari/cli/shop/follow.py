"""Finds a merchant's new events by asking for the newest ones again and again.

The list is in the order of `created_at`, and a sandbox's clock may be moved back: what happens now
then stands below what happened "later". So besides the newest events those around the sandbox's
present time are looked at. An event's id begins with the real time, which no clock of a sandbox
moves: by it new events are told from old ones, and put into the order in which they happened.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from laari.cli.shop.api import Api, AwayError, Json
from laari.rules.ids import EVENT

PAGE = 100
MOST_PAGES = 50  # read at one time: more events than that between two looks are not waited for
MOST_REMEMBERED = 20_000
# Two processes of a service commit in another order than they made their ids, and the list is
# asked for again after a pause: ids that are older than the newest by less than this may be new.
OVERLAP_MILLISECONDS = 60_000
BEFORE_MILLISECONDS = 2_000  # the same for what was there at the beginning
AHEAD = timedelta(seconds=2)

_ID = re.compile(rf"{EVENT}[0-9a-f]{{32}}", re.ASCII)


class Follower:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: dict[str, None] = {}  # in the order in which they were seen
        self._newest = 0  # real time in milliseconds
        self._floor = 0  # what is older was there at the beginning
        self.mode: Literal["live", "sandbox"] = "sandbox"

    async def begin(self) -> Literal["live", "sandbox"]:
        """Takes what is there as known; returns the mode that the key acts in."""
        now = await self._look_at_mode()
        self._seen.clear()
        self._newest = 0
        for page in await self._pages(now, lambda _: False):
            self._remember(page)
        self._floor = self._newest - BEFORE_MILLISECONDS
        return self.mode

    async def new(self) -> list[Json]:
        """What has happened since the last look, in that order."""
        mode = self.mode
        now = await self._look_at_mode()
        if self.mode != mode:  # the merchant's other events: none of them is new
            await self.begin()
            return []
        found: dict[str, Json] = {}
        for page in await self._pages(now, self._is_all_new):
            found |= {event["id"]: event for event in page if self._is_new(event["id"])}
        self._remember(list(found.values()))
        return [found[event_id] for event_id in sorted(found)]

    async def _look_at_mode(self) -> datetime | None:
        now = await self._api.sandbox_now()
        self.mode = "live" if now is None else "sandbox"
        return now

    async def _pages(
        self, now: datetime | None, goes_on: Callable[[list[Json]], bool]
    ) -> list[list[Json]]:
        """The newest events, and those around the sandbox's time where others are later."""
        pages = await self._walk({}, goes_on)
        is_behind = now is not None and pages[0] and _happened_at(pages[0][0]) > now + AHEAD
        if now is not None and is_behind:
            pages += await self._walk({"created_to": (now + AHEAD).isoformat()}, goes_on)
        return pages

    async def _walk(
        self, query: dict[str, str], goes_on: Callable[[list[Json]], bool]
    ) -> list[list[Json]]:
        pages: list[list[Json]] = []
        after: dict[str, str] = {}
        while len(pages) < MOST_PAGES:
            answer = await self._api.get("/events", limit=str(PAGE), **query, **after)
            page = _events_of(answer)
            pages.append(page)
            cursor = answer.get("pagination", {}).get("next_cursor")
            if not cursor or not goes_on(page):
                break
            after = {"after": str(cursor)}
        return pages

    def _is_all_new(self, page: list[Json]) -> bool:
        """Whether there may be more new ones on the page after this one."""
        return all(self._is_new(event["id"]) for event in page)

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
    """The real time in an id, in milliseconds."""
    return int(event_id.removeprefix(EVENT)[:12], 16)


def _happened_at(event: Json) -> datetime:
    try:
        return datetime.fromisoformat(str(event.get("created_at"))).astimezone(UTC)
    except ValueError:
        raise AwayError("the service answers with events that have no time: see --url") from None


def _events_of(answer: Any) -> list[Json]:
    """The events of an answer, each with an id of ours; anything else is no answer of Laari."""
    page = answer["data"]
    if not isinstance(page, list) or not all(
        isinstance(event, dict) and _ID.fullmatch(str(event.get("id"))) for event in page
    ):
        raise AwayError("the service answers with events that are none: see --url")
    return page
