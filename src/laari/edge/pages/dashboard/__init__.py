"""The merchant's dashboard. Each merchant and mode has its own addresses."""

from laari.edge.pages.dashboard import (
    account,
    application,
    authorizations,
    devices,
    forgotten,
    join,
    journal,
    keys,
    overview,
    payments,
    people,
    refunds,
    requests,
    sandbox,
    sandbox_signup,
    webhooks,
)
from laari.edge.pages.dashboard.by_hand import (
    authorization,
    link,
    payment_request,
    reusable_link,
)
from laari.edge.pages.dashboard.money import (
    balance_history,
    movements,
    payments_export,
    payouts,
    statement,
    tills,
)
from laari.edge.pages.routes import Routes

ROUTES: Routes = [
    *account.ROUTES,  # first: `/dashboard/login` is not a mode
    *forgotten.ROUTES,
    *sandbox_signup.ROUTES,
    *join.ROUTES,
    *application.ROUTES,
    *overview.ROUTES,
    *link.ROUTES,
    *reusable_link.ROUTES,
    *payment_request.ROUTES,
    *authorization.ROUTES,
    *payments_export.ROUTES,
    *movements.ROUTES,
    *journal.ROUTES,
    *refunds.ROUTES,
    *payments.ROUTES,
    *payouts.ROUTES,
    *balance_history.ROUTES,
    *statement.ROUTES,
    *tills.ROUTES,
    *devices.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *webhooks.ROUTES,
    *keys.ROUTES,
    *people.ROUTES,
    *sandbox.ROUTES,
]
