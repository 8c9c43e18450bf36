"""The permission that a command needs.

The command line acts as an admin, who has every permission. The names say what an action is, for
tests and for the operator's desk, which has the same actions for people with other roles.
"""

from collections.abc import Callable
from typing import TypeVar

from laari.rules.people.permissions import Permission

F = TypeVar("F", bound=Callable[..., object])


def needs(permission: Permission) -> Callable[[F], F]:
    """Marks the function of a command; click's decorators keep the mark."""

    def mark(function: F) -> F:
        function.permission = permission  # type: ignore[attr-defined]
        return function

    return mark


def permission_of(function: Callable[..., object]) -> Permission | None:
    """None for a command that forgot to name one."""
    return getattr(function, "permission", None)
