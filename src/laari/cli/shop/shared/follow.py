"""Finds a merchant's new events by reading the newest ones again and again.

A sandbox's clock may be moved back, so the events around its present time are read too. An event id
begins with the real time: it shows which events are new, and their order.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from .ports import AwayError, Json, RefusedError, Service

PAGE = 100
MOST_PAGES = 50  # per look; older events are skipped
# The order of commits differs from the order of ids: an event that is older than the newest by less
# than this may be new.
OVERLAP_MILLISECONDS = 60_000
BEFORE_MILLISECONDS = 2_000  # the same at the start
AHEAD = timedelta(seconds=2)

_PREFIX = "evt_"
_ID = re.compile(rf"{_PREFIX}[0-9a-f]{{32}}", re.ASCII)


def sandbox_now(service: Service) -> datetime | None:
    """Returns the sandbox's time; None if the key is in live mode."""
    try:
        clock = service.post("/sandbox/clock", {"advance_seconds": 0})["data"]
    except RefusedError as error:
        if error.code == "not_found":
            return None
        raise
    try:
        return _moment(clock["now"])
    except (KeyError, TypeError, ValueError):
        raise _foreign(service) from None


def events_of(service: Service, answer: Json) -> list[Json]:
    """Returns the events of a page, after a look at the fields that are used here."""
    page = answer["data"]
    try:
        for event in page:
            if not _ID.fullmatch(event["id"]) or not isinstance(event["data"], dict):
                raise ValueError
            _moment(event["created_at"])
    except (KeyError, TypeError, ValueError):
        raise _foreign(service) from None
    return list(page)


class Follower:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: set[str] = set()
        self._newest = 0  # real time in milliseconds
        self._floor = 0  # older events existed at the start
        self.mode = "sandbox"

    def begin(self) -> None:
        """Takes the present events as known, and the mode from the key."""
        now = self._look_at_mode()
        self._newest = 0
        self._remember(self._read(now, most_pages=1))
        self._floor = self._newest - BEFORE_MILLISECONDS

    def new(self) -> list[Json]:
        """Returns the events since the last look, oldest first."""
        mode = self.mode
        now = self._look_at_mode()
        if self.mode != mode:  # events of the other mode are not new
            self.begin()
            return []
        read = self._read(now, MOST_PAGES)
        found = {event["id"]: event for event in read if self._is_new(event["id"])}
        self._remember(list(found.values()))
        return [found[event_id] for event_id in sorted(found)]

    def _look_at_mode(self) -> datetime | None:
        now = sandbox_now(self._service)
        self.mode = "live" if now is None else "sandbox"
        return now

    def _read(self, now: datetime | None, most_pages: int) -> list[Json]:
        """Reads the newest events, and those around the sandbox's time if others are later."""
        events = self._walk({}, most_pages)
        if now is not None and events and _moment(events[0]["created_at"]) > now + AHEAD:
            events += self._walk({"created_to": (now + AHEAD).isoformat()}, most_pages)
        return events

    def _walk(self, query: dict[str, str], most_pages: int) -> list[Json]:
        """Reads pages until one has an event that is not new."""
        events: list[Json] = []
        for _ in range(most_pages):
            answer = self._service.get("/events", limit=str(PAGE), **query)
            page = events_of(self._service, answer)
            events += page
            cursor = _next_cursor(answer)
            if cursor is None or not all(self._is_new(event["id"]) for event in page):
                break
            query = {**query, "after": cursor}
        return events

    def _is_new(self, event_id: str) -> bool:
        return event_id not in self._seen and _made_at(event_id) > self._oldest()

    def _oldest(self) -> int:
        return max(self._newest - OVERLAP_MILLISECONDS, self._floor)

    def _remember(self, events: list[Json]) -> None:
        self._seen.update(event["id"] for event in events)
        self._newest = max([self._newest, *map(_made_at, self._seen)])
        self._seen = {each for each in self._seen if _made_at(each) > self._oldest()}


def _made_at(event_id: str) -> int:
    """Returns the real time in an id, in milliseconds."""
    return int(event_id[len(_PREFIX) :][:12], 16)


def _next_cursor(answer: Json) -> str | None:
    pagination = answer.get("pagination")
    cursor = pagination.get("next_cursor") if isinstance(pagination, dict) else None
    return cursor if isinstance(cursor, str) and cursor else None


def _moment(text: str) -> datetime:
    read = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", text))  # Python 3.9 reads no `Z`
    if read.tzinfo is None:
        raise ValueError
    return read


def _foreign(service: Service) -> AwayError:
    return AwayError(f"{service.url} answers, but is not Laari: check --url")
