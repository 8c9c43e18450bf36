"""A reference that is taken: by what, and why a retry does not match it."""

from laari.rules import ids
from laari.rules.records import ReferenceClaim
from laari.rules.refusals import Refusal, refuse

_NAMES = {
    "payment": ("payment", ids.PAYMENT),
    "charge": ("charge", ids.PAYMENT),
    "request": ("payment request", ids.PAYMENT_REQUEST),
}


def other_kind(claim: ReferenceClaim, wanted: str) -> Refusal:
    """The reference belongs to something else than what is asked for, such as a charge."""
    return _taken(claim, f"which is not a {wanted}")


def differs(claim: ReferenceClaim, *names: str) -> Refusal:
    """A retry that asks for something else; only names are told, never what was stored.

    A credential that may create payments does not have to be one that may read them.
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
