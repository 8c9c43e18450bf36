"""The merchant's dashboard. Each merchant and mode has its own addresses."""

from laari.edge.pages.dashboard import (
    account,
    authorizations,
    export,
    forgotten,
    join,
    journal,
    keys,
    money,
    movements,
    new_link,
    overview,
    payments,
    payouts,
    people,
    refunds,
    requests,
    sandbox,
    second_factor,
    signup,
    webhooks,
)
from laari.edge.pages.routes import Routes

ROUTES: Routes = [
    *account.ROUTES,  # first: `/dashboard/login` is not a mode
    *second_factor.ROUTES,
    *forgotten.ROUTES,
    *signup.ROUTES,
    *join.ROUTES,
    *overview.ROUTES,
    *new_link.ROUTES,
    *export.ROUTES,
    *movements.ROUTES,
    *journal.ROUTES,
    *refunds.ROUTES,
    *payments.ROUTES,
    *payouts.ROUTES,
    *money.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *webhooks.ROUTES,
    *keys.ROUTES,
    *people.ROUTES,
    *sandbox.ROUTES,
]
