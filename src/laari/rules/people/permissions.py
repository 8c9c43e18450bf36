"""The roles of people and the permissions of each role: the only table of both.

Every page of the dashboard and of the operator, and every command, names the permission it needs.
A person acts with the role of one membership. The command line acts as an admin.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.records.people import Role
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

MAX_TILL = 10  # characters, as for the label of a payment

MerchantPermission = Literal[
    "payments.read",  # also payment requests, and the overview
    "payments.create",  # also payment requests
    "payments.cancel",  # also payment requests
    "payments.refund",
    "authorizations.read",
    "authorizations.create",
    "authorizations.charge",
    "authorizations.cancel",
    "tills.close",
    "links.manage",  # links that many customers pay
    "tills.manage",  # tills, their devices and their static codes
    "money.read",  # movements and sums of the whole merchant
    "exports.read",  # files leave the service
    "payouts.read",
    "payouts.request",
    "bank.manage",  # the account to which payouts go
    "keys.manage",
    "mode.change",
    "name.change",
    "webhooks.read",
    "webhooks.manage",
    "sandbox.control",  # decisions, wallet and clock of the sandbox
    "people.manage",  # also ownership
    "journal.read",
]
OperatorPermission = Literal[
    "customers.read",
    "customers.change",
    "customers.note",  # also how a caller was verified
    "identity.read",  # each view is in the journal
    "identity.change",
    "wallets.read",
    "wallets.move",  # top-ups and adjustments
    "wallets.freeze",
    "tiers.change",
    "merchants.read",
    "merchants.change",
    "merchants.approve",
    "fees.change",
    "payouts.run",
    "bank.import",
    "statements.read",
    "messages.read",
    "messages.resend",
    "sessions.end",
    "operators.manage",
    "audit.run",
    "service.run",  # serve, migrate, backup and restore
    "shop.develop",  # tools for a shop's own programs
]
Permission: TypeAlias = MerchantPermission | OperatorPermission

EVERY: frozenset[Permission] = frozenset(get_args(MerchantPermission)) | frozenset(
    get_args(OperatorPermission)
)
_OF_MERCHANTS: frozenset[Permission] = frozenset(get_args(MerchantPermission))
_READING: frozenset[Permission] = frozenset(
    {
        "payments.read",
        "authorizations.read",
        "money.read",
        "exports.read",
        "payouts.read",
        "webhooks.read",
        "journal.read",
    }
)
_ONLY_OWNERS: frozenset[Permission] = frozenset(
    {"people.manage", "bank.manage", "mode.change", "name.change"}
)
_SUPPORT: frozenset[Permission] = frozenset(
    {
        "customers.read",
        "customers.change",
        "customers.note",
        "identity.read",
        "identity.change",
        "wallets.read",
        "wallets.freeze",
        "merchants.read",
        "messages.read",
        "messages.resend",
        "sessions.end",
        "payments.read",
        "authorizations.read",
        "payouts.read",
        "webhooks.read",
    }
)

ROLES: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        "owner": _OF_MERCHANTS,
        "manager": _OF_MERCHANTS - _ONLY_OWNERS,
        "accountant": _READING,
        "cashier": frozenset(
            {"payments.read", "payments.create", "payments.cancel", "tills.close"}
        ),
        "admin": EVERY,
        "finance": _READING
        | {
            "customers.read",
            "wallets.read",
            "wallets.move",
            "merchants.read",
            "fees.change",
            "payouts.run",
            "bank.import",
            "statements.read",
            "audit.run",
        },
        "support": _SUPPORT,
    }
)

# What a paired device of a till may do. It has no role.
OF_TILLS: frozenset[Permission] = frozenset({"payments.cancel", "tills.close"})

# A form of the operator's desk needs a recent password, unless its permission is one of these:
# reading, a note that changes nothing, and the end of sessions, which must be quick.
WITHOUT_PASSWORD: frozenset[Permission] = frozenset(
    {"customers.read", "customers.note", "sessions.end"}
)


def lacks(actor: Actor, permission: Permission) -> Refusal | None:
    """The refusal of a command whose actor has a role without this permission, or no role."""
    if any(actor.role == role and permission in allowed for role, allowed in ROLES.items()):
        return None
    return refuse("insufficient_scope", "Your role does not allow this.")


def may(role: Role, permission: Permission) -> bool:
    return permission in ROLES[role]


def lacks_now(
    world: World, actor: Actor, merchant_id: str, permission: Permission
) -> Refusal | None:
    """The refusal of an actor who may not do this at a merchant now.

    The role of a merchant's person is read again: it may have been lost since the request came.
    """
    if actor.kind == "person":
        person_id = world.members[merchant_id].get(actor.name)
        membership = None if person_id is None else world.memberships.get((person_id, merchant_id))
        actor = replace(actor, role=None if membership is None else membership.role)
    return lacks(actor, permission)


def may_not(world: World, actor: Actor, merchant_id: str, permission: Permission) -> Refusal | None:
    """As `lacks_now`, for commands that programs and tills have too: these have no role.

    The scopes of a credential are checked with its request.
    """
    if actor.kind == "credential" or (actor.kind == "till" and permission in OF_TILLS):
        return None
    return lacks_now(world, actor, merchant_id, permission)
