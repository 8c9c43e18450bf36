"""Who gives a command.

The merchant is its `Tenant`: a merchant in one mode. A customer who decides something is a `Payer`.
The operator is in `rules/operator.py`, which only the command line may import.
"""

from typing import NamedTuple

from laari.rules.records import Mode, Tenant


class Payer(NamedTuple):
    """A customer with the wallet that pays, in the mode that they are logged in for.

    The rules compare it with the wallet's own mode (`World.knows`): a payer of the other mode
    finds nothing.
    """

    account: int
    mode: Mode


def sandbox_customer(tenant: Tenant) -> Payer:
    """The merchant's own sandbox customer, whom its tests stand in for; never of live mode."""
    return Payer(tenant.sandbox_account, "sandbox")
