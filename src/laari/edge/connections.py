"""Pages of listings, read together over a pool of connections."""

from typing import Any, TypeVar

from laari.spine.gather import Gathered
from laari.store.postgres.pool import Pool
from laari.store.reads.listing import Found, Listed, Listing, page, plain_pages

R = TypeVar("R", bound=Listed)

# Rows of the plain pages that are read in one statement: they are in memory together, with up to
# 160 KB of metadata each. Long pages gather apart, so that few of them make a full statement.
ROWS_AT_ONCE = 640
SHORT_PAGE = 20  # rows: what a list has unless it is asked for more
LONGEST_GATHERED_PAGE = 100


class Connections:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._short_pages = self._gathered(SHORT_PAGE)
        self._long_pages = self._gathered(LONGEST_GATHERED_PAGE)

    def _gathered(self, longest: int) -> Gathered[Listing[Any], Found[Any]]:
        return Gathered(
            lambda listings: self.pool.read(plain_pages, listings),
            most=ROWS_AT_ONCE // longest,
            owner=lambda listing: listing.owner,
        )

    async def page(self, listing: Listing[R]) -> Found[R]:
        """A page of a listing. A page of unknown cost is read alone, so no other waits for it."""
        limit = listing.window.limit
        if not listing.is_plain or limit > LONGEST_GATHERED_PAGE:
            return await self.pool.read(page, listing)
        gathered = self._short_pages if limit <= SHORT_PAGE else self._long_pages
        return await gathered.call(listing)
