"""Actors and the master key that tests use if they do not matter."""

from typing import Any

from asyncpg import Connection

from laari.rules.actors import Actor
from tests.acting import acting

PERSON = Actor("person", "aisha@shop.example", "owner")
# Has every permission, in tests that have no people and no customer who is logged in.
ANYBODY = Actor("service", "anybody", "admin")
OPERATOR = Actor("command_line", "tester", "admin")
MASTER = bytes(32)  # the master key of databases without a service


async def change(connection: Connection, statement: str, *values: Any) -> str:
    """Changes settings by hand, as somebody who names themselves."""
    async with acting(connection, OPERATOR, "test.change"):
        status: str = await connection.execute(statement, *values)
    return status
