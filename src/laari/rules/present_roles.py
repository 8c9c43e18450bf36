"""What people of a merchant may do at the moment of a decision, whatever their request said."""

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.people.permissions import OF_TILLS, Permission, lacks
from laari.rules.refusals import Refusal
from laari.rules.world import World


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
