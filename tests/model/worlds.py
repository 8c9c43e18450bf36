"""What may be true as far as responses tell: of calls at once more than one order may fit.

Which of them it was shows later, or never. Until then each world goes its own way, and one that a
response does not fit is given up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.model.binding import Bound, difference
from tests.model.driver import Reply
from tests.model.reference.service import apply
from tests.model.reference.state import Name, State
from tests.model.reference.steps import Call


@dataclass
class World:
    """A state of the model, and what the service has chosen in it."""

    state: State
    bound: Bound

    def copy(self) -> World:
        return World(self.state.copy(), self.bound.copy())

    def step(self, call: Call, reply: Reply, start: float, end: float) -> str:
        """Lets the call happen, and says where the response is not as it has to be here."""
        expected = apply(self.state, call, start, end)
        return difference(expected, reply.status, reply.body, reply.replayed, self.bound)

    def name_of(self, shown_id: str) -> Name | None:
        """Of two calls that ask for the same at once, either may have made what both were shown."""
        owner = self.bound.owners.get(shown_id)
        return (str(owner[0]), int(str(owner[1]))) if owner and owner[2:] == ("id",) else None


def as_named_in(world: World, other: World, call: Call) -> Call:
    """The call that was chosen in one world, about the same thing in another."""
    if call.subject is None or world is other:
        return call
    shown_id = world.bound.values.get((*call.subject, "id"))
    name = other.name_of(shown_id) if shown_id is not None else None
    return call if name is None else replace(call, subject=name)


def distinct(worlds: Iterable[World]) -> list[World]:
    """Each of them once. In which order events and spendings were noted is no difference."""
    found: list[tuple[World, State]] = []
    for world in worlds:
        form = _form(world.state)
        if not any(form == other and world.bound == it.bound for it, other in found):
            found.append((world, form))
    return [world for world, _ in found]


def _form(state: State) -> State:
    return replace(
        state,
        events=tuple(sorted(state.events, key=lambda it: (it.tenant, it.type, it.subject))),
        wallets={
            name: replace(wallet, spendings=tuple(sorted(wallet.spendings, key=repr)))
            for name, wallet in state.wallets.items()
        },
        authorizations={
            name: replace(held, spendings=tuple(sorted(held.spendings, key=repr)))
            for name, held in state.authorizations.items()
        },
    )
