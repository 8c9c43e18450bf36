"""Operators at a terminal: the password and a code on standard input."""

import asyncio
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from laari.cli.terminal import operation
from laari.rules.people.persons import NewLogin
from laari.rules.records.people import OperatorRole
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests import people
from tests.actors import OPERATOR
from tests.factors import turned_on

MASTER = bytes(32)  # of the fixture `laari`
PASSWORD = "correct horse"


def as_user(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another system user runs the next commands."""
    monkeypatch.setattr(operation, "system_user", lambda: name)


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Standard input of the next command, which is no terminal."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


class Clerk:
    """A person of the operator with a password and codes that work once."""

    def __init__(self, dsn: str, email: str, role: OperatorRole = "finance") -> None:
        self.email = email
        self.codes: Iterator[str] = iter(asyncio.run(_enrol(dsn, email, role)))

    def type_secrets(self, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
        """The options of a command that this person decides."""
        typed(monkeypatch, PASSWORD, next(self.codes))
        return "--operator", self.email


async def _enrol(dsn: str, email: str, role: OperatorRole) -> list[str]:
    async with connection_to(dsn) as connection:
        login = NewLogin(hash_password(PASSWORD))
        added = await people.add(connection, OPERATOR, None, email, role, None, login)
        before = datetime.now(UTC) - timedelta(minutes=5)
        _, codes = await turned_on(connection, added.id, before)
    return codes
