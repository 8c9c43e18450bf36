"""A queue in which one owner's many items do not delay another's few: owners take turns.

Urgent owners come first, but an eighth of the places is reserved for the others.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from laari.rules.command import Share

T = TypeVar("T")

UNHURRIED_PART = 8  # one in eight items is taken from owners that are not urgent


class FairQueue(Generic[T]):
    def __init__(self) -> None:
        self._urgent: dict[object, deque[T]] = {}
        self._unhurried: dict[object, deque[T]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, share: Share, item: T) -> None:
        owners = self._urgent if share.urgent else self._unhurried
        waiting = owners.get(share.owner)
        if waiting is None:
            waiting = owners[share.owner] = deque()
        waiting.append(item)
        self._length += 1

    def take(self, most: int) -> list[T]:
        """The next items, at most this number."""
        taken: list[T] = []
        if self._length <= most:
            for owners in (self._urgent, self._unhurried):
                for waiting in owners.values():
                    taken += waiting
                owners.clear()
        else:
            unhurried = sum(map(len, self._unhurried.values()))
            kept_free = min(unhurried, most // UNHURRIED_PART)
            self._take_turns(self._urgent, most - kept_free, taken)
            self._take_turns(self._unhurried, most - len(taken), taken)
            self._take_turns(self._urgent, most - len(taken), taken)
        self._length -= len(taken)
        return taken

    def drop_while(self, is_old: Callable[[T], bool]) -> Iterator[T]:
        """Removes the items at the head of each owner's queue that are too old."""
        for owners in (self._urgent, self._unhurried):
            for owner in [owner for owner, waiting in owners.items() if is_old(waiting[0])]:
                waiting = owners[owner]
                while waiting and is_old(waiting[0]):
                    self._length -= 1
                    yield waiting.popleft()
                if not waiting:
                    del owners[owner]

    @staticmethod
    def _take_turns(owners: dict[object, deque[T]], most: int, taken: list[T]) -> None:
        """Takes one item of each owner in turn; an owner just served comes last next time."""
        left = most
        while left > 0 and owners:
            for owner in list(owners)[:left]:
                waiting = owners.pop(owner)
                taken.append(waiting.popleft())
                left -= 1
                if waiting:
                    owners[owner] = waiting  # behind those that have not had their turn
