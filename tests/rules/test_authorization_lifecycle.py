"""Every action on an authorization in every state does what the table of transitions says."""

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from laari.rules.actors import Payer
from laari.rules.lifecycle import (
    AUTHORIZATION_TRANSITIONS,
    AuthorizationAction,
    TransitionError,
)
from laari.rules.payments.authorizations import (
    ApproveAuthorization,
    CancelAuthorization,
    RejectAuthorization,
    ResumeAuthorization,
    SuspendAuthorization,
    move,
)
from laari.rules.payments.charges import ChargeAuthorization
from laari.rules.payments.payments import PaymentDraft
from laari.rules.records.authorizations import Authorization, AuthorizationStatus
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.actors import OPERATOR
from tests.rules.books import ACCOUNT, Books

BOOKS = Books(balance=1_000_000)
PAYER = Payer(ACCOUNT, "sandbox")
ACTIONS: tuple[AuthorizationAction, ...] = get_args(AuthorizationAction)
STATUSES: tuple[AuthorizationStatus, ...] = get_args(AuthorizationStatus)
# An action on what it has already led to returns that.
REPEATED = {
    ("cancelled", "cancel"),
    ("revoked", "cancel"),
    ("suspended", "suspend"),
    ("active", "resume"),
}


def in_state(status: AuthorizationStatus, action: AuthorizationAction) -> Authorization:
    made = replace(BOOKS.authorization, type="one_time" if action == "consume" else "unscheduled")
    if status == "pending":
        return replace(made, status=status, account=None, approved_at=None)
    if status == "expired":
        return replace(made, status="active", expires_at=BOOKS.now)
    return replace(made, status=status)


def commanded(action: AuthorizationAction) -> Any:
    tenant, asked = BOOKS.tenant, BOOKS.id
    return {
        "approve": ApproveAuthorization(tenant, asked, PAYER),
        "reject": RejectAuthorization(tenant, asked, PAYER),
        "cancel": CancelAuthorization(tenant, asked, OPERATOR),
        "suspend": SuspendAuthorization(tenant, asked, tenant),
        "resume": ResumeAuthorization(tenant, asked, tenant),
        "charge": ChargeAuthorization(tenant, asked, PaymentDraft("ORDER-1", 100)),
        "consume": ChargeAuthorization(tenant, asked, PaymentDraft("ORDER-1", 100)),
    }[action]


def world_with(authorization: Authorization) -> World:
    world = BOOKS.world()
    world.authorizations.lock(authorization.id, authorization)
    return world


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("status", STATUSES)
def test_the_table_decides(status: AuthorizationStatus, action: AuthorizationAction) -> None:
    world = world_with(in_state(status, action))
    outcome = commanded(action).decide(world)
    changed = world.authorizations.changed.get(BOOKS.id)
    allowed = AUTHORIZATION_TRANSITIONS[status].get(action)
    if allowed is not None:
        assert changed is not None
        assert changed.status == allowed
    else:
        assert changed is None
        assert isinstance(outcome, Refusal) != ((status, action) in REPEATED)


@pytest.mark.parametrize("status", STATUSES)
def test_a_command_that_does_not_ask_fails(status: AuthorizationStatus) -> None:
    authorization = replace(BOOKS.authorization, status=status)
    for action in ACTIONS:
        if action not in AUTHORIZATION_TRANSITIONS[status]:
            world = world_with(authorization)
            with pytest.raises(TransitionError):
                move(world, BOOKS.tenant, authorization, action)
            assert (world.authorizations.changed, world.events) == ({}, [])
