"""The operator's desk: search, customers, merchants, money and health."""

from laari.edge.pages.operator import (
    account,
    bank,
    contacts,
    customers,
    float,
    health,
    identities,
    merchant_money,
    merchants,
    money,
    payouts,
    search,
    second_factor,
    withdrawals,
)
from laari.edge.pages.routes import Routes

ROUTES: Routes = [
    *account.ROUTES,
    *second_factor.ROUTES,
    *search.ROUTES,
    *customers.ROUTES,
    *contacts.ROUTES,
    *withdrawals.ROUTES,
    *identities.ROUTES,
    *merchants.ROUTES,
    *merchant_money.ROUTES,
    *money.ROUTES,
    *payouts.ROUTES,
    *bank.ROUTES,
    *float.ROUTES,
    *health.ROUTES,
]
