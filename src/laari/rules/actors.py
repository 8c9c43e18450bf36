"""The actors of commands; only the command line may import the operator (`rules/operator.py`)."""

from typing import NamedTuple

from laari.rules.records import Mode, Tenant


class Payer(NamedTuple):
    """A customer's wallet, and the mode of the login: `World.knows` checks that they agree."""

    account: int
    mode: Mode


def sandbox_customer(tenant: Tenant) -> Payer:
    """The merchant's sandbox customer, played by its tests; never in live mode."""
    return Payer(tenant.sandbox_account, "sandbox")
