"""All operations, in the order of the documentation."""

from laari.operations import (
    applications,
    bank,
    cases,
    clients,
    customers,
    merchant_money,
    merchant_people,
    merchants,
    messages,
    payouts,
    service_settings,
    waiting_movements,
    wallets,
)
from laari.operations.operation import AnyOperation, Operation

SUBJECTS = (
    customers,
    cases,
    messages,
    wallets,
    waiting_movements,
    merchants,
    merchant_people,
    clients,
    applications,
    merchant_money,
    payouts,
    bank,
    service_settings,
)
OPERATIONS: tuple[AnyOperation, ...] = tuple(
    each for subject in SUBJECTS for each in vars(subject).values() if isinstance(each, Operation)
)
