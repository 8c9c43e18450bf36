"""The check of a command: does the role of its actor allow it?

The pages and the command line name the same permission, and hide what a person may not do.
"""

from typing import cast

from laari.rules.actors import Actor
from laari.rules.people.permissions import Permission, may
from laari.rules.people_records import Role
from laari.rules.refusals import Refusal, refuse


def not_permitted(actor: Actor, permission: Permission) -> Refusal | None:
    if may(cast("Role", actor.role), permission):
        return None
    return refuse("conflict", "Your role does not allow this.")
