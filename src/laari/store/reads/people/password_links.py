"""Password links: the owner of one, by the secret in its address."""

from collections.abc import Collection
from datetime import datetime
from functools import partial

from asyncpg import Connection

from laari.rules.people.password_links import LINK, REQUEST, owner_of
from laari.rules.records.people import Whose
from laari.store.secrets import derive
from laari.store.tables import PASSWORD_LINKS

_BY_DIGEST = PASSWORD_LINKS.finder("digest")


async def owners(connection: Connection, digests: Collection[bytes]) -> dict[bytes, Whose]:
    found = await _BY_DIGEST(connection, list(digests))
    return {digest: link.owner for digest, link in found.items()}


def of_link(master: bytes, token: str) -> bytes:
    return derive(master, LINK, token)


def of_request(master: bytes, handle: str) -> bytes:
    return derive(master, REQUEST, handle)


async def find(connection: Connection, master: bytes, token: str, now: datetime) -> Whose | None:
    """Whose password the link sets; None if it is unknown, used or expired."""
    digest = of_link(master, token)
    link = (await _BY_DIGEST(connection, [digest])).get(digest)
    return owner_of(link, digest, now, partial(derive, master))
