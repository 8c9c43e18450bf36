"""The operator's desk: search, customers, merchants, money and health."""

from laari.edge.pages.operator import (
    account,
    customers,
    health,
    merchants,
    money,
    search,
    second_factor,
)
from laari.edge.pages.routes import Routes

ROUTES: Routes = [
    *account.ROUTES,
    *second_factor.ROUTES,
    *search.ROUTES,
    *customers.ROUTES,
    *merchants.ROUTES,
    *money.ROUTES,
    *health.ROUTES,
]
