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
from laari_client._errors import InvalidResponseError
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


class Listing(Generic[T]):
    """All items, over all pages: `for item in listing`. Each loop reads the list anew."""

    def __init__(self, connection: Connection, call: Call, read: Callable[[Any], T]) -> None:
        self._connection = connection
        self._call = call
        self._read = read

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items

    def pages(self, cursor: Optional[str] = None) -> Iterator[Page[T]]:
        """The pages, from the one that a `next_cursor` named on."""
        while True:
            result = self._connection.fetch(self._call.prepared(cursor))
            page = read_page(result, self._read, cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return


class AsyncListing(Generic[T]):
    """All items, over all pages: `async for item in listing`. Each loop reads the list anew."""

    def __init__(self, connection: AsyncConnection, call: Call, read: Callable[[Any], T]) -> None:
        self._connection = connection
        self._call = call
        self._read = read

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def pages(self, cursor: Optional[str] = None) -> AsyncIterator[Page[T]]:
        """The pages, from the one that a `next_cursor` named on."""
        while True:
            result = await self._connection.fetch(self._call.prepared(cursor))
            page = read_page(result, self._read, cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
