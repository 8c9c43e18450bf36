"""An operation of a JSON interface, for routes, metrics and the reference."""

from dataclasses import dataclass

from laari.rules.refusals import RefusalCode


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """`path` is below its interface; `refusals` are those beyond what follows from the rest."""

    path: str
    name: str
    summary: str
    method: str = "GET"
    description: str = ""
    refusals: tuple[RefusalCode, ...] = ()
