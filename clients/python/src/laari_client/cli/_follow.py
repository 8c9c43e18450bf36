"""Finds new events of a merchant: reads the newest ones again and again.

The list is in the order of `created_at`, by the sandbox's clock. After that clock was moved back,
new events are below old ones, so the events around the sandbox's time are read too. An event's id
begins with the real time, which no sandbox clock moves: it tells new events from old ones.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any, Dict, Iterator, List, Optional, Set

from laari_client import Laari, errors
from laari_client._call import Call
from laari_client._listing import Listing
from laari_client._operations import LIST_EVENTS
from laari_client._reading import moment

Json = Dict[str, Any]

PAGE = 100
MOST_PAGES = 50  # of one look
OVERLAP_MILLISECONDS = 60_000  # processes of a service commit later than they make their ids
BEFORE_MILLISECONDS = 2_000  # the same for events from before the beginning
AHEAD = timedelta(seconds=2)

_PREFIX = "evt_"
_ID = re.compile(rf"{_PREFIX}[0-9a-f]{{32}}", re.ASCII)


def sandbox_now(client: Laari) -> Optional[datetime]:
    """The sandbox's time; None if the key acts in live mode, which has no such control."""
    try:
        return client.sandbox.move_clock(advance_seconds=0).now
    except errors.NotFoundError as error:
        if error.code == "not_found":
            return None
        raise


def event_pages(client: Laari, **query: Any) -> Iterator[List[Json]]:
    """Events as JSON: a model does not keep the order of fields that a signature covers."""
    listing = Listing(client._connection, Call(LIST_EVENTS, query=query), _event)
    for page in listing.pages():
        yield page.items


def _event(value: Any) -> Json:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        raise TypeError
    if not _ID.fullmatch(str(value.get("id"))):
        raise ValueError
    moment(value.get("created_at"))
    return value


class Follower:
    def __init__(self, client: Laari) -> None:
        self._client = client
        self._seen: Set[str] = set()
        self._newest = 0  # real time in milliseconds
        self._floor = 0  # older events were there at the beginning
        self.mode = "sandbox"

    def begin(self) -> None:
        """Notes the mode and the events that are there."""
        now = self._look_at_mode()
        self._newest = 0
        self._remember(self._read(now, most_pages=1))
        self._floor = self._newest - BEFORE_MILLISECONDS

    def new(self) -> List[Json]:
        """The events since the last look, in the order in which they happened."""
        mode = self.mode
        now = self._look_at_mode()
        if self.mode != mode:  # the merchant's other events: none of them is new
            self.begin()
            return []
        read = self._read(now, MOST_PAGES)
        found = {event["id"]: event for event in read if self._is_new(event["id"])}
        self._remember(list(found.values()))
        return [found[event_id] for event_id in sorted(found)]

    def _look_at_mode(self) -> Optional[datetime]:
        now = sandbox_now(self._client)
        self.mode = "live" if now is None else "sandbox"
        return now

    def _read(self, now: Optional[datetime], most_pages: int) -> List[Json]:
        events = self._walk(most_pages)
        if now is not None and events and moment(events[0]["created_at"]) > now + AHEAD:
            events += self._walk(most_pages, created_to=now + AHEAD)
        return events

    def _walk(self, most_pages: int, **query: Any) -> List[Json]:
        events: List[Json] = []
        for number, page in enumerate(event_pages(self._client, limit=PAGE, **query), 1):
            events += page
            if number == most_pages or not all(self._is_new(event["id"]) for event in page):
                break
        return events

    def _is_new(self, event_id: str) -> bool:
        return event_id not in self._seen and _made_at(event_id) > self._oldest()

    def _oldest(self) -> int:
        return max(self._newest - OVERLAP_MILLISECONDS, self._floor)

    def _remember(self, events: List[Json]) -> None:
        self._seen.update(event["id"] for event in events)
        self._newest = max([self._newest, *map(_made_at, self._seen)])
        self._seen = {each for each in self._seen if _made_at(each) > self._oldest()}


def _made_at(event_id: str) -> int:
    """The real time in an id, in milliseconds."""
    return int(event_id[len(_PREFIX) :][:12], 16)
