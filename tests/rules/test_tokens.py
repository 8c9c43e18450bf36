import os
from datetime import UTC, datetime, timedelta

import pytest

from laari.rules.limits.keys_and_rates import ACCESS_TOKEN_LIFE
from laari.rules.merchants.scopes import SCOPES
from laari.rules.records.merchants import AccessToken
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.refusals import Refusal
from laari.rules.tokens import (
    IssueToken,
    granted_scope,
    is_alive,
    recognised,
    write_scope,
)
from laari.rules.world import World

NOW = datetime(2027, 7, 1, tzinfo=UTC)
DAY = 86_400


def tenant(mode: Mode, offset: int = 0) -> Tenant:
    return Tenant(1, "mer_1", "Shop", mode, 0, 0, offset, 7, True)


@pytest.mark.parametrize(
    ("mode", "offset_at_issue", "offset_now", "age", "alive"),
    [
        ("live", 0, 0, 0, True),
        ("live", 0, 0, DAY - 1, True),
        ("live", 0, 0, DAY, False),
        ("sandbox", 0, 0, DAY - 1, True),
        ("sandbox", 0, 0, DAY, False),
        ("sandbox", 0, DAY - 1, 0, True),
        ("sandbox", 0, DAY, 0, False),
        ("sandbox", 5 * DAY, 5 * DAY, 0, True),
        ("sandbox", 5 * DAY, 6 * DAY, 0, False),
        # Given in a sandbox that is ahead, used in live mode: the sandbox's clock is not live's.
        ("live", 5 * DAY, 0, DAY - 1, True),
        ("live", 5 * DAY, 0, DAY, False),
        # A clock moved back makes nothing live longer.
        ("sandbox", 5 * DAY, 0, DAY - 1, True),
        ("sandbox", 5 * DAY, 0, DAY, False),
        ("sandbox", 0, -5 * DAY, DAY, False),
    ],
)
def test_how_long_a_token_lives(
    mode: Mode, offset_at_issue: int, offset_now: int, age: int, alive: bool
) -> None:
    user = tenant(mode, offset_now)
    used_at = NOW + timedelta(seconds=age)
    assert is_alive(NOW + ACCESS_TOKEN_LIFE, offset_at_issue, user, used_at) is alive


@pytest.mark.parametrize(
    ("client_expires_in", "token_lives"),
    [
        (None, DAY),
        (DAY + 1, DAY),
        (DAY, DAY),
        (DAY - 1, DAY - 1),
        (1, 1),
        (0, None),
        (-1, None),
    ],
)
def test_no_token_outlives_its_client(
    client_expires_in: int | None, token_lives: int | None
) -> None:
    world = World(NOW, "", os.urandom)
    expires_at = None if client_expires_in is None else NOW + timedelta(seconds=client_expires_in)
    token = IssueToken(bytes(32), bytes(32), "cl_x", "", 0, expires_at).decide(world)
    if token_lives is None:
        assert isinstance(token, Refusal)
        assert list(world.access_tokens) == []
    else:
        assert isinstance(token, AccessToken)
        assert token.expires_at == NOW + timedelta(seconds=token_lives)


@pytest.mark.parametrize(
    ("of_client", "asked", "granted"),
    [
        ("payments:read", None, "payments:read"),
        ("", None, ""),
        ("payments:create payments:read", "payments:read", "payments:read"),
        # More spaces than one are no scope of their own.
        (
            "payments:create payments:read",
            "payments:read  payments:create",
            "payments:create payments:read",
        ),
        ("payments:read", "payments:create", None),
        ("payments:read", "payments:read x", None),
        ("", "payments:read", None),
        ("x", "x", None),
    ],
)
def test_what_is_granted(of_client: str, asked: str | None, granted: str | None) -> None:
    assert granted_scope(of_client, asked) == granted


def test_scopes_are_written_in_the_tables_order_and_read_back() -> None:
    every = write_scope(frozenset(SCOPES))
    assert every.split() == list(SCOPES)
    assert recognised(every) == frozenset(SCOPES)
    assert recognised("") == frozenset()
    assert recognised("payments:write payments:read") == {"payments:read"}
