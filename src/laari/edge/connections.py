"""Reads and writes of the edge, over a number of connections of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from laari.spine.gather import Gathered
from laari.store.database import Connection, Pool
from laari.store.listing import Found, Listed, Listing, page, plain_pages
from laari.store.standby import LaggingReads

A = TypeVar("A")
R = TypeVar("R", bound=Listed)
P = ParamSpec("P")

PAGES_AT_ONCE = 32  # in one statement: their rows are in memory together
LONGEST_GATHERED_PAGE = 100  # rows


class Connections:
    def __init__(self, pool: Pool, lagging: LaggingReads | None = None) -> None:
        """`lagging`: what is read may be a little behind, and a standby be asked."""
        self.pool = pool
        self._reads = lagging or pool
        self._plain_pages: Gathered[Listing[Any], Found[Any]] = Gathered(
            lambda listings: self.ask(plain_pages, listings),
            most=PAGES_AT_ONCE,
            owner=lambda listing: listing.owner,
        )

    async def ask(
        self,
        query: Callable[Concatenate[Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs one function of the store that only reads: the database refuses it anything else."""
        return await self._reads.read(query, *arguments, **named)

    async def write(
        self,
        query: Callable[Concatenate[Connection, P], Awaitable[A]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> A:
        """Runs one function of the store that writes; not for money, which takes the spine."""
        return await self.pool.write(query, *arguments, **named)

    async def page(self, listing: Listing[R]) -> Found[R]:
        """A page of a listing. One whose cost is not known beforehand keeps no other waiting."""
        if listing.is_plain and listing.window.limit <= LONGEST_GATHERED_PAGE:
            return await self._plain_pages.call(listing)
        return await self.ask(page, listing)
