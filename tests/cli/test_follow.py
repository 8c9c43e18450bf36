"""How `listen` finds new events, without a service: the clock of a sandbox moves both ways."""

from datetime import datetime, timedelta

from laari.cli.shop.shared.follow import PAGE, Follower
from laari.cli.shop.shared.ports import Json, RefusedError

NOW = datetime.fromisoformat("2026-11-18T12:00:00+05:00")


class Events:
    """A merchant's events, newest first by the sandbox's clock, as `GET /events` lists them."""

    def __init__(self) -> None:
        self.url = "http://service.test"
        self.offset = timedelta()
        self.live = False
        self._listed: list[Json] = []

    def happen(self) -> str:
        made = 1_700_000_000_000 + len(self._listed)  # real time in milliseconds
        event_id = f"evt_{made:012x}{len(self._listed):020x}"
        at = (NOW + self.offset).isoformat()
        self._listed.append({"id": event_id, "created_at": at, "data": {}})
        return event_id

    def post(self, path: str, body: Json | None = None) -> Json:
        if self.live:
            raise RefusedError("not found", "not_found")
        return {"data": {"now": (NOW + self.offset).isoformat()}}

    def get(self, path: str, **query: str) -> Json:
        latest = query.get("created_to", "9999")
        found = [each for each in self._listed if each["created_at"] <= latest]
        found.sort(key=lambda each: (each["created_at"], each["id"]), reverse=True)
        start, size = int(query.get("after", "0")), int(query["limit"])
        following = str(start + size) if len(found) > start + size else None
        return {"data": found[start : start + size], "pagination": {"next_cursor": following}}


def following(events: Events) -> Follower:
    follower = Follower(events)
    follower.begin()
    return follower


def new(follower: Follower) -> list[str]:
    return [event["id"] for event in follower.new()]


def test_only_later_events_are_new_and_each_once() -> None:
    events = Events()
    events.happen()
    follower = following(events)
    assert new(follower) == []
    later = [events.happen() for _ in range(3 * PAGE)]
    assert new(follower) == later
    assert new(follower) == []


def test_events_below_a_page_of_future_ones_are_found() -> None:
    events = Events()
    events.offset = timedelta(days=30)
    for _ in range(PAGE + 1):
        events.happen()
    events.offset = timedelta()
    follower = following(events)
    later = events.happen()
    assert new(follower) == [later]


def test_events_of_the_other_mode_are_not_new() -> None:
    events = Events()
    follower = following(events)
    events.happen()
    events.live = True
    assert (new(follower), follower.mode) == ([], "live")
    assert new(follower) == []
