"""References in use: what claimed them, and why a retry does not match."""

from uuid import UUID

from laari.rules import ids
from laari.rules.records.payments import ReferenceClaim, ReferenceKind
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World

_NAMES = {
    "payment": ("payment", ids.PAYMENT),
    "charge": ("charge", ids.PAYMENT),
    "request": ("payment request", ids.PAYMENT_REQUEST),
}


def claim(
    world: World, tenant: Tenant, reference: str, kind: ReferenceKind, resource_id: UUID
) -> None:
    claimed = ReferenceClaim(tenant.id, reference, kind, resource_id)
    world.references.add((tenant.id, reference), claimed)


def other_kind(claim: ReferenceClaim, wanted: str) -> Refusal:
    """The reference belongs to a resource of another kind."""
    return _taken(claim, f"which is not a {wanted}")


def differs(claim: ReferenceClaim, *names: str) -> Refusal:
    """A retry with other values. The message names the fields and never shows stored values.

    A credential that may create payments may not be allowed to read them.
    """
    return _taken(claim, f"which has a different {_listed(names)}")


def _taken(claim: ReferenceClaim, why: str) -> Refusal:
    noun, prefix = _NAMES[claim.kind]
    shown = ids.show_id(prefix, claim.resource_id)
    return refuse(
        "reference_conflict",
        f"This reference belongs to the {noun} {shown}, {why}. To retry, send exactly what was "
        "sent first; for anything else use a new reference.",
    )


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
