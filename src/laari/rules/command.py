"""Commands: each names the rows it needs, then decides over the loaded rows."""

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

from laari.rules.needs import Needs
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

T_co = TypeVar("T_co", covariant=True)


class Share(NamedTuple):
    """The place of a command in the queue: owners take turns, urgent ones first.

    Sandboxes are not urgent: tests must not delay payments.
    """

    owner: object  # only compared and hashed
    urgent: bool = True


NO_TENANT = Share(0)  # no tenant has this number


class Command(ABC, Generic[T_co]):
    """Something to decide; `T_co` is the type of its result."""

    __slots__ = ()

    @abstractmethod
    def needs(self, needs: Needs) -> None:
        """Names the rows to load, and to lock if this may change them."""

    @abstractmethod
    def decide(self, world: World) -> T_co | Refusal:
        """Changes the world and returns the result; a refusal is committed too."""

    @property
    def share(self) -> Share:
        return NO_TENANT

    def busy(self) -> Refusal:
        """The refusal if another transaction has locked a row of this command for too long."""
        return refuse("service_unavailable")


class TenantCommand(Command[T_co]):
    """A command of a merchant, or about a resource of a merchant."""

    __slots__ = ()
    tenant: Tenant

    @property
    def share(self) -> Share:
        return Share(self.tenant.id, self.tenant.mode == "live")
