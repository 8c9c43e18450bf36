"""What is asked of the service, and one such call as it takes effect."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.model.reference import shapes
from tests.model.reference.state import (
    Authorization,
    Event,
    Name,
    Payment,
    Payout,
    Request,
    State,
    Tenant,
)
from tests.model.reference.times import Stamp


@dataclass(frozen=True)
class Credential:
    """`key`, `basic`, `token` (the number of the call that issued it), `wrong` or `none`."""

    kind: str = "key"
    token: int = 0


@dataclass(frozen=True)
class Call:
    number: int  # from 1, each its own
    operation: str
    merchant: str = ""
    credential: Credential = field(default_factory=Credential)
    subject: Name | None = None
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None  # idempotency key
    customer: str = ""  # the wallet whose owner acts


@dataclass
class Step:
    """A call of one tenant, at one moment of its clock."""

    state: State
    call: Call
    tenant: Tenant
    now: Stamp

    @property
    def fields(self) -> dict[str, Any]:
        return dict(self.call.body or {})

    def emit(
        self,
        event_type: str,
        resource: Payment | Payout | Request | Authorization,
        time: Stamp | None = None,
    ) -> None:
        data = _shape(resource)
        event = Event(self.tenant, event_type, resource.name, time or self.now, data)
        self.state.events += (event,)

    def about(self, name: Name) -> Stamp:
        """A moment of this call that concerns one of many: they need not be at the same second."""
        return replace(self.now, key=(*self.now.key, name))

    def keep(self, resource: Any, **changes: Any) -> Any:
        """Stores the resource as it is from now on."""
        changed = replace(resource, **changes)
        match changed:
            case Payment():
                self.state.payments[changed.name] = changed
            case Payout():
                self.state.payouts[changed.name] = changed
            case Request():
                self.state.requests[changed.name] = changed
            case Authorization():
                self.state.authorizations[changed.name] = changed
        return changed


def _shape(resource: Payment | Payout | Request | Authorization) -> dict[str, Any]:
    match resource:
        case Payment():
            return shapes.payment(resource)
        case Payout():
            return shapes.payout(resource)
        case Request():
            return shapes.request(resource)
    return shapes.authorization(resource)
