"""Lists: fetched page by page while they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Generic,
    Iterator,
    List,
    Optional,
    TypeVar,
)

from laari_client._call import Call, many
from laari_client._errors import ConfigurationError, InvalidResponseError
from laari_client._exchange import Result
from laari_client._reading import Fields, anything, flag, text

if TYPE_CHECKING:
    from laari_client._async import AsyncConnection
    from laari_client._sync import Connection

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    items: List[T]
    next_cursor: Optional[str]  # None on the last page


def read_page(result: Result, read: Callable[[Any], T], cursor: Optional[str]) -> Page[T]:
    try:
        fields = Fields("the page", result.value)
        items = fields.take("data", many(read))
        pagination = Fields("pagination", fields.take("pagination", anything))
        following = None
        if pagination.take("has_more", flag):
            following = pagination.take("next_cursor", text)
            if following == cursor:
                raise InvalidResponseError(
                    "The list does not go on: a page names itself as the next one.",
                    code="invalid_response",
                )
    except InvalidResponseError as error:
        error.request_id = result.request_id
        raise
    return Page(items, following)


def limit_of(call: Call) -> Optional[int]:
    """How many items were asked for; None is all of them."""
    limit = (call.query or {}).get("limit")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ConfigurationError("limit is a number of items, at least 1.")
    return limit


class Listing(Generic[T]):
    """The first `limit` items, or without a limit all of them, over all pages.

    `for item in listing` reads the list from its start, each time. `next(listing)` returns one
    item after the other.
    """

    def __init__(self, connection: Connection, call: Call, read: Callable[[Any], T]) -> None:
        self._connection = connection
        self._call = call
        self._read = read
        self._items: Optional[Iterator[T]] = None  # of `next`

    def __iter__(self) -> Iterator[T]:
        left = limit_of(self._call)
        for page in self.pages():  # a page may have fewer items than were asked for
            for item in page.items:
                yield item
                left = left if left is None else left - 1
                if left == 0:
                    return

    def __next__(self) -> T:
        if self._items is None:
            self._items = iter(self)
        return next(self._items)

    def pages(self, cursor: Optional[str] = None) -> Iterator[Page[T]]:
        """All pages of `limit` items each, starting at a `next_cursor` if given."""
        while True:
            result = self._connection.fetch(self._call.prepared(cursor))
            page = read_page(result, self._read, cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return


class AsyncListing(Generic[T]):
    """As `Listing`, with `async for item in listing` and `await anext(listing)`."""

    def __init__(self, connection: AsyncConnection, call: Call, read: Callable[[Any], T]) -> None:
        self._connection = connection
        self._call = call
        self._read = read
        self._items: Optional[AsyncIterator[T]] = None  # of `anext`

    async def __aiter__(self) -> AsyncIterator[T]:
        left = limit_of(self._call)
        async for page in self.pages():
            for item in page.items:
                yield item
                left = left if left is None else left - 1
                if left == 0:
                    return

    async def __anext__(self) -> T:
        if self._items is None:
            self._items = self.__aiter__()
        return await self._items.__anext__()

    async def pages(self, cursor: Optional[str] = None) -> AsyncIterator[Page[T]]:
        """All pages of `limit` items each, starting at a `next_cursor` if given."""
        while True:
            result = await self._connection.fetch(self._call.prepared(cursor))
            page = read_page(result, self._read, cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
