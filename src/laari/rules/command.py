"""What the spine decides: a command names what it needs, then decides over what was loaded."""

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

from laari.rules.records import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import Needs, World

T_co = TypeVar("T_co", covariant=True)


class Share(NamedTuple):
    """Whose turn a command takes, where many wait: owners take turns, those that are urgent first.

    Sandboxes are not urgent: what is tried there must not delay what is paid.
    """

    owner: object  # compared and hashed, no more
    urgent: bool = True


NO_TENANT = Share(0)  # no tenant has this number


class Command(ABC, Generic[T_co]):
    """Something to be decided; `T_co` is what it makes or finds.

    A base class and not a protocol: a command that forgets to decide cannot be made at all, and
    `busy` has one default in one place.
    """

    __slots__ = ()

    @abstractmethod
    def needs(self, needs: Needs) -> None:
        """Names the rows to load, and to lock where this may change them."""

    @abstractmethod
    def decide(self, world: World) -> T_co | Refusal:
        """Changes the world and returns what came of it; a refusal is committed like the rest."""

    @property
    def share(self) -> Share:
        return NO_TENANT

    def busy(self) -> Refusal:
        """What to say when another transaction has held a row of this command for too long."""
        return refuse("service_unavailable")


class TenantCommand(Command[T_co]):
    """A command that a merchant gives, or that concerns what is the merchant's."""

    __slots__ = ()
    tenant: Tenant

    @property
    def share(self) -> Share:
        return Share(self.tenant.id, self.tenant.mode == "live")
