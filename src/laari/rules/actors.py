"""The actors of commands: a payer pays, and an `Actor` is named in the journal."""

from typing import Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from laari.rules.ids import CUSTOMER, show_id
from laari.rules.records.tenants import Mode, Tenant

ActorKind = Literal[
    "person", "operator", "command_line", "credential", "customer", "till", "service"
]
# Kinds of the organisation that runs the service. Its people have no name for merchants.
OPERATOR_KINDS: tuple[ActorKind, ...] = ("operator", "command_line")


class Actor(Struct, frozen=True):
    """Who causes a change.

    `name` is the email of a person or operator, the system user of the command line, the id of an
    OAuth client or "secret key", a customer's id, the name of the till of a paired device, or a
    part of the service.
    """

    kind: ActorKind
    name: str
    role: str | None = None
    address: str | None = None  # the network address of the request

    @property
    def is_operator(self) -> bool:
        """The organisation that runs the service."""
        return self.kind in OPERATOR_KINDS


def themselves(customer_id: UUID, address: str | None = None) -> Actor:
    """This customer, who is logged in."""
    return Actor("customer", show_id(CUSTOMER, customer_id), address=address)


def is_themselves(actor: Actor, customer_id: UUID) -> bool:
    """Whether the actor is this customer, who is logged in."""
    return (actor.kind, actor.name) == ("customer", show_id(CUSTOMER, customer_id))


def written(actor: Actor) -> str:
    """The name of a person in a record: with the kind of the actor, since both kinds are people."""
    return f"{actor.kind} {actor.name}"


def name_for_merchants(kind: str, name: str) -> str:
    """An actor in a sentence, as the merchant's people know them."""
    match kind:
        case "credential":
            return f"API, {name}"
        case "till":
            return f"till {name}"
        case _ if kind in OPERATOR_KINDS:
            return "the operator"
        case _:
            return name


class Payer(NamedTuple):
    """A customer's wallet, and the mode of the login: `World.knows` checks that they agree."""

    account: int
    mode: Mode


def sandbox_customer(tenant: Tenant) -> Payer:
    """The merchant's sandbox customer, played by its tests; never in live mode."""
    return Payer(tenant.sandbox_account, "sandbox")
